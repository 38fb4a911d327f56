// Laws that hold for every part that an arm carries. A new kind of part needs a row in `kTables`.

#include <array>
#include <set>
#include <string>

#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// A table of each kind in kArmPartKinds, in their order.
constexpr std::array kTables{"[tip]\npayload = 0.2\n", "[tip]\nsuction = 5\n",
                             "[gripper]\nopening = 0.04\nmass = 0.1\n", "[tip]\ncamera = true\n",
                             "[skin]\nfile = \"skin.obj\"\n"};
constexpr const char* kSkin = "v 0 0 0\nv 0 0 0.1\nv 0.01 0 0.1\nf 1 2 3\n";
static_assert(kTables.size() == kArmPartKinds.size());

constexpr double kLength = 0.1, kRadius = 0.008;
constexpr double kNeglected = 1.1e-3;  // mass of a part that it may leave out of its load [kg]

ContinuumDescription arm(const std::string& end) {
  return parse_as<ContinuumDescription>(
      "kind = \"continuum\"\nself_collision = true\n[base]\nfeed = 0.1\nspin = true\n"
      "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 5\nmass = 0.05\n" +
          end,
      "arm.toml", {}, [](const std::string& /*name*/) { return std::string(kSkin); });
}

std::set<std::string> names_of(const mjModel& m, mjtObj type, mjtSize count) {
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) names.insert(mj_id2name(&m, type, i));
  return names;
}

/// Mass and height of the center of mass of all that hangs on the base.
std::pair<double, double> weight(const Simulation& s) {
  const int base = s.id(mjOBJ_BODY, names::kBase);
  return {s.model->body_subtreemass[base], s.data->subtree_com[3 * base + 2]};
}

}  // namespace

TEST_CASE("arm parts: a part weighs what it says, where it says", "[mjcf]") {
  const auto i = GENERATE(range(std::size_t{0}, kTables.size()));
  CAPTURE(kTables[i]);
  const ContinuumDescription robot = arm(kTables[i]);
  REQUIRE(robot.parts.size() == 1);
  const PartLoad load = robot.parts.front()->load(kRadius);
  const auto [mass, height] = weight(Simulation(continuum_mjcf(robot)));
  const auto [bare_mass, bare_height] = weight(Simulation(continuum_mjcf(arm(""))));
  CHECK(mass - bare_mass == Approx(load.mass).margin(kNeglected));
  if (load.mass == 0.0) return;
  CHECK((mass * height - bare_mass * bare_height) / load.mass ==
        Approx(kLength + load.height).epsilon(1e-6));
}

TEST_CASE("arm parts: no controller drives the actuators of a part", "[mjcf]") {
  const auto i = GENERATE(range(std::size_t{0}, kTables.size()));
  CAPTURE(kTables[i]);
  const ContinuumDescription robot = arm(kTables[i]), bare = arm("");
  CHECK(driven_actuators(robot) == driven_actuators(bare));
  const Simulation s(continuum_mjcf(robot)), other(continuum_mjcf(bare));
  const std::set<std::string> driven = names_of(*other.model, mjOBJ_ACTUATOR, other.model->nu);
  std::set<std::string> added = names_of(*s.model, mjOBJ_ACTUATOR, s.model->nu);
  for (const std::string& name : driven) {
    CHECK_FALSE(is_part_actuator(name));
    CHECK(added.erase(name) == 1);
  }
  CHECK(added.size() == (kArmPartKinds[i]->actuator.empty() ? 0 : 1));
  for (const std::string& name : added) {
    CHECK(name == kArmPartKinds[i]->actuator);
    CHECK(is_part_actuator(name));
    CHECK(is_part_actuator("A_" + name));
    CHECK_THROWS_AS(arm("[[tendon]]\nangle = 0\ndistance = 0.005\nname = \"" + name + "\"\n"),
                    ModelError);
  }
}

TEST_CASE("arm parts: a part leaves the keyframe of the arm as it is", "[mjcf]") {
  const auto i = GENERATE(range(std::size_t{0}, kTables.size()));
  CAPTURE(kTables[i]);
  const std::string start = "[start]\nfeed = 0.05\narcs = [4, 0.1]\nbends = [0.4]\n";
  const Simulation s(continuum_mjcf(arm(kTables[i] + start))), bare(continuum_mjcf(arm(start)));
  REQUIRE(s.model->nkey == 1);
  for (int j = 0; j < bare.model->njnt; ++j) {
    const char* const name = mj_id2name(bare.model.get(), mjOBJ_JOINT, j);
    CAPTURE(name);
    CHECK(s.model->key_qpos[s.model->jnt_qposadr[s.id(mjOBJ_JOINT, name)]] ==
          bare.model->key_qpos[bare.model->jnt_qposadr[j]]);
  }
  for (int j = 0; j < bare.model->nu; ++j) {
    const char* const name = mj_id2name(bare.model.get(), mjOBJ_ACTUATOR, j);
    CAPTURE(name);
    CHECK(s.model->key_ctrl[s.id(mjOBJ_ACTUATOR, name)] == bare.model->key_ctrl[j]);
  }
}

TEST_CASE("arm parts: keys of a table that parts share are those of all of them", "[robot_file]") {
  const ContinuumDescription robot = arm("[tip]\npayload = 0.1\nsuction = 3\n");
  REQUIRE(robot.part<Payload>() != nullptr);
  REQUIRE(robot.part<Suction>() != nullptr);
  CHECK(robot.part<Payload>()->mass == 0.1);
  CHECK(robot.part<Suction>()->force == 3.0);
  CHECK(robot.part<Gripper>() == nullptr);
  CHECK_THROWS_WITH(arm("[tip]\nsuck = 3\n"),
                    Catch::Contains("must be one of: payload, payload_radius, suction"));
}

TEST_CASE("arm parts: the camera looks forward from the front of the tip", "[mjcf]") {
  const bool holds = GENERATE(false, true);
  const std::string end = "[tip]\ncamera = true\ncamera_angle = 2.0\n";
  const Simulation s(
      continuum_mjcf(arm(end + (holds ? "[gripper]\nopening = 0.04\nmass = 0.1\n" : ""))));
  const int camera = s.id(mjOBJ_CAMERA, "tip_camera"), light = s.id(mjOBJ_LIGHT, "tip_light");
  mj_camlight(s.model.get(), s.data.get());
  CHECK(s.model->cam_fovy[camera] == Approx(2.0 * 180.0 / mjPI));
  const mjtNum* const axes = s.data->cam_xmat + 9 * camera;  // looks along its -z
  CHECK(axes[8] == Approx(-1.0));
  CHECK(axes[4] == Approx(1.0));
  CHECK(s.data->light_xdir[3 * light + 2] == Approx(1.0));
  const double height = s.data->cam_xpos[3 * camera + 2];
  CHECK(height > kLength + (holds ? Gripper::palm_height(kRadius) : kRadius));
  CHECK(height < kLength + 2.0 * kRadius);
}

TEST_CASE("arm parts: a camera that nobody could look through is refused", "[robot_file]") {
  CHECK_THROWS_WITH(arm("[tip]\ncamera_angle = 1\n"),
                    Catch::Contains("camera_angle = 1: needs camera = true"));
  CHECK_THROWS_WITH(arm("[tip]\ncamera = true\nsuction = 3\n"),
                    Catch::Contains("camera = true: the suction cup covers the front of the tip"));
  CHECK_THROWS_WITH(arm("[tip]\ncamera = true\ncamera_angle = 140\n"),
                    Catch::Contains("camera_angle = 140: must be in [0.1, 2.8]"));
}
