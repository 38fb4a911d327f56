#include "tendril/robot_file/robot_description.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_model.hpp"

using namespace tendril;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

const std::string kSection = "[[section]]\nconstant_length = 0.1\nbend_limit = 2.0\n";

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(parse_robot(toml, "arm.toml"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("robot file: what is refused, and how it is said", "[mjcf]") {
  struct Case {
    std::string name;
    std::string toml;
    std::string message;  ///< start of it
  };
  const auto section = [](const std::string& line) { return kSection + line + "\n"; };
  const auto c = GENERATE_COPY(values<Case>({
      {"not TOML", "name = \n" + kSection, "arm.toml:1:"},
      {"no section", "name = \"a\"\n", "arm.toml:1: section: is missing"},
      {"section without brackets", "[section]\nradius = 1\n", "arm.toml:1: section = "},
      {"unknown key", section("stiffness = 1"), "arm.toml:4: section 1: unknown key 'stiffness'"},
      {"unknown top key", "sectons = 1\n" + kSection, "arm.toml:1: unknown key 'sectons'"},
      {"unknown base key", kSection + "[base]\nlift = 1\n", "arm.toml:5: base: unknown key 'lift'"},
      {"snake", "kind = \"snake\"\n" + kSection, "arm.toml:1: kind = 'snake': must be"},
      {"mobile", "kind = \"mobile\"\n", "arm.toml:1: kind = "},
      {"no length", "[[section]]\nbend_limit = 1.0\n", "arm.toml:1: section 1: constant_length"},
      {"no bend limit", "[[section]]\nconstant_length = 0.1\n",
       "arm.toml:1: section 1: bend_limit: is missing"},
      {"second section", kSection + "[[section]]\nconstant_length = 0.1\nbend_limit = 0\n",
       "arm.toml:6: section 2: bend_limit = 0: must be in (0, 2 pi]"},
      {"bend limit too large", "[[section]]\nconstant_length = 0.1\nbend_limit = 6.3\n",
       "arm.toml:3: section 1: bend_limit = 6.3: must be in (0, 2 pi]"},
      {"NaN", "[[section]]\nconstant_length = nan\nbend_limit = 1\n",
       "arm.toml:2: section 1: constant_length = nan: must be in"},
      {"infinity", section("mass = inf"), "arm.toml:4: section 1: mass = inf: must be positive"},
      {"negative length", section("variable_length = -0.1"),
       "arm.toml:4: section 1: variable_length = -0.1: must be"},
      {"zero stiffness", section("bending_stiffness = 0"),
       "arm.toml:4: section 1: bending_stiffness = 0: must be positive"},
      {"guide without feed", kSection + "[base]\nguide_length = 1\n",
       "arm.toml:5: base: guide_length = 1: needs feed > 0"},
      {"guide with section servos", kSection + "[base]\nfeed = 1\nguide_length = 1\n",
       "arm.toml:6: base: guide_length = 1: needs compliance = \"link\""},
      {"start beyond the feed", kSection + "[start]\nfeed = 1\n",
       "arm.toml:5: start: feed = 1: must be"},
      {"odd arcs", kSection + "[start]\narcs = [1, 0.1, 2]\n", "arm.toml:5: start: arcs = "},
      {"arc without length", kSection + "[start]\narcs = [1, 0]\n", "arm.toml:5: start: arcs = "},
      {"no damping", section("damping_time = 0.0"),
       "arm.toml:4: section 1: damping_time = 0: must"},
      {"text for a number", section("radius = \"thick\""),
       "arm.toml:4: section 1: radius = 'thick': must be a number"},
      {"no links", section("links = 0"),
       "arm.toml:4: section 1: links = 0: must be an integer in [1, 200]"},
      {"too many links", section("links = 201"), "arm.toml:4: section 1: links = 201: must be"},
      {"fractional links", section("links = 10.5"), "arm.toml:4: section 1: links = 10.5: must be"},
      {"too many links in all",
       section("links = 200") + section("links = 200") + section("links = 1"),
       "arm.toml:9: section 3: links: the robot has 401"},
      {"weights of different count", section("length_weights = [1, 2]\nangle_weights = [1]"),
       "arm.toml:5: section 1: angle_weights = [ 1 ]: length_weights and angle_weights must"},
      {"one list of weights", section("length_weights = [1, 2]"),
       "arm.toml:4: section 1: length_weights"},
      {"zero length weight", section("length_weights = [1, 0]\nangle_weights = [1, 1]"),
       "arm.toml:4: section 1: length_weights"},
      {"negative angle weight", section("length_weights = [1, 1]\nangle_weights = [1, -1]"),
       "arm.toml:5: section 1: angle_weights"},
      {"no angle weight", section("length_weights = [1, 1]\nangle_weights = [0, 0]"),
       "arm.toml:5: section 1: angle_weights"},
      {"fewer links than sub-sections",
       section("links = 1\nlength_weights = [1, 1]\nangle_weights = [1, 1]"),
       "arm.toml:4: section 1: links = 1: must be at least 2"},
      {"microscopic", section("radius = 1e-6\nmass = 1e-6"), "arm.toml:1: section 1: mass = "},
      {"compliance", "compliance = \"soft\"\n" + kSection,
       "arm.toml:1: compliance = 'soft': must be"},
      {"spin", kSection + "[base]\nspin = 1\n",
       "arm.toml:5: base: spin = 1: must be true or false"},
      {"negative feed", kSection + "[base]\nfeed = -1\n",
       "arm.toml:5: base: feed = -1: must be in"},
      {"controller without plugin", kSection + "[controller]\ntarget = \"t\"\n",
       "arm.toml:4: controller: plugin: is missing"},
      {"reserved setting", kSection + "[controller]\nplugin = \"p\"\nrobot = \"r\"\n",
       "arm.toml:6: controller: robot = 'r': this key is reserved"},
      {"table in the controller", kSection + "[controller]\nplugin = \"p\"\nx = { y = 1 }\n",
       "arm.toml:6: controller: x = "},
      {"a command for a section that is not there", kSection + "[start]\nbends = [1, 1]\n",
       "arm.toml:5: start: bends = [ 1, 1 ]: must be one for each section, 1 in all"},
      {"a command beyond the servo's range", kSection + "[start]\nbends = [-3.5]\n",
       "arm.toml:5: start: bends = [ -3.5 ]: that of section 1 must be in [-3, 3]"},
      {"NaN in the controller", kSection + "[controller]\nplugin = \"p\"\nx = [1, nan]\n",
       "arm.toml:6: controller: x = "},
  }));
  DYNAMIC_SECTION(c.name) { CHECK_THAT(refusal(c.toml), StartsWith(c.message)); }
}

TEST_CASE("robot file: kinds of later versions are named as such", "[mjcf]") {
  CHECK_THAT(refusal("kind = \"mobile\"\n"), Contains("this file is a mobile robot"));
}

TEST_CASE("robot file: a section of lengths and a limit has the documented defaults", "[mjcf]") {
  const RobotDescription robot = parse_robot(kSection, "arm.toml");
  CHECK(robot.name == "arm");
  CHECK(robot.compliance == Compliance::Section);
  CHECK_FALSE(robot.self_collision);
  CHECK(robot.base.feed_limit == 0.0);
  CHECK_FALSE(robot.base.spin);
  CHECK(robot.controller.plugin.empty());
  CHECK(robot.text == kSection);
  REQUIRE(robot.sections.size() == 1);
  CHECK(robot.sections[0].length == 0.1);
  CHECK(robot.sections[0].variable_length == 0.0);
  CHECK(robot.sections[0].bend_angle_limit == 2.0);
  REQUIRE(robot.physics.size() == 1);
  CHECK(robot.physics[0].links == SectionPhysics{}.links);
  CHECK(robot.physics[0].bending_stiffness == SectionPhysics{}.bending_stiffness);
}

TEST_CASE("robot file: every key reaches its field", "[mjcf]") {
  const RobotDescription robot = parse_robot(R"(
name = "a b"
compliance = "link"
self_collision = true
[base]
feed = 1
spin = true
carriage_mass = 2
feed_gain = 3
feed_force_limit = 4
spin_gain = 5
spin_torque_limit = 6
[[section]]
constant_length = 0.5
variable_length = 0.25
bend_limit = 1.5
length_weights = [1, 2]
angle_weights = [3, 0]
links = 7
radius = 8
mass = 9
bending_stiffness = 10
damping_time = 11
axial_stiffness = 12
bend_gain = 13
bend_damping_time = 14
bend_torque_limit = 15
length_gain = 16
length_damping_time = 17
length_force_limit = 18
)",
                                             "arm.toml");
  CHECK(robot.name == "a b");
  CHECK(robot.compliance == Compliance::Link);
  CHECK(robot.self_collision);
  CHECK(robot.base.feed_limit == 1.0);
  CHECK(robot.base.spin);
  CHECK(robot.base_physics.carriage_mass == 2.0);
  CHECK(robot.base_physics.feed_gain == 3.0);
  CHECK(robot.base_physics.feed_force_limit == 4.0);
  CHECK(robot.base_physics.spin_gain == 5.0);
  CHECK(robot.base_physics.spin_torque_limit == 6.0);
  const SectionParameters& section = robot.sections.at(0);
  CHECK(section.length == 0.5);
  CHECK(section.variable_length == 0.25);
  CHECK(section.bend_angle_limit == 1.5);
  CHECK(section.length_weights == std::vector<double>{1, 2});
  CHECK(section.angle_weights == std::vector<double>{3, 0});
  const SectionPhysics& physics = robot.physics.at(0);
  CHECK(physics.links == 7);
  CHECK(physics.radius == 8.0);
  CHECK(physics.mass == 9.0);
  CHECK(physics.bending_stiffness == 10.0);
  CHECK(physics.damping_time == 11.0);
  CHECK(physics.axial_stiffness == 12.0);
  CHECK(physics.bend_gain == 13.0);
  CHECK(physics.bend_damping_time == 14.0);
  CHECK(physics.bend_torque_limit == 15.0);
  CHECK(physics.length_gain == 16.0);
  CHECK(physics.length_damping_time == 17.0);
  CHECK(physics.length_force_limit == 18.0);
}

TEST_CASE("robot file: controller settings become config text in file order", "[mjcf]") {
  const RobotDescription robot = parse_robot(kSection + R"(
[controller]
target = "goal"
plugin = "tendril.reach"
gain = 0.1
count = 3
path = [[0, 0.5, 1e-7], [1, 2, 3]]
active = true
)",
                                             "arm.toml");
  CHECK(robot.controller.plugin == "tendril.reach");
  using Settings = std::vector<std::pair<std::string, std::string>>;
  CHECK(robot.controller.settings == Settings{{"target", "goal"},
                                              {"gain", "0.1"},
                                              {"count", "3"},
                                              {"path", "0 0.5 1e-07 1 2 3"},
                                              {"active", "true"}});
}

TEST_CASE("robot file: the models of the repository load", "[mjcf]") {
  const std::string file = GENERATE("models/arm_3x10.toml", "models/arm_telescopic.toml");
  CAPTURE(file);
  const RobotDescription robot = load_robot(file);
  CHECK(robot.sections.size() == 3);
  CHECK_THROWS_WITH(load_robot("models/none.toml"), Contains("models/none.toml: cannot be read"));
}

TEST_CASE("overrides: change what they name and nothing else", "[mjcf]") {
  const std::string text = "# comment\n" + kSection + kSection + "damping_time = 0.1\n";
  const std::vector<RobotOverride> overrides{{"section.*.links", "20"},
                                             {"section.2.bending_stiffness", "0.123456789012345"},
                                             {"base.feed", "0.3"},
                                             {"compliance", "link"},
                                             {"name", "\"two words\""},
                                             {"controller.plugin", "tendril.reach"},
                                             {"controller.integral_gain", "5"}};
  const RobotDescription robot =
      parse_robot(with_overrides(text, overrides, "arm.toml"), "arm.toml");
  CHECK(robot.physics[0].links == 20);
  CHECK(robot.physics[1].links == 20);
  CHECK(robot.physics[0].bending_stiffness == SectionPhysics{}.bending_stiffness);
  CHECK(robot.physics[1].bending_stiffness == 0.123456789012345);
  CHECK(robot.physics[1].damping_time == 0.1);
  CHECK(robot.sections[0].bend_angle_limit == 2.0);
  CHECK(robot.base.feed_limit == 0.3);
  CHECK(robot.compliance == Compliance::Link);
  CHECK(robot.name == "two words");
  CHECK(robot.controller.plugin == "tendril.reach");
}

TEST_CASE("overrides: none leaves the robot as it is", "[mjcf]") {
  const RobotDescription robot = load_robot("models/arm_telescopic.toml");
  RobotDescription copy = parse_robot(with_overrides(robot.text, {}, "a"), "a");
  CHECK(continuum_mjcf(copy) == continuum_mjcf(robot));
}

TEST_CASE("overrides: what is refused", "[mjcf]") {
  struct Case {
    std::string key, value, message;
  };
  const auto c = GENERATE(values<Case>({
      {"section.3.links", "5",
       "arm.toml: section.3.links: '3' is no section, must be * or in [1, 2]"},
      {"section.0.links", "5", "arm.toml: section.0.links: '0' is no section"},
      {"section.1.stiffness", "5", "arm.toml: section.1.stiffness: unknown key"},
      {"section.1", "5", "arm.toml: section.1: unknown key"},
      {"base.lift", "5", "arm.toml: base.lift: unknown key"},
      {"speed", "5", "arm.toml: speed: unknown key"},
      {"section", "5", "arm.toml: section: unknown key"},
      {"arm.x", "5", "arm.toml: arm.x: unknown table"},
      {"section.1.links", "", "arm.toml: section.1.links = : must be a TOML value"},
      {"section.1.links", "1\nradius = 2", "arm.toml: section.1.links = "},
      {"section.1.links", "0", "arm.toml: section 1: links = 0: must be an integer in [1, 200]"},
      {"section.2.links", "many", "arm.toml: section 2: links = 'many': must be an integer"},
  }));
  CAPTURE(c.key, c.value);
  const std::vector<RobotOverride> overrides{{c.key, c.value}};
  CHECK_THROWS_WITH(with_overrides(kSection + kSection, overrides, "arm.toml"),
                    StartsWith(c.message));
}

TEST_CASE("robot file: a setting can be the text of a file beside it", "[mjcf]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "tendril_robot_file_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "way.plan") << "arc 1 0.2\n# two\n";
  const std::string text = kSection + "[controller]\nplugin = \"p\"\nspeed = 2\nplan = { file = ";
  RobotDescription robot = parse_robot(text + "\"way.plan\" }\n", "arm.toml");
  REQUIRE(robot.controller.files.size() == 1);
  read_setting_files(robot, folder);
  CHECK(robot.controller.files.empty());
  REQUIRE(robot.controller.settings.size() == 2);
  CHECK(robot.controller.settings[1].first == "plan");
  CHECK(robot.controller.settings[1].second == "arc 1 0.2\n# two\n");

  RobotDescription lost = parse_robot(text + "\"no.plan\" }\n", "arm.toml");
  CHECK_THROWS_WITH(
      read_setting_files(lost, folder),
      StartsWith("controller: plan = { file = \"no.plan\" }: ") && Contains("cannot be read"));
  std::filesystem::remove_all(folder);
}
