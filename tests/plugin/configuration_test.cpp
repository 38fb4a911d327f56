// What the plugin refuses, and how it says so.

#include <catch2/catch.hpp>

#include "tendril/model/robot_mjcf.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;
using Catch::Contains;
using tendril::model_mjcf;
using tendril::parse_model;

namespace {

/// A scene that uses the plugin without the decoder, with the given config elements.
std::string bare_instance(const std::string& config) {
  return R"(<mujoco><extension><plugin plugin="tendril.reach"><instance name="controller">)" +
         config +
         R"(</instance></plugin></extension><worldbody><body name="base">
           <plugin plugin="tendril.reach" instance="controller"/><geom size="1"/></body>
           </worldbody></mujoco>)";
}

const std::string kNoTarget, kFixedTarget = R"(<body name="target"/>)";
const std::string kTarget = R"(<body name="target" mocap="true" pos="0.1 0 0.04"/>)";

}  // namespace

TEST_CASE("plugin: a refused setting is named with instance, key, value and range", "[plugin]") {
  struct Case {
    std::string name, arm, line, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"negative", "follow", "acceleration = -1", "acceleration = -1: must be in (0, 1000]"},
      {"text in a number", "reach", "rate_limit = \"fast\"",
       "rate_limit = fast: must be in (0, 1000]"},
      {"unit in a number", "reach", "rate_limit = \"5 rad/s\"",
       "rate_limit = 5 rad/s: must be in (0, 1000]"},
      {"not a number as text", "reach", "rate_limit = \"nan\"",
       "rate_limit = nan: must be in (0, 1000]"},
      {"infinity as text", "follow", "jam_time = \"inf\"", "jam_time = inf: must be >= 0"},
      {"choice", "reach", "task = \"roll\"",
       "task = roll: must be one of position, direction, pose"},
      {"choice of fit", "follow", "fit = \"wall\"", "fit = wall: must be one of tip, body"},
      {"common switch", "reach", "gravity_compensation = \"maybe\"",
       "gravity_compensation = maybe: must be true or false"},
      {"other common switch", "follow", "velocity_feed_forward = 1",
       "velocity_feed_forward = 1: must be true or false"},
      {"tip integral", "follow", "integral_gain = 101", "integral_gain = 101: must be in [0, 100]"},
      {"target that does not exist", "reach", "target = \"goal\"",
       "target = goal: must be the name of a mocap body of the scene; there is no such body"},
  }));
  DYNAMIC_SECTION(c.name) {
    const std::string line = c.line + "\n";
    const bool reach = c.arm == "reach";
    check_refused(
        one_arm_scene(), reach ? reach_arm(line) : follow_arm(line),
        {"plugin->init failed", "tendril." + c.arm + ", instance 'A_controller': " + c.message});
  }
}

TEST_CASE("plugin: a path that the arm cannot follow is refused with the reason", "[plugin]") {
  struct Case {
    std::string name, waypoints, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"one point", "[[0, 0, 0]]",
       "waypoints: 3 numbers: must be at least two points of three coordinates"},
      {"none", "[]",
       "waypoints: missing: must be given, or arcs, or a centerline, or poses, or a target whose "
       "trail is followed"},
      {"too short", "[[0, 0, 0], [0, 0, 0.1]]",
       "waypoints: path length = 100 mm: must exceed the arm's length of 120 mm"},
      {"sharp corner", "[[0, 0, 0], [0, 0, 0.16], [-0.1, 0, 0.16]]", "choose a larger radius"},
  }));
  DYNAMIC_SECTION(c.name) {
    const std::string toml =
        "kind = \"continuum\"\n[base]\nfeed = 0.1\n" + small_sections() +
        "[controller]\nplugin = \"tendril.follow\"\nwaypoints = " + c.waypoints + "\n";
    check_refused(one_arm_scene(), toml, {"tendril.follow, instance 'A_controller': ", c.message});
  }
}

TEST_CASE("plugin: targets and settings that the scene does not have are refused", "[plugin]") {
  SECTION("no such body") {
    check_refused(one_arm_scene(kNoTarget), reach_arm(),
                  {"tendril.reach, instance 'A_controller': target = target: must be the name of a "
                   "mocap body of the scene; there is no such body"});
  }
  SECTION("a body that is no mocap body") {
    check_refused(one_arm_scene(kFixedTarget), reach_arm(),
                  {"tendril.reach, instance 'A_controller': target = target: must be a mocap body "
                   "(mocap=\"true\")"});
  }
  SECTION("an unknown key") {
    check_refused(one_arm_scene(kTarget), reach_arm("sped = 1\n"), {"sped", "tendril.reach"});
  }
  SECTION("a number that is not finite") {
    check_refused(one_arm_scene(kTarget), reach_arm("rate_limit = nan\n"),
                  {"arm.toml:", "controller: rate_limit = nan: must be finite"});
  }
  SECTION("an unknown plugin") {
    const std::string toml =
        "kind = \"continuum\"\n" + small_sections() + "[controller]\nplugin = \"tendril.none\"\n";
    check_refused(one_arm_scene(kTarget), toml, {"tendril.none"});
  }
  SECTION("a robot without a feed on a path") {
    const std::string toml = "kind = \"continuum\"\n" + small_sections() +
                             "[controller]\nplugin = \"tendril.follow\"\n"
                             "waypoints = [[0, 0, 0], [0, 0, 1]]\n";
    check_refused(one_arm_scene(kTarget), toml,
                  {"instance 'A_controller': robot: base.feed = 0: must be > 0"});
  }
}

TEST_CASE("plugin: an instance without its robot, or without its arm, is refused", "[plugin]") {
  SECTION("no robot text") {
    check_refused(bare_instance(""), "",
                  {"tendril.reach, instance 'controller': robot: missing: must be the text of a "
                   "robot file"});
  }
  SECTION("an invalid robot text") {
    check_refused(bare_instance(R"(<config key="robot" value="kind = 3"/>)"), "",
                  {"tendril.reach, instance 'controller': robot:1: kind = 3"});
  }
  SECTION("a model without the arm") {
    const std::string robot =
        "kind='continuum'&#10;[[section]]&#10;constant_length=0.1&#10;bend_limit=1";
    check_refused(
        bare_instance("<config key=\"robot\" value=\"" + robot + "\"/>"), "",
        {"tendril.reach, instance 'controller': site tip: missing: the model must contain",
         "the robot described by the setting robot"});
  }
}

TEST_CASE("plugin: a model with more joints than the robot of its controller is refused",
          "[plugin]") {
  struct Case {
    std::string toml, number, fewer, joint;
  };
  const std::string snake =
      "kind = \"snake\"\njoints = 6\nlink_length = 0.06\nradius = 0.025\nlink_mass = 0.15\n"
      "gain = 20\ntorque_limit = 6\n[controller]\nplugin = \"tendril.snake\"\n"
      "gait = \"sidewinding\"\ngoals = [1, 0]\n";
  const auto c = GENERATE_COPY(values<Case>({{reach_arm(), "links = 4", "links = 3", "s1_l4_x"},
                                             {snake, "joints = 6", "joints = 4", "joint_5"}}));
  std::string xml = model_mjcf(parse_model(c.toml, "robot.toml"));
  xml.insert(xml.find("<worldbody>") + 11, kTarget);
  load_tendril();
  std::string error;
  CHECK(try_load_scene(xml, {}, error));
  for (std::size_t at = xml.find(c.number); at != xml.npos; at = xml.find(c.number))
    xml.replace(at, c.number.size(), c.fewer);
  check_refused(
      xml, "", {"instance 'controller': robot: has no joint " + c.joint + ", which the model has"});
}

TEST_CASE("plugin: a second controller of one robot is refused", "[plugin]") {
  std::string xml = model_mjcf(parse_model(reach_arm(), "arm.toml"));
  xml.insert(xml.find("<worldbody>") + 11, kTarget);
  const std::size_t first = xml.find("<instance "), end = xml.find("</instance>") + 11;
  REQUIRE(end > first);
  std::string second = xml.substr(first, end - first);
  second.replace(second.find("\"controller\""), 12, "\"second\"");
  load_tendril();
  std::string error;
  CHECK(try_load_scene(xml, {}, error));
  xml.insert(end, second);
  check_refused(xml, "", {"base base: is driven by instance '", "must have one controller"});
}

TEST_CASE("plugin: the refusal is the engine's error and one warning, nothing worse", "[plugin]") {
  load_tendril();
  EngineWarnings::take();
  std::string error;
  CHECK_FALSE(
      try_load_scene(one_arm_scene(), {{"arm.toml", follow_arm("jam_time = -1\n")}}, error));
  const auto warnings = EngineWarnings::take();
  CHECK(warnings.size() <= 1);
  // The library still works.
  CHECK(load_one_arm(follow_arm()));
}
