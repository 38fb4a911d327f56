#include "tendril/model/plausibility.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>

#include "tendril/model_error.hpp"

using namespace tendril;
using Catch::Contains;

namespace {

std::vector<std::string> plausibility_warnings(const std::string& section, double gravity = 9.81) {
  return plausibility(
      parse_model("kind = \"continuum\"\n[[section]]\nconstant_length = 0.1\nbend_limit "
                  "= 1.2\n[[section]]\nbend_limit = 1.2\n" +
                      section,
                  "arm.toml"),
      gravity);
}

}  // namespace

TEST_CASE("plausibility: no model of the project gives any", "[robot_file]") {
  int models = 0;
  for (const char* folder : {"models", "scenes", "apps/examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      std::optional<ModelDescription> model;
      try {
        model = load_model(entry.path());
      } catch (const ModelError&) {
        continue;  // an experiment or a plan
      }
      CAPTURE(entry.path());
      CHECK(plausibility(*model).empty());
      ++models;
    }
  }
  CHECK(models >= 30);
}

TEST_CASE("plausibility: a density or stiffness of no material names what it comes from",
          "[robot_file]") {
  struct Case {
    std::string name, section, message;
  };
  const auto c = GENERATE(values<Case>({
      {"grams", "constant_length = 0.1\nmass = 70",
       "section 2: mass = 70 kg, length = 0.1 m and the radius make 3.48e+06 kg/m^3, more than any "
       "metal"},
      {"millimeters", "constant_length = 100", "section 2: mass = 0.07 kg, length = 100 m"},
      {"radius in millimeters", "constant_length = 0.1\nradius = 8",
       "section 2: radius = 8 m, 40 times the robot's length of 0.2 m: is the unit m, not mm?"},
      {"radius in km", "constant_length = 0.1\nradius = 8e-6", "more than any metal"},
      {"N mm^2", "constant_length = 0.1\nbending_stiffness = 1e-9",
       "section 2: bending_stiffness = 1e-09 N m^2 and the radius make a Young's modulus of 0.311 "
       "Pa, less than any gel"},
      {"g/cm^3", "constant_length = 0.1\ndensity = 1.1\nradius = 0.01",
       "section 2: density = 1.1 kg/m^3, less than any foam: is the unit kg/m^3?"},
      {"GPa", "constant_length = 0.1\nyoungs_modulus = 70\nbend_torque_limit = 1e6",
       "section 2: youngs_modulus = 70 Pa, less than any gel that keeps its shape: is the unit "
       "Pa?"},
      {"too stiff", "constant_length = 0.1\nyoungs_modulus = 2e12\nbend_torque_limit = 1e6",
       "section 2: youngs_modulus = 2e+12 Pa, more than diamond: is the unit Pa?"},
  }));
  DYNAMIC_SECTION(c.name) {
    const auto lines = plausibility_warnings(c.section, 0.0);
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains(c.message));
  }
}

TEST_CASE("plausibility: what a section can hold is reported where it is less than its limit",
          "[robot_file]") {
  const std::string section =
      "constant_length = 0.1\nbending_stiffness = 0.5\nbend_torque_limit = ";
  CHECK(plausibility_warnings(section + "6.01").empty());  // EI theta / L = 6 N m
  const auto lines = plausibility_warnings(section + "4.05");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "section 2: can hold 0.81 of its bend_limit of 1.2 rad: bend_torque_limit = 4.05 N m "
        "[bend-limit-not-held]");
}

TEST_CASE("plausibility: an arm too heavy for its servos is reported, unless nothing is heavy",
          "[robot_file]") {
  // Held out level: 0.07 g 0.05 + 0.2 g 0.15 at section 1, 0.2 g 0.05 at section 2.
  const std::string section =
      "constant_length = 0.1\nmass = 0.2\nbending_stiffness = 0.001\n"
      "bend_torque_limit = 0.09";
  const auto lines = plausibility_warnings(section);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("section 2: cannot be held out level") && Contains("0.0981 N m"));
  CHECK(plausibility_warnings(section, 0.0).empty());
}

TEST_CASE("plausibility: numbers of robots in another unit are named with their key",
          "[robot_file]") {
  const std::string arm =
      "kind = \"continuum\"\n[[section]]\nconstant_length = 0.1\nbend_limit = 1.2\n";
  const std::string snake = "kind = \"snake\"\nlink_length = 0.06\n";
  struct Case {
    std::string name, text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"damping in ms", arm + "damping_time = 20\n",
       "section 1: damping_time = 20 s, more than 1 s: is the unit s, not ms?"},
      {"tendon in degrees", arm + "[[tendon]]\nangle = 90\ndistance = 0.005\n",
       "angle = 90 rad, more than 6.28 rad: is the unit rad, not degrees?"},
      {"tendon in mm", arm + "[[tendon]]\nangle = 0\ndistance = 5\n",
       "distance = 5 m from the backbone, outside section 1, whose radius is 0.008 m: is the unit"},
      {"payload in g", arm + "[tip]\npayload = 5\n", "tip: payload = 5 kg, "},
      {"feed in mm", arm + "[base]\nfeed = 300\n", "base: feed = 300 m"},
      {"heading in degrees", snake + "[start]\nheading = 90\n", "start: heading = 90 rad"},
      {"phase in degrees", snake + "[start]\npitch = [0.2, 1, 90]\n",
       "start: phase of pitch = 90 rad"},
      {"position in mm", snake + "[start]\nposition = [300, 0, 0]\n", "start: position = 300 m"},
      {"thick snake", snake + "radius = 25\n", "links: radius = 25 m"},
  }));
  DYNAMIC_SECTION(c.name) {
    const auto lines = plausibility(parse_model(c.text, "robot.toml"), 0.0);
    CAPTURE(lines);
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [&](const std::string& line) { return line.find(c.message) != line.npos; }));
  }
}

TEST_CASE("plausibility: the damping of a slow arm may be as slow", "[robot_file]") {
  const std::string arm =
      "kind = \"continuum\"\n[[section]]\nconstant_length = 10\nbend_limit = 1.2\nradius = 0.1\n"
      "density = 1000\nyoungs_modulus = 1e5\ndamping_time = 2\nbend_servo = false\n";
  for (const std::string& line : plausibility(parse_model(arm, "arm.toml"), 0.0))
    CHECK_THAT(line, !Contains("damping_time"));
}

TEST_CASE("plausibility: an arm that tapers to a tenth loads with as many links as another",
          "[robot_file]") {
  const std::string octopus =
      "kind = \"continuum\"\n[[section]]\nconstant_length = 0.2\nbend_limit = 3\nlinks = 40\n"
      "radius = [0.012, 0.0012]\ndensity = 1042\nyoungs_modulus = 1e4\nbend_servo = false\n";
  CHECK_NOTHROW(parse_model(octopus, "octopus.toml"));
}
