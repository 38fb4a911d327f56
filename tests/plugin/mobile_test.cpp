// Mobile robots in the engine: what is measured, what the servos are commanded, saving and
// restoring, faults, prefixes, bad settings. The controller is a plain one of this file.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "plugin/controller_plugin.hpp"
#include "tendril/mobile/kinematics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// Goes from where the robot is first seen to the setting `pose` (x, y, heading, joints) within
/// `duration`, at rest at both ends. Reports the distance from the target as tool error. With
/// `fail`, it commands NaN after that many seconds.
class PoseController final : public MobileController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::body_name("target", "", "a mocap body"),
        setting::numbers("pose", "m, rad", "where to go"),
        setting::number("duration", "s", "1", kNotNegative, "of the motion"),
        setting::number("fail", "s", "", {}, "when to command NaN"),
        setting::flag("avoidance", false, "sees obstacles"),
        setting::obstacle_names("obstacles", "which")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kTipError,
                                             {"clearance", "", "count of obstacles"}};

  explicit PoseController(const MobileContext& context)
      : goal_(context.settings.numbers("pose")),
        duration_(context.settings.number("duration")),
        fail_(context.settings.optional_number("fail").value_or(
            std::numeric_limits<double>::infinity())) {
    goal_.resize(static_cast<std::size_t>(context.robot.joint_count()) + 3);
    from_memory_ = memory_.vector(static_cast<Eigen::Index>(goal_.size()));
    started_ = memory_.flag();
    start_time_ = memory_.number();
    CHECK(context.capsules.size() == static_cast<std::size_t>(context.robot.link_count()) + 2);
    CHECK(context.robot.joint_limits(0).max < 2.949606435870417);  // by the margin
    CHECK(context.limits.platform_speed > 0.0);
    context.scene.measure_target("target");
    if (context.settings.flag("avoidance"))
      static_cast<void>(context.scene.measure_obstacles("obstacles"));
  }
  void update(const MobileMeasurement& m, std::span<const double> memory, std::span<double> next,
              MobileCommand& command, ControllerReport& report) override {
    const auto n = static_cast<std::size_t>(m.q.size());
    auto from = from_memory_(next);
    if (!started_(memory)) {
      from.head<3>() = Eigen::Vector3d(m.base.x, m.base.y, m.base.heading);
      from.tail(m.q.size()) = m.q;
      started_(next) = true;
      start_time_(next) = m.time;
    }
    const double t = std::clamp((m.time - start_time_(next)) / duration_, 0.0, 1.0);
    const double s = t * t * t * (10.0 + t * (6.0 * t - 15.0));
    const double rate = 30.0 * t * t * (1.0 - t) * (1.0 - t) / duration_;
    const auto start = [&](std::size_t k) { return from[static_cast<Eigen::Index>(k)]; };
    const auto at = [&](std::size_t k) { return start(k) + s * (goal_[k] - start(k)); };
    const auto speed = [&](std::size_t k) { return rate * (goal_[k] - start(k)); };
    command.base = {at(0), at(1), at(2)};
    command.base_rate = {speed(0), speed(1), speed(2)};
    for (std::size_t j = 0; j < n; ++j) {
      command.q[static_cast<Eigen::Index>(j)] = at(j + 3);
      command.q_rate[static_cast<Eigen::Index>(j)] = speed(j + 3);
    }
    if (m.has_target) report.tip_error = (m.X_WE.translation() - m.X_WG.translation()).norm();
    if (m.obstacles != nullptr)
      OwnQuantities<kQuantities>{}(report, "clearance") = m.obstacles->count();
    if (m.time >= fail_) command.q_rate[1] = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  std::vector<double> goal_;
  double duration_, fail_;
  MatrixSlot<Eigen::VectorXd> from_memory_;
  Slot<bool> started_;
  Slot<double> start_time_;
};

/// Holds the arm against gravity, and adds the setting `torque`.
class TorqueController final : public MobileController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::numbers("torque", "N m", "in addition to that against gravity")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit TorqueController(const MobileContext& context)
      : torque_(context.settings.numbers("torque")) {}
  [[nodiscard]] CommandKind commands() const noexcept override { return CommandKind::Moments; }
  void update(const MobileMeasurement& m, std::span<const double> /*memory*/,
              std::span<double> /*next*/, MobileCommand& command,
              ControllerReport& /*report*/) override {
    CHECK(command.q == m.q);
    command.torque = -m.gravity_torque;
    for (std::size_t j = 0; j < torque_.size(); ++j)
      command.torque[static_cast<Eigen::Index>(j)] += torque_[j];
    measured_gravity = m.gravity_torque;
  }
  static inline Eigen::VectorXd measured_gravity;

 private:
  std::vector<double> torque_;
};

const std::vector<double> kGoal{0.4, -0.3, 0.6, 0.5, 1.2, 0.8, 0.9, -1.0};

std::string numbers(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += (text.empty() ? "[" : ", ") + std::to_string(v);
  return text + "]";
}

std::string youbot_file(const std::string& settings = "") {
  std::ifstream in("models/youbot.toml");
  REQUIRE(in);
  return std::string(std::istreambuf_iterator<char>(in), {}) +
         "[controller]\nplugin = \"test.pose\"\npose = " + numbers(kGoal) + "\n" + settings;
}

constexpr const char* kUpright = R"(<attach model="robot" body="base" prefix="Y_"/>)";

std::string scene(const std::string& attached = kUpright, const std::string& option = "") {
  return R"(<mujoco model="mobile">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100")" +
         option + R"(/>
  <asset><model name="robot" file="robot.toml"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1"/>)" +
         attached + R"(
    <body name="goal" mocap="true" pos="0.6 0.4 0.3"/>
  </worldbody>
</mujoco>)";
}

void register_once() {
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<PoseController>("test.pose");
    register_controller<TorqueController>("test.torque");
    return true;
  }();
}

ModelPtr load(const std::string& toml, const std::string& xml = scene()) {
  register_once();
  return load_scene_text(xml, {{"robot.toml", toml}});
}

DataPtr at_start(const ModelPtr& model) {
  DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  return data;
}

std::string refusal(const std::string& toml) {
  register_once();
  std::string error;
  CHECK_FALSE(try_load_scene(scene(), {{"robot.toml", toml}}, error));
  return error;
}

Eigen::Isometry3d goal_pose(const MobileRobot& robot) {
  const PlatformPose base{.x = kGoal[0], .y = kGoal[1], .heading = kGoal[2]};
  return tool_pose(robot, base, JointAngles(kGoal).subspan(3));
}

Eigen::Vector3d tip(const ModelPtr& model, const DataPtr& data) {
  const int site = mj_name2id(model.get(), mjOBJ_SITE, "Y_tip");
  return Eigen::Vector3d(data->site_xpos + 3 * site);
}

}  // namespace

TEST_CASE("mobile plugin: the servos carry the arm's weight, and lag only if told to", "[plugin]") {
  const std::string settings = GENERATE("", "gravity_compensation = false\n");
  const ModelPtr model = load(youbot_file(settings));
  const DataPtr data = at_start(model);
  const MobileRobot robot = load_as<MobileDescription>("models/youbot.toml").kinematics();
  step(model, data, 1500);
  const double miss = (tip(model, data) - goal_pose(robot).translation()).norm();
  // At rest a servo is exactly where its setpoint says, once the weight is in it.
  constexpr double kAtRest = 1e-5;  // [m]
  if (settings.empty()) {
    CHECK(miss < kAtRest);
  } else {
    CHECK(miss > 1e-3);
  }
}

TEST_CASE("mobile plugin: the lead of the setpoints makes up for the servos' lag", "[plugin]") {
  const auto worst_lag = [](const std::string& settings) {
    const ModelPtr model = load(youbot_file("duration = 2\n" + settings));
    const DataPtr data = at_start(model);
    double worst = 0.0;
    for (int k = 0; k < 1000; ++k) {
      step(model, data, 1);
      const auto command = sensor(model, data, "Y_command");
      const auto measured = sensor(model, data, "Y_measured");
      REQUIRE(command.size() == 8);
      REQUIRE(measured.size() == 8);
      for (std::size_t j = 0; j < 8; ++j)
        worst = std::max(worst, std::abs(command[j] - measured[j]));
    }
    return worst;
  };
  const double lag = worst_lag(""), without = worst_lag("velocity_feed_forward = false\n");
  CHECK(lag < 0.005);  // [m], [rad]: accelerations of up to 3 rad/s^2 are left to the servos
  CHECK(without > 5.0 * lag);
}

TEST_CASE("mobile plugin: margin and speed are those of the robot", "[plugin]") {
  const ModelPtr model = load(youbot_file());
  const DataPtr data = at_start(model);
  step(model, data, 250);
  const MobileDescription file = load_as<MobileDescription>("models/youbot.toml");
  const MobileRobot robot = file.kinematics();
  const auto measured = sensor(model, data, "Y_measured");
  double margin = 10.0;
  for (int j = 0; j < robot.joint_count(); ++j) {
    const double q = measured[static_cast<std::size_t>(j) + 3];
    margin = std::min({margin, q - robot.joint_limits(j).min, robot.joint_limits(j).max - q});
  }
  CHECK(sensor(model, data, "Y_joint_margin")[0] == Approx(margin).epsilon(1e-12));
  mj_forward(model.get(), data.get());  // the sensors then belong to the present speeds
  double use = std::hypot(data->qvel[0], data->qvel[1]) / file.speeds.platform_speed;
  use = std::max(use, std::abs(data->qvel[2]) / file.speeds.turn_speed);
  for (int j = 3; j < 8; ++j)
    use = std::max(use, std::abs(data->qvel[j]) / file.speeds.joint_speed);
  CHECK(use > 0.1);
  CHECK(sensor(model, data, "Y_speed_utilization")[0] == Approx(use).epsilon(1e-12));
}

TEST_CASE("mobile plugin: tool and target are seen from the robot's base", "[plugin]") {
  const std::string rotated =
      R"(<frame pos="0.5 -1 0" euler="0 0 40"><attach model="robot" body="base" prefix="Y_"/></frame>)";
  const ModelPtr model = load(youbot_file("target = \"goal\"\n"), scene(rotated));
  const DataPtr data = at_start(model);
  step(model, data, 300);
  mj_forward(model.get(), data.get());
  const double distance = (tip(model, data) - Eigen::Vector3d(0.6, 0.4, 0.3)).norm();
  CHECK(sensor(model, data, "Y_tip_error")[0] == Approx(distance).epsilon(1e-9));
}

TEST_CASE("mobile plugin: obstacles are handed on, the floor among them", "[plugin]") {
  const ModelPtr model =
      load(youbot_file("avoidance = true\n"),
           scene(std::string(kUpright) + R"(<geom type="box" size="0.1 0.1 0.4" pos="1 1 0.4"/>)"));
  const DataPtr data = at_start(model);
  step(model, data, 1);
  CHECK(sensor(model, data, "Y_clearance")[0] == 2.0);  // this file's controller counts them
}

TEST_CASE("mobile plugin: a copy and a restored state continue bit for bit", "[plugin]") {
  const ModelPtr model = load(youbot_file());
  const DataPtr data = at_start(model);
  step(model, data, 200);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  const DataPtr other = make_data(model);
  step(model, other, 33);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  step(model, data, 400);
  step(model, copy, 400);
  step(model, other, 400);
  CHECK(same_bits(full_state(model, data), full_state(model, copy)));
  CHECK(same_bits(full_state(model, data), full_state(model, other)));
}

TEST_CASE("mobile plugin: a step allocates nothing, a reset begins again", "[plugin]") {
  const ModelPtr model = load(youbot_file("target = \"goal\"\n"));
  const DataPtr data = make_data(model), fresh = make_data(model);
  step(model, data, 200);
  {
    const AllocationCounter counter;
    mj_forward(model.get(), data.get());
    CHECK(counter.count() == 0);
  }
  mj_resetData(model.get(), data.get());
  step(model, data, 100);
  step(model, fresh, 100);
  CHECK(same_bits(full_state(model, data), full_state(model, fresh)));
}

TEST_CASE("mobile plugin: a failing controller is reported once, and its robot held", "[plugin]") {
  const ModelPtr model = load(youbot_file("fail = 0.3\n"));
  const DataPtr data = at_start(model);
  step(model, data, 100);
  CHECK(sensor(model, data, "Y_status")[0] == 0.0);
  EngineWarnings::take();
  step(model, data, 100);
  const std::vector<double> held(data->ctrl, data->ctrl + model->nu);
  step(model, data, 200);
  CHECK(sensor(model, data, "Y_status")[0] == 5.0);
  CHECK(std::equal(held.begin(), held.end(), data->ctrl));
  const auto warnings = EngineWarnings::take();
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("the controller's command is not finite"));
}

namespace {

/// models/youbot.toml with motors instead of the joints' servos.
std::string motor_youbot(const std::string& settings) {
  std::ifstream in("models/youbot.toml");
  REQUIRE(in);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("[controller]")) break;
    if (line.starts_with("gain") || line.starts_with("damping_time")) continue;
    text += line + "\n" + (line.starts_with("[arm]") ? "joint_command = \"torque\"\n" : "");
  }
  return text + "[controller]\nplugin = \"test.torque\"\n" + settings;
}

int joint_dof(const ModelPtr& model, int joint) {
  return model->jnt_dofadr[mj_name2id(model.get(), mjOBJ_JOINT,
                                      ("Y_joint_" + std::to_string(joint)).c_str())];
}

}  // namespace

TEST_CASE("mobile torques: the joints have what is commanded, gravity is what holds them",
          "[plugin]") {
  const std::vector<double> torque{0.3, 0.0, 0.0, 0.0, 0.02};
  const ModelPtr model = load(motor_youbot("torque = " + numbers(torque) + "\n"));
  const DataPtr data = at_start(model);
  step(model, data, 1);
  for (int j = 1; j <= 5; ++j) {
    const int dof = joint_dof(model, j);
    const double gravity = TorqueController::measured_gravity[j - 1];
    const double extra = torque[static_cast<std::size_t>(j - 1)];
    CHECK(gravity == Approx(-data->qfrc_bias[dof]).margin(1e-9));  // at rest gravity alone
    CHECK(data->qfrc_actuator[dof] == Approx(extra - gravity).margin(1e-9));
  }
  CHECK(TorqueController::measured_gravity.cwiseAbs().maxCoeff() > 0.5);
  // What holds it, holds it.
  const ModelPtr held = load(motor_youbot(""));
  const DataPtr at_rest = at_start(held);
  const std::vector<mjtNum> start(at_rest->qpos, at_rest->qpos + held->nq);
  step(held, at_rest, 1000);
  for (std::size_t i = 0; i < start.size(); ++i)
    CHECK(at_rest->qpos[i] == Approx(start[i]).margin(1e-4));
  // No more than its limit.
  const ModelPtr strong = load(motor_youbot("torque = [100]\n"));
  const DataPtr pushed = at_start(strong);
  step(strong, pushed, 2);
  CHECK(pushed->qfrc_actuator[joint_dof(strong, 1)] == 9.5);
}

TEST_CASE("mobile torques: refused where the joints or the controller take no torques",
          "[plugin]") {
  const auto replaced = [](std::string text, const std::string& old, const std::string& by) {
    REQUIRE(text.find(old) != text.npos);
    return text.replace(text.find(old), old.size(), by);
  };
  CHECK_THAT(refusal(replaced(motor_youbot(""), "test.torque", "tendril.mobile")),
             Catch::Contains("robot: [arm] joint_command = \"torque\": must be \"angle\": "
                             "tendril.mobile commands setpoints"));
  CHECK_THAT(refusal(replaced(motor_youbot(""), "joint_command = \"torque\"\n", "")),
             Catch::Contains("robot: [arm] joint_command = \"angle\": must be \"torque\": "
                             "test.torque commands torques"));
  CHECK_THAT(refusal(replaced(motor_youbot(""), "[tool]", "[tool]\ngain = 3")),
             Catch::Contains("gain = 3: needs [arm] joint_command = \"angle\""));
}

TEST_CASE("mobile plugin: bad settings are refused with instance, key and value", "[plugin]") {
  CHECK_THAT(refusal(youbot_file("target = \"nowhere\"\n")),
             Catch::Contains("Y_controller") &&
                 Catch::Contains("target = nowhere: must be the name of a mocap body"));
  CHECK_THAT(refusal(youbot_file("speeed = 1\n")), Catch::Contains("speeed"));
  CHECK_THAT(refusal(youbot_file("velocity_feed_forward = 2\n")),
             Catch::Contains("velocity_feed_forward = 2"));
  CHECK_THAT(refusal(youbot_file("limit_margin = 0.6\n")), Catch::Contains("limit_margin = 0.6"));
  CHECK_THAT(refusal(youbot_file("avoidance = true\nobstacles = \"nothing\"\n")),
             Catch::Contains("obstacles = nothing: must be a geom or a body"));
}

namespace {

/// A platform that carries the arm of models/arm_3x10.toml, and its own controller.
std::string carrier(const std::string& settings = "",
                    const std::string& plugin = "tendril.base_placement") {
  return "kind = \"mobile\"\n[platform]\nlength = 0.4\nwidth = 0.3\nheight = 0.14\n"
         "[arm]\nfile = \"models/arm_3x10.toml\"\nmount = [0.1, 0, 0.2]\n"
         "[controller]\nplugin = \"" +
         plugin + "\"\n" + settings;
}

}  // namespace

TEST_CASE("carry plugin: brings a mounted arm to its target", "[plugin]") {
  const ModelPtr model = load(carrier("target = \"goal\"\n"));
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  CHECK(sensor(model, data, "Y_measured").size() == 3);
  CHECK(sensor(model, data, "Y_base_travel")[0] > 0.2);
  CHECK(sensor(model, data, "Y_joint_margin")[0] == 0.0);
  // The arm has no controller here, it hangs straight: its tip is above the mount.
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "Y_arm_base");
  REQUIRE(base >= 0);
  const auto measured = sensor(model, data, "Y_measured");
  const Eigen::Vector3d p(data->xpos + 3 * base);
  const double c = std::cos(measured[2]), s = std::sin(measured[2]);
  CHECK((p - Eigen::Vector3d(measured[0] + 0.1 * c, measured[1] + 0.1 * s, 0.2)).norm() < 1e-4);
  const int site = mj_name2id(model.get(), mjOBJ_SITE, "Y_arm_tip");
  const double distance =
      (Eigen::Vector3d(data->site_xpos + 3 * site) - Eigen::Vector3d(0.6, 0.4, 0.3)).norm();
  CHECK(sensor(model, data, "Y_tip_error")[0] == Approx(distance).margin(1e-4));
}

TEST_CASE("carry plugin: saved and restored bit for bit; robots of the other kind are refused",
          "[plugin]") {
  const ModelPtr model = load(carrier("target = \"goal\"\n"));
  const DataPtr data = make_data(model), other = make_data(model);
  step(model, data, 200);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  step(model, data, 300);
  step(model, other, 300);
  CHECK(same_bits(full_state(model, data), full_state(model, other)));

  CHECK_THAT(refusal(carrier("", "test.pose")), Catch::Contains("its arm is a continuum arm"));
  std::string jointed = youbot_file("");
  jointed.replace(jointed.find("test.pose"), 9, "tendril.base_placement");
  jointed = jointed.substr(0, jointed.find("pose =")) + "target = \"goal\"\n";
  CHECK_THAT(refusal(jointed), Catch::Contains("its arm has discrete joints"));
}
