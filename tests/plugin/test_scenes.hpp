#pragma once

#include <string>
#include <vector>

#include "tests/support/mujoco_support.hpp"

namespace tendril::test {

/// Two sections of 60 mm with four links each.
inline std::string small_sections(const std::string& more = "") {
  const std::string section =
      "[[section]]\nconstant_length = 0.06\nbend_limit = 1.745\nlinks = 4\nradius = 0.008\n"
      "mass = 0.03\nbending_stiffness = 0.05\n" +
      more;
  return section + section;
}

/// Reaches for the mocap body "target".
inline std::string reach_arm(const std::string& settings = "", const std::string& more = "") {
  return "kind = \"continuum\"\nname = \"reach\"\n" + small_sections(more) +
         "[controller]\nplugin = \"tendril.reach\"\n" + settings;
}

/// Is fed 100 mm along a path with a bend of radius 60 mm.
inline std::string follow_arm(const std::string& settings = "") {
  return "kind = \"continuum\"\nname = \"follow\"\n[base]\nfeed = 0.1\n" + small_sections() +
         "[controller]\nplugin = \"tendril.follow\"\n"
         "waypoints = [[0, 0, 0], [0, 0, 0.16], [-0.1, 0, 0.16]]\ncorner_radius = 0.06\n"
         "speed = 0.1\nstart_delay = 0.05\njam_tip_error = 0.02\n" +
         settings;
}

/// The base axes of the arms lie along x of the world; the following one runs into a post.
inline std::string two_arm_scene() {
  return R"(<mujoco model="two_arms">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset>
    <model name="reach" file="reach.toml"/>
    <model name="follow" file="follow.toml"/>
  </asset>
  <worldbody>
    <frame euler="0 90 0"><attach model="follow" body="base" prefix="F_"/></frame>
    <frame pos="0 0.3 0" euler="0 90 0"><attach model="reach" body="base" prefix="R_"/></frame>
    <geom name="post" type="capsule" fromto="0.1233 -0.05 0.0377 0.1233 0.05 0.0377" size="0.02"/>
    <body name="target" mocap="true" pos="0.1 0.3 0.04"/>
  </worldbody>
</mujoco>)";
}

inline std::string one_arm_scene(
    const std::string& target = R"(<body name="target" mocap="true" pos="0.1 0 0.04"/>)",
    const std::string& option = "") {
  return R"(<mujoco model="one_arm">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100" )" +
         option + R"(/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <frame euler="0 90 0"><attach model="arm" body="base" prefix="A_"/></frame>
    )" + target +
         R"(
  </worldbody>
</mujoco>)";
}

inline ModelPtr load_two_arms() {
  load_tendril();
  return load_scene_text(two_arm_scene(),
                         {{"reach.toml", reach_arm()}, {"follow.toml", follow_arm()}});
}

inline ModelPtr load_one_arm(const std::string& toml, const std::string& option = "") {
  load_tendril();
  return load_scene_text(
      one_arm_scene(R"(<body name="target" mocap="true" pos="0.1 0 0.04"/>)", option),
      {{"arm.toml", toml}});
}

/// The scene does not compile, and its error has all of these parts.
inline void check_refused(const std::string& xml, const std::string& toml,
                          const std::vector<std::string>& parts) {
  load_tendril();
  std::string error;
  CHECK_FALSE(try_load_scene(xml, {{"arm.toml", toml}}, error));
  for (const std::string& part : parts) CHECK_THAT(error, Catch::Contains(part));
  EngineWarnings::take();
}

/// A copy, a restored state and a reset go on with the same bits of these sensors.
inline void check_continues(const ModelPtr& model, const std::vector<const char*>& sensors) {
  const auto next = [&](const DataPtr& data) {
    std::vector<double> all;
    for (int k = 0; k < 100; ++k) {
      mj_step(model.get(), data.get());
      for (const char* name : sensors) {
        const auto values = sensor(model, data, name);
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  };
  const DataPtr data = make_data(model), other = make_data(model), fresh = make_data(model);
  step(model, data, 333);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  step(model, other, 17);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  const std::vector<double> expected = next(data);
  CHECK(same_bits(next(copy), expected));
  CHECK(same_bits(next(other), expected));
  CHECK(same_bits(full_state(model, data), full_state(model, other)));
  mj_resetData(model.get(), data.get());
  CHECK(same_bits(next(data), next(fresh)));
}

/// Scenes with all controllers of the library, in all their modes.
inline const std::vector<const char*> kControllerScenes{"scenes/reach/reach.xml",
                                                        "scenes/reach_clutter/reach_clutter.xml",
                                                        "scenes/trail/trail.xml",
                                                        "scenes/tube_insertion/tube_insertion.xml",
                                                        "scenes/tube_narrow/tube_narrow.xml",
                                                        "scenes/wrap_button/wrap_button.xml",
                                                        "scenes/wrap_reach/fed_1.xml",
                                                        "scenes/snake_travel/flat.xml",
                                                        "scenes/snake_maze/snake_maze.xml",
                                                        "scenes/snake_path/snake_path.xml",
                                                        "scenes/youbot_targets/youbot_targets.xml",
                                                        "scenes/youbot_clutter/youbot_clutter.xml",
                                                        "scenes/mobile_arm/mobile_arm.xml",
                                                        "scenes/robot_arm/robot_arm.xml",
                                                        "scenes/robot_arm/reach.xml"};

inline ModelPtr load_file(const std::string& file) {
  load_tendril();
  std::array<char, 1000> error{};
  ModelPtr model(mj_loadXML(file.c_str(), nullptr, error.data(), error.size()));
  INFO(error.data());
  REQUIRE(model);
  return model;
}

/// Steps in which the arm of `load_two_arms` braces against the post.
inline constexpr int kStepsToContact = 600;

}  // namespace tendril::test
