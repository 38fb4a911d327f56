#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace tendril::test {

inline std::string sections(const std::string& keys = "") {
  std::string all = "kind = \"continuum\"\n";
  for (int i = 0; i < 2; ++i)
    all +=
        "[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 6\nradius = 0.006\n"
        "mass = 0.02\nbending_stiffness = 0.03\n" +
        keys;
  return all;
}

inline std::string tendons(const std::string& keys) {
  std::string all;
  for (int i = 0; i < 6; ++i)
    all += "[[tendon]]\nname = \"t" + std::to_string(i + 1) +
           "\"\nsection = " + std::to_string(1 + i / 3) +
           "\nangle = " + std::to_string(2.0944 * (i % 3) + 0.3 * (i / 3)) +
           "\ndistance = 0.006\nmax_tension = 200\npretension = 2\n" + keys;
  return all;
}

inline std::string chambers() {
  std::string all;
  for (int i = 0; i < 6; ++i)
    all += "[[chamber]]\nname = \"c" + std::to_string(i + 1) +
           "\"\nsection = " + std::to_string(1 + i / 3) +
           "\nangle = " + std::to_string(2.0944 * (i % 3) + 0.3 * (i / 3)) +
           "\ndistance = 0.006\narea = 1e-4\nmax_pressure = 2e5\ntime_constant = 0.05\n";
  return all;
}

inline const std::string kReach = "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n";
inline const std::string kTracker =
    "[[sensor]]\nkind = \"tip_tracker\"\nname = \"tip\"\nnoise = [0.0003, 0.003]\nrate = 40\n"
    "delay = 0.012\n";
inline const std::string kBends =
    "[[sensor]]\nkind = \"bend_encoder\"\nname = \"bend\"\nnoise = 1e-4\n";
inline const std::string kWinches =
    "[[sensor]]\nkind = \"tendon_encoder\"\nname = \"winch\"\nresolution = 1e-5\n";

/// A snake of 12 joints, and what its sensors are.
inline std::string snake(const std::string& keys, const std::string& controller) {
  return "kind = \"snake\"\njoints = 12\nlink_length = 0.05\ngain = 20\n" + keys +
         "[controller]\nplugin = \"tendril.snake\"\n" + controller +
         "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\nresolution = 1e-3\n";
}
inline const std::string kUnit =
    "[[sensor]]\nkind = \"imu\"\nname = \"imu\"\nnoise = [0.005, 0.05]\nrate = 250\n";

/// A mobile robot with an arm.
inline std::string youbot(const std::string& more) {
  std::ifstream in("models/youbot.toml");
  return std::string(std::istreambuf_iterator<char>(in), {}) +
         "[controller]\nplugin = \"tendril.mobile\"\ntarget = \"target\"\n" + more;
}

struct Case {
  const char* name;
  std::string arm;                                     ///< or another robot
  std::string other = "gravity_compensation = false";  ///< setting that changes its commands
  bool is_free = false;                                ///< it is on the ground
};

inline std::vector<Case> cases() {
  const auto path = [](const std::string& waypoints) {
    return "mode = \"path\"\ncorner_radius = 0.2\nwaypoints = [" + waypoints + "]\n";
  };
  return {
      {"servos of sections", sections() + kReach + kTracker + kBends},
      {"servos of links", "compliance = \"link\"\n" + sections() + kReach + kTracker + kBends},
      {"variable length", sections("variable_length = 0.03\n") + kReach + kTracker + kBends +
                              "[[sensor]]\nkind = \"length_encoder\"\nname = \"length\"\n"},
      {"feed and spin",
       sections() + "[base]\nfeed = 0.05\nspin = true\n" + kReach + kTracker + kBends},
      {"tensions", sections() + tendons("command = \"tension\"\n") + kReach + kTracker + kWinches},
      {"tendon lengths",
       sections() + tendons("stiffness = 20000\n") + kReach + kTracker + kWinches},
      {"chambers", sections() + chambers() + kReach + kTracker + kWinches},
      {"a payload and a gripper", sections() +
                                      "[tip]\npayload = 0.01\n[gripper]\nopening = 0.03\n" +
                                      kReach + kTracker + kBends},
      {"sections that turn", sections("rotation = \"turning\"\n") + kReach + kTracker + kBends},
      {"links that twist", sections("torsional_stiffness = 0.02\n") + kReach + kTracker + kBends},
      {"a guide", "compliance = \"link\"\n" + sections() +
                      "[base]\nfeed = 0.1\nguide_length = 0.08\n" + kReach + kTracker + kBends},
      {"snake on a carriage",
       snake("[base]\nkind = \"carriage\"\nfeed = 0.5\n",
             path("0.6, 0, 0, 0.8, 0, 0, 1.0, 0.2, 0.1")),
       "gravity_factor = 0.5"},
      {"snake on a base", snake("[base]\nkind = \"fixed\"\n", path("0.3, 0, 0, 0.5, 0.1, 0.1")),
       "gravity_factor = 0.5"},
      {"free snake",
       snake("[start]\nyaw = [0.6, 1.25, 0]\npitch = [0.25, 1.25, 1.5708]\n"
             "position = [0.3, 0.1, 0.001]\nheading = 0.4\n",
             "target = \"target\"\n") +
           kUnit,
       "gait = \"serpenoid\"", true},
      {"mobile robot",
       youbot("[[sensor]]\nkind = \"platform_pose\"\nname = \"laser\"\nrate = 50\ndelay = 0.02\n"
              "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\n"),
       "velocity_feed_forward = false", true},
  };
}

}  // namespace tendril::test
