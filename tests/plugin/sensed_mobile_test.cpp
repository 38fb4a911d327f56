// Mobile robots whose controllers see what an estimator makes of their sensors.

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

#include "plugin/robot_binding.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/temporary_folder.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr std::size_t kPlatform = 3, kJoints = 8;
constexpr const char* kReadings[] = {"Y_laser_x_reading", "Y_laser_y_reading",
                                     "Y_laser_heading_reading"};

const std::string kExact =
    "[[sensor]]\nkind = \"platform_pose\"\nname = \"laser\"\n"
    "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\n";
const std::string kNoisy =
    "[[sensor]]\nkind = \"platform_pose\"\nname = \"laser\"\nnoise = [0.005, 0.005]\nrate = 20\n"
    "delay = 0.05\n"
    "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\nnoise = 0.0005\ndelay = 0.004\n";

std::string robot(const std::string& sensors, bool by_sensors = true) {
  std::ifstream in("models/youbot.toml");
  REQUIRE(in);
  return std::string(std::istreambuf_iterator<char>(in), {}) + sensors +
         "[controller]\nplugin = \"tendril.mobile\"\ntarget = \"goal\"\n" +
         (by_sensors ? "measured = \"sensors\"\n" : "");
}

/// The platform moves on a floor that is turned about the vertical and displaced.
std::string scene(const std::string& goal = "0.9 0.6 0.3") {
  return R"(<mujoco model="mobile">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="robot" file="robot.toml"/></asset>
  <worldbody>
    <frame pos="0.3 -0.2 0" euler="0 0 40"><attach model="robot" body="base" prefix="Y_"/></frame>
    <body name="goal" mocap="true" pos=")" +
         goal + R"("/>
  </worldbody>
</mujoco>)";
}

ModelPtr load(const std::string& toml) {
  load_tendril();
  return load_scene_text(scene(), {{"robot.toml", toml}});
}

DataPtr at_start(const ModelPtr& model) {
  DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  return data;
}

std::string refusal(const std::string& toml) {
  load_tendril();
  std::string error;
  CHECK_FALSE(try_load_scene(scene(), {{"robot.toml", toml}}, error));
  return error;
}

/// The tip at the begin of the last step, in the frame that the platform moves in.
Vector3d tip(const ModelPtr& model, const DataPtr& data) {
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "Y_base");
  const ConstVector3 p_WE(data->site_xpos + 3 * mj_name2id(model.get(), mjOBJ_SITE, "Y_tip"));
  return ConstMatrix3(data->xmat + 9 * base).transpose() *
         (p_WE - ConstVector3(data->xpos + 3 * base));
}

Vector3d measured_tip(const ModelPtr& model, const DataPtr& data) {
  const auto numbers = sensor(model, data, "Y_measured_tip");
  return {numbers[0], numbers[1], numbers[2]};
}

}  // namespace

TEST_CASE("sensed mobile robot: it begins where it is", "[plugin]") {
  const ModelPtr model = load(robot(kNoisy));
  const DataPtr data = at_start(model);
  mj_step(model.get(), data.get());
  CHECK((measured_tip(model, data) - tip(model, data)).norm() < 0.02);  // noise of the first sample
  const ModelPtr exact = load(robot(kExact));
  const DataPtr other = at_start(exact);
  mj_step(exact.get(), other.get());
  CHECK((measured_tip(exact, other) - tip(exact, other)).norm() < 1e-9);
}

TEST_CASE("sensed mobile robot: exact sensors do what the truth does", "[plugin]") {
  const ModelPtr model = load(robot(kExact)), by_truth = load(robot("", false));
  const DataPtr data = at_start(model), other = at_start(by_truth);
  double off = 0.0, apart = 0.0;
  for (int k = 0; k < 3000; ++k) {
    mj_step(model.get(), data.get());
    mj_step(by_truth.get(), other.get());
    off = std::max(off, (measured_tip(model, data) - tip(model, data)).norm());
    for (std::size_t j = 0; j < kJoints; ++j)
      apart = std::max(apart, std::abs(data->qpos[j] - other->qpos[j]));
  }
  // Encoders tell angles to the 0.01 mrad that the filter takes them for.
  CHECK(off < 1e-4);
  CHECK(apart < 1e-3);
  CHECK(sensor(model, data, "Y_tip_error")[0] < 1e-3);
}

TEST_CASE("sensed mobile robot: noise is filtered, delay made up for", "[plugin]") {
  const ModelPtr model = load(robot(kNoisy));
  const DataPtr data = at_start(model);
  double platform = 0.0, arm = 0.0, moved = 0.0, as_read = 0.0;
  constexpr int kSteps = 4000;
  Vector3d start;
  for (int k = 0; k < kSteps; ++k) {
    const std::vector<double> before(data->qpos, data->qpos + kJoints);
    mj_step(model.get(), data.get());
    const auto measured = sensor(model, data, "Y_measured");
    if (k == 0) start = tip(model, data);
    for (std::size_t j = 0; j < kJoints; ++j)
      (j < kPlatform ? platform : arm) += std::pow(measured[j] - before[j], 2);
    for (std::size_t j = 0; j < kPlatform; ++j)
      as_read += std::pow(sensor(model, data, kReadings[j])[0] - before[j], 2);
    moved = std::max(moved, (tip(model, data) - start).norm());
  }
  CHECK(moved > 0.3);
  // Squares of all numbers, in motion and at rest. The readings of the platform are up to 0.1 s
  // old.
  UNSCOPED_INFO(std::sqrt(as_read / (kPlatform * kSteps)));
  CHECK(platform < 0.5 * as_read);
  CHECK(std::sqrt(platform / (kPlatform * kSteps)) < 0.01);
  CHECK(std::sqrt(arm / ((kJoints - kPlatform) * kSteps)) < 0.0005);
  // The error that is reported is the true one.
  const auto error = sensor(model, data, "Y_tip_error")[0];
  CHECK(error < 0.02);
  CHECK(error > 1e-5);
}

TEST_CASE("sensed mobile robot: what no sensor tells is refused", "[plugin]") {
  CHECK_THAT(refusal(robot("[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\n")),
             Catch::Contains("has no platform_pose"));
  CHECK_THAT(refusal(robot("[[sensor]]\nkind = \"platform_pose\"\nname = \"laser\"\n"
                           "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\n"
                           "joints = [\"joint_1\", \"joint_2\"]\n")),
             Catch::Contains("has no joint_encoder of joint_3"));
}

TEST_CASE("sensed mobile robot: a step allocates nothing", "[plugin]") {
  const ModelPtr model = load(robot(kNoisy));
  const DataPtr data = at_start(model);
  step(model, data, 100);
  const AllocationCounter counter;
  step(model, data, 100);
  CHECK(counter.count() == 0);
}

namespace {

const std::string kPose =
    "[[sensor]]\nkind = \"platform_pose\"\nname = \"laser\"\nnoise = [0.002, 0.002]\nrate = 50\n"
    "delay = 0.02\n";
const std::string kArm = "kind = \"continuum\"\nname = \"arm\"\n" + small_sections() +
                         "[controller]\nplugin = \"tendril.reach\"\ntarget = \"goal\"\n"
                         "measured = \"sensors\"\n"
                         "[[sensor]]\nkind = \"bend_encoder\"\nname = \"bend\"\n"
                         "[[sensor]]\nkind = \"tip_tracker\"\nname = \"tracker\"\n";

/// A platform that carries a continuum arm of a file; both see their sensors.
std::string carrier(const TemporaryFolder& folder, const std::string& sensors) {
  return "kind = \"mobile\"\n[platform]\nlength = 0.4\nwidth = 0.3\nheight = 0.14\n"
         "[arm]\nfile = \"" +
         folder.write("arm.toml", kArm).string() +
         "\"\nmount = [0.1, 0, 0.2]\n"
         "[controller]\nplugin = \"tendril.base_placement\"\ntarget = \"goal\"\n"
         "measured = \"sensors\"\n" +
         sensors;
}
}  // namespace

TEST_CASE("sensed platform: it and the continuum arm on it know what their sensors tell",
          "[plugin]") {
  load_tendril();
  const TemporaryFolder folder;
  const ModelPtr model = load_scene_text(scene(), {{"robot.toml", carrier(folder, kPose)}});
  const DataPtr data = make_data(model);
  double squares = 0.0, moved = 0.0, tip_off = 0.0;
  constexpr int kSteps = 4000;
  for (int k = 0; k < kSteps; ++k) {
    const std::vector<double> before(data->qpos, data->qpos + kPlatform);
    mj_step(model.get(), data.get());
    const auto measured = sensor(model, data, "Y_measured");
    for (std::size_t j = 0; j < kPlatform; ++j) squares += std::pow(measured[j] - before[j], 2);
    moved = std::max(moved, std::hypot(before[0], before[1]));
    if (k < 500) continue;
    const auto seen = sensor(model, data, "Y_arm_measured_tip"),
               truth = sensor(model, data, "Y_arm_tracker_position");
    tip_off = std::max(tip_off, (ConstVector3(seen.data()) - ConstVector3(truth.data())).norm());
  }
  CHECK(moved > 0.2);
  CHECK(std::sqrt(squares / (kPlatform * kSteps)) < 0.003);
  CHECK(squares > 0.0);
  CHECK(tip_off < 1e-3);
}

TEST_CASE("sensed platform: what it does not know is refused", "[plugin]") {
  load_tendril();
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& xml, const std::string& sensors) {
    std::string error;
    CHECK_FALSE(
        try_load_scene(xml, {{"robot.toml", carrier(folder, sensors)}, {"arm.toml", kArm}}, error));
    return error;
  };
  CHECK_THAT(error_of(scene(), ""), Catch::Contains("has no platform_pose"));
  CHECK_THAT(error_of(scene(), "[[sensor]]\nkind = \"joint_encoder\"\nname = \"e\"\n"),
             Catch::Contains("kind = 'joint_encoder': must be one of platform_pose"));
  // A base that rocks turns gravity.
  const std::string rocking = R"(<mujoco model="rocking">
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <body name="rock">
      <joint axis="1 0 0"/>
      <geom size="0.1"/>
      <attach model="arm" body="base" prefix="A_"/>
    </body>
    <body name="goal" mocap="true" pos="0.1 0 0.04"/>
  </worldbody>
</mujoco>)";
  CHECK_THAT(error_of(rocking, kPose), Catch::Contains("measured = sensors: its base moves"));
}
