// Snakes whose controllers see what an estimator makes of their sensors.

#include <catch2/catch.hpp>
#include <cmath>

#include "plugin/robot_binding.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

std::string table(const std::string& kind, const std::string& keys = "") {
  return "[[sensor]]\nkind = \"" + kind + "\"\nname = \"" + kind + "\"\n" + keys;
}
const std::string kSensors = table("joint_encoder") + table("imu");
const std::string kNoisy =
    table("joint_encoder", "noise = 1e-3\nrate = 250\ndelay = 0.01\ndropout = 0.1\n") +
    table("imu", "noise = [0.01, 0.2]\nbias = [0.01, 0.1]\nrate = 100\ndelay = 0.02\n");

std::string snake(const std::string& settings, const std::string& more) {
  return "kind = \"snake\"\njoints = 16\nlink_length = 0.06\ngain = 20\n[controller]\n"
         "plugin = \"tendril.snake\"\n" +
         settings + more;
}
const std::string kSensed = "measured = \"sensors\"\n";
/// Sidewinding to a goal.
const std::string kStart =
    "[start]\nyaw = [0.6, 1.25, 0]\npitch = [0.25, 1.25, 1.5708]\nposition = [0, 0, 0.001]\n";
const std::string kToGoal = "gait = \"sidewinding\"\ngoals = [1.0, -0.5]\n";
/// On a carriage along a bend.
const std::string kFed =
    "mode = \"path\"\nspeed = 0.1\nwaypoints = [1, 0, 0, 1.3, 0, 0, 1.6, 0.3, 0.2]\n"
    "corner_radius = 0.4\n";
/// On a fixed base, with a payload.
const std::string kFixed =
    "mode = \"path\"\nspeed = 0.1\nwaypoints = [0.5, 0, 0, 0.8, 0.1, 0.1]\ncorner_radius = 0.4\n";
const std::string kPedestal = "[base]\nkind = \"fixed\"\n[head]\npayload = 0.1\n";
const std::string kCarriage = "[base]\nkind = \"carriage\"\nfeed = 1\n";

std::string scene(double height) {
  return R"(<mujoco model="snakes">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="snake" file="snake.toml"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1" pos="0 0 )" +
         std::to_string(-height) + R"("/>
    <attach model="snake" body="base" prefix="S_"/>
  </worldbody>
</mujoco>)";
}

ModelPtr load(const std::string& toml, double height = 0.0) {
  load_tendril();
  return load_scene_text(scene(height), {{"snake.toml", toml}});
}

DataPtr at_start(const ModelPtr& model) {
  DataPtr data = make_data(model);
  if (model->nkey > 0) mj_resetDataKeyframe(model.get(), data.get(), 0);
  return data;
}

/// The tip at the begin of the last step.
Vector3d tip(const ModelPtr& model, const DataPtr& data) {
  return ConstVector3(data->site_xpos + 3 * mj_name2id(model.get(), mjOBJ_SITE, "S_tip"));
}

/// The tip as the controller saw it in the last step.
Vector3d measured_tip(const ModelPtr& model, const DataPtr& data) {
  const auto numbers = sensor(model, data, "S_measured_tip");
  return {numbers[0], numbers[1], numbers[2]};
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

std::vector<double> controls(const ModelPtr& model, const DataPtr& data) {
  return {data->ctrl, data->ctrl + model->nu};
}

}  // namespace

TEST_CASE("sensed snake: it begins where it is", "[plugin]") {
  struct Case {
    const char* name;
    std::string toml;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"free", snake(kToGoal + kSensed, kStart + kSensors)},
      {"universal joints",
       "joint = \"universal\"\njoint_limit = 1.0\n" + snake(kToGoal + kSensed, kStart + kSensors)},
      {"box links", "shape = \"box\"\n" + snake(kToGoal + kSensed, kStart + kSensors)},
      {"by encoders alone",
       snake("gait = \"sidewinding\"\n" + kSensed, kStart + table("joint_encoder"))},
      {"carriage", snake(kFed + kSensed, kCarriage + table("joint_encoder"))},
      {"fixed base", snake(kFixed + kSensed, kPedestal + table("joint_encoder"))},
  }));
  CAPTURE(c.name);
  const ModelPtr model = load(c.toml, 0.5);
  const DataPtr data = at_start(model);
  mj_step(model.get(), data.get());
  CHECK((measured_tip(model, data) - tip(model, data)).norm() < 1e-9);
}

TEST_CASE("sensed snake: exact encoders do what the truth does on a known base", "[plugin]") {
  const bool is_fed = GENERATE(true, false);
  CAPTURE(is_fed);
  const std::string settings = is_fed ? kFed : kFixed, base = is_fed ? kCarriage : kPedestal;
  const ModelPtr model = load(snake(settings + kSensed, base + table("joint_encoder")), 1.0),
                 by_truth = load(snake(settings, base), 1.0);
  const DataPtr data = make_data(model), other = make_data(by_truth);
  double apart = 0.0, off = 0.0;
  for (int k = 0; k < 4000; ++k) {
    mj_step(model.get(), data.get());
    mj_step(by_truth.get(), other.get());
    apart = std::max(apart, largest_difference(controls(model, data), controls(by_truth, other)));
    off = std::max(off, (measured_tip(model, data) - tip(model, data)).norm());
  }
  // Encoders tell the angles to the 0.01 mrad that the filter takes them for, 16 joints the tip.
  CHECK(off < 1e-4);
  CHECK(apart < 1e-4);
  CHECK(sensor(model, data, "S_path_error")[0] ==
        Approx(sensor(by_truth, other, "S_path_error")[0]).margin(1e-5));
}

TEST_CASE("sensed snake: a gait without a goal needs encoders alone", "[plugin]") {
  const std::string gait = "gait = \"sidewinding\"\n";
  const ModelPtr model = load(snake(gait + kSensed, kStart + table("joint_encoder"))),
                 by_truth = load(snake(gait, kStart));
  const DataPtr data = at_start(model), other = at_start(by_truth);
  step(model, data, 2000);
  step(by_truth, other, 2000);
  CHECK(largest_difference(controls(model, data), controls(by_truth, other)) < 1e-9);
  // What it reports of its motion is true, though it knows nothing of it.
  CHECK(sensor(model, data, "S_advance")[0] ==
        Approx(sensor(by_truth, other, "S_advance")[0]).margin(1e-6));
}

TEST_CASE("sensed snake: a place that no sensor tells does not change a command", "[plugin]") {
  const ModelPtr model = load(snake(kToGoal + kSensed, kStart + kSensors));
  const DataPtr data = at_start(model);
  step(model, data, 1000);
  const DataPtr other(mj_copyData(nullptr, model.get(), data.get()));
  other->qpos[0] += 0.3;
  double apart = 0.0;
  for (int k = 0; k < 20; ++k) {
    step(model, data, 1);
    step(model, other, 1);
    apart = std::max(apart, largest_difference(controls(model, data), controls(model, other)));
  }
  CHECK(apart < 1e-9);
  // What is reported of the body is true.
  CHECK(sensor(model, other, "S_advance")[0] - sensor(model, data, "S_advance")[0] ==
        Approx(0.3).margin(1e-3));
}

TEST_CASE("sensed snake: an offset of the unit stays in a run, and its seed draws it", "[plugin]") {
  std::vector<Vector3d> offsets;
  for (int seed = 0; seed < 100; ++seed) {
    const ModelPtr model =
        load(snake("gait = \"rolling\"\nsensor_seed = " + std::to_string(seed) + "\n",
                   kStart + table("imu", "bias = [0.1, 0.5]\n")));
    const DataPtr data = at_start(model);
    Vector3d first = Vector3d::Zero();
    for (int k = 0; k < 20; ++k) {
      const auto before = sensor(model, data, "S_imu_gyro");
      mj_step(model.get(), data.get());
      if (k < 2) continue;
      const auto reading = sensor(model, data, "S_imu_gyro_reading");
      const Vector3d offset = Vector3d::Map(reading.data()) - Vector3d::Map(before.data());
      if (k == 2) first = offset;
      CHECK((offset - first).norm() < 1e-2);  // it wanders within an hour
    }
    offsets.push_back(first);
  }
  double squared = 0.0;
  for (const Vector3d& offset : offsets) squared += offset.squaredNorm() / (0.1 * 0.1);
  CHECK(std::abs(squared - 300.0) < 3.3 * std::sqrt(2.0 * 300.0));  // chi-squared, 99.9 %
}

TEST_CASE("sensed snake: it reaches a goal by its sensors, as far as it knows", "[plugin]") {
  const bool is_noisy = GENERATE(false, true);
  CAPTURE(is_noisy);
  const ModelPtr model = load(snake(kToGoal + kSensed, kStart + (is_noisy ? kNoisy : kSensors)));
  const DataPtr data = at_start(model);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "S_base");
  double off = 0.0, path = 0.0;
  Vector3d last = ConstVector3(data->subtree_com + 3 * base);
  int k = 0;
  for (; k < 10000 && sensor(model, data, "S_status")[0] != 1.0; ++k) {
    mj_step(model.get(), data.get());
    off = std::max(off, (measured_tip(model, data) - tip(model, data)).norm());
    if (k % 500 == 0) {  // once a period of the gait
      const Vector3d now = ConstVector3(data->subtree_com + 3 * base);
      path += (now - last).norm();
      last = now;
    }
  }
  CAPTURE(off, path);
  CHECK(k < 10000);
  CHECK(path > 0.8);
  // It drifts: docs/results/sensors.md.
  CHECK(off < (is_noisy ? 0.5 : 0.25));
}

TEST_CASE("sensed snake: without its inertial unit the joints go on", "[plugin]") {
  const ModelPtr model = load(
      snake(kToGoal + kSensed, kStart + table("joint_encoder") + table("imu", "dropout = 1\n")));
  const DataPtr data = at_start(model);
  for (int k = 0; k < 2000; ++k) {
    mj_step(model.get(), data.get());
    REQUIRE(sensor(model, data, "S_status")[0] < 20.0);
    REQUIRE(measured_tip(model, data).allFinite());
  }
  const auto measured = sensor(model, data, "S_measured"),
             command = sensor(model, data, "S_command");
  CHECK(largest_difference(measured, command) < 0.5);  // servos lag
}

TEST_CASE("sensed snake: a copy, a restored state and a reset continue bit for bit", "[plugin]") {
  const ModelPtr model = load(snake(kToGoal + kSensed, kStart + kNoisy));
  check_continues(model, {"S_measured", "S_measured_tip", "S_path_error", "S_speed"});
}

TEST_CASE("sensed snake: a step allocates nothing", "[plugin]") {
  const ModelPtr model = load(snake(kToGoal + kSensed, kStart + kNoisy));
  const DataPtr data = at_start(model);
  step(model, data, 50);
  const AllocationCounter counter;
  step(model, data, 200);
  CHECK(counter.count() == 0);
}

TEST_CASE("sensed snake: what no estimator describes is refused", "[plugin]") {
  struct Case {
    const char* name;
    std::string toml;
    const char* message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"no encoder", snake(kToGoal + kSensed, kStart + table("imu")),
       "measured = sensors: the robot file has no joint_encoder of joint_1: must be \"truth\""},
      {"an encoder of some joints",
       snake(kToGoal + kSensed,
             kStart + table("imu") + table("joint_encoder", "joints = [\"joint_1\"]\n")),
       "no joint_encoder of joint_2"},
      {"no unit", snake(kToGoal + kSensed, kStart + table("joint_encoder")),
       "the robot file has no imu, which tells the pose"},
      {"a pole",
       snake("gait = \"helix\"\npole_radius = 0.03\nheights = [0.5]\n" + kSensed,
             kStart + kSensors),
       "works by the height on a pole, of which no sensor tells"},
      {"water", snake(kToGoal + kSensed, "[medium]\ndensity = 1000\n" + kStart + kSensors),
       "the snake swims: it has no ground that tells how it moves"},
  }));
  CAPTURE(c.name);
  load_tendril();
  std::string error;
  CHECK_FALSE(try_load_scene(scene(0.0), {{"snake.toml", c.toml}}, error));
  CHECK_THAT(error, Catch::Contains(c.message));
  EngineWarnings::take();
}
