// Controllers that command moments, tensions and torques: what the body does with them, what is
// measured of it, and what is refused.

#include <Eigen/Core>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "plugin/controller_plugin.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Contains;
using Eigen::VectorXd;

namespace {

/// What the controllers below command, and what they were shown last.
struct Probe {
  std::vector<double> values;
  VectorXd q, q_rate, moment, gravity_moment, length, tension;
};
Probe probe;

/// The engine steps a model while it compiles it, with what the last test commanded.
VectorXd commanded(Eigen::Index size) {
  VectorXd values = VectorXd::Zero(size);
  for (std::size_t i = 0; i < probe.values.size() && static_cast<Eigen::Index>(i) < size; ++i)
    values[static_cast<Eigen::Index>(i)] = probe.values[i];
  return values;
}

template <CommandKind kind>
class ArmProbe : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr std::array<SettingInfo, 0> kNone{};
    return kNone;
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit ArmProbe(const ArmContext& /*context*/) {}
  [[nodiscard]] CommandKind commands() const noexcept override { return kind; }
  void update(const ArmMeasurement& measurement, std::span<const double> /*memory*/,
              std::span<double> /*next_memory*/, ArmCommand& command,
              ControllerReport& /*report*/) override {
    VectorXd& told = kind == CommandKind::Moments ? command.moment : command.tension;
    told = commanded(told.size());
    probe.q = measurement.q;
    probe.q_rate = measurement.q_rate;
    probe.moment = measurement.moment;
    probe.gravity_moment = measurement.gravity_moment;
    probe.length = measurement.tendon_length;
    probe.tension = measurement.tendon_tension;
  }
};

class SnakeProbe : public SnakeController {
 public:
  static std::span<const SettingInfo> settings() {
    return ArmProbe<CommandKind::Moments>::settings();
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit SnakeProbe(const SnakeContext& /*context*/) {}
  [[nodiscard]] CommandKind commands() const noexcept override { return CommandKind::Moments; }
  void update(const SnakeMeasurement& measurement, std::span<const double> /*memory*/,
              std::span<double> /*next_memory*/, SnakeCommand& command,
              ControllerReport& /*report*/) override {
    command.torque = commanded(command.torque.size());
    probe.q = measurement.q;
    probe.q_rate = measurement.q_rate;
    probe.moment = measurement.torque;
    probe.gravity_moment = measurement.gravity_torque;
  }
};

void register_probes() {
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<ArmProbe<CommandKind::Moments>>("test.moments");
    register_controller<ArmProbe<CommandKind::Tensions>>("test.tensions");
    register_controller<SnakeProbe>("test.torques");
    return true;
  }();
}

constexpr double kStiffness = 0.05, kLength = 0.06;  // EI [N m^2] and length of `small_sections`
const std::string kMotors = "bend_command = \"moment\"\n";
const std::string kWeightless = "gravity=\"0 0 0\"";

std::string arm(const std::string& plugin, const std::string& sections) {
  return "kind = \"continuum\"\n" + sections + "[controller]\nplugin = \"" + plugin + "\"\n";
}

/// Three tendons that end in each of two sections.
std::string tendons(const std::string& command) {
  std::string text;
  for (int t = 0; t < 6; ++t) {
    text += "[[tendon]]\nname = \"t" + std::to_string(t) +
            "\"\nsection = " + std::to_string(1 + t / 3) +
            "\nangle = " + std::to_string(2.0943951 * t + (t < 3 ? 0.0 : 0.5)) +
            "\ndistance = 0.006\nmax_tension = 300\ncommand = \"" + command + "\"\n";
  }
  return text;
}

/// After `steps` with these commands, and one more to measure what they did.
DataPtr run(const ModelPtr& model, std::vector<double> values, int steps = 3000) {
  probe = {.values = std::move(values),
           .q = {},
           .q_rate = {},
           .moment = {},
           .gravity_moment = {},
           .length = {},
           .tension = {}};
  DataPtr data = make_data(model);
  step(model, data, steps + 1);
  return data;
}

std::string refusal(const std::string& toml, const std::string& scene = one_arm_scene()) {
  register_probes();
  std::string error;
  CHECK_FALSE(try_load_scene(scene, {{"arm.toml", toml}}, error));
  EngineWarnings::take();
  return error;
}

}  // namespace

TEST_CASE("moments: a section without load bends by moment times length over EI", "[plugin]") {
  register_probes();
  const ModelPtr model = load_one_arm(arm("test.moments", small_sections(kMotors)), kWeightless);
  const std::vector<double> moments{0.4, -0.2, 0.1, 0.3};
  run(model, moments);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    CHECK(probe.q[i] == Approx(moments[k] * kLength / kStiffness).epsilon(1e-6));
    CHECK(probe.moment[i] == Approx(moments[k]));
    CHECK(probe.q_rate[i] == Approx(0.0).margin(1e-6));
    CHECK(probe.gravity_moment[i] == 0.0);
  }
}

TEST_CASE("moments: at rest the body's moment is the motor's and that of gravity", "[plugin]") {
  register_probes();
  const bool natural = GENERATE(false, true);
  CAPTURE(natural);
  const ModelPtr model = load_one_arm(
      arm("test.moments", small_sections(kMotors + (natural ? "natural_bend = 0.3\n" : ""))));
  const std::vector<double> moments{-0.3, 0.05, 0.1, 0.0};
  run(model, moments);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    const double rest = natural && k % 2 == 0 ? 0.3 : 0.0;
    CHECK(kStiffness / kLength * (probe.q[i] - rest) ==
          Approx(moments[k] + probe.gravity_moment[i]).margin(1e-6));
  }
  // Held out level: more than what 0.03 kg have on half of a section.
  CHECK(std::abs(probe.gravity_moment[0]) > 0.03 * 9.81 * 0.03);
}

TEST_CASE("moments: a motor gives no more than its limit", "[plugin]") {
  register_probes();
  const ModelPtr model = load_one_arm(
      arm("test.moments", small_sections(kMotors + "bend_torque_limit = 0.2\n")), kWeightless);
  const DataPtr data = run(model, {0.5, 0.0, 0.0, -3.0});
  CHECK(probe.moment[0] == Approx(0.2));
  CHECK(probe.moment[3] == Approx(-0.2));
  CHECK(probe.q[0] == Approx(0.2 * kLength / kStiffness).epsilon(1e-6));
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
}

TEST_CASE("moments: a force lengthens a section against its axial stiffness", "[plugin]") {
  register_probes();
  const ModelPtr model =
      load_one_arm(arm("test.moments",
                       "[[section]]\nconstant_length = 0.06\nvariable_length = 0.02\n"
                       "bend_limit = 1.7\nlinks = 4\nlength_command = \"force\"\n" +
                           kMotors),
                   kWeightless);
  run(model, {0.1, 0.0, 8.0});
  CHECK(probe.q[2] == Approx(0.01 + 8.0 / 2000.0).epsilon(1e-6));
  CHECK(probe.moment[2] == Approx(8.0));
}

TEST_CASE("moments: tendons share them, and do as motors do", "[plugin]") {
  register_probes();
  const std::vector<double> moments{0.2, -0.1, 0.05, 0.1};
  run(load_one_arm(arm("test.moments", small_sections() + tendons("tension")), kWeightless),
      moments);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    CHECK(probe.moment[i] == Approx(moments[k]).margin(1e-6));
    CHECK(probe.q[i] == Approx(moments[k] * kLength / kStiffness).margin(1e-6));
  }
  CHECK(probe.tension.minCoeff() >= 1.0 - 1e-9);  // the pretension
}

TEST_CASE("tensions: the tendons have those commanded, lengths and moments are theirs",
          "[plugin]") {
  register_probes();
  const ModelPtr model = load_one_arm(arm("test.tensions", small_sections() + tendons("tension")));
  const std::vector<double> tensions{9.0, 2.0, 3.0, 1.0, 8.0, 4.0};
  const DataPtr data = run(model, tensions);
  Eigen::VectorXd moment = VectorXd::Zero(4);
  for (std::size_t t = 0; t < tensions.size(); ++t) {
    const auto row = static_cast<Eigen::Index>(t);
    CHECK(probe.tension[row] == Approx(tensions[t]));
    CHECK(sensor(model, data, "A_t" + std::to_string(t) + "_tension")[0] == Approx(tensions[t]));
    CHECK(probe.length[row] ==
          Approx(sensor(model, data, "A_t" + std::to_string(t) + "_length")[0]).margin(1e-9));
    const double angle = 2.0943951 * static_cast<double>(t) + (t < 3 ? 0.0 : 0.5);
    for (Eigen::Index i = 0; i <= (t < 3 ? 0 : 1); ++i) {
      moment[2 * i] += 0.006 * tensions[t] * std::cos(angle);
      moment[2 * i + 1] += 0.006 * tensions[t] * std::sin(angle);
    }
  }
  for (Eigen::Index k = 0; k < 4; ++k) {
    CHECK(probe.moment[k] == Approx(moment[k]).margin(1e-6));
    CHECK(kStiffness / kLength * probe.q[k] ==
          Approx(moment[k] + probe.gravity_moment[k]).margin(1e-6));
  }
}

TEST_CASE("moments: servos' moments are measured, whatever drives the section", "[plugin]") {
  // At rest they hold the body's moment against that of gravity.
  const bool link = GENERATE(false, true);
  CAPTURE(link);
  struct Shown : ArmProbe<CommandKind::SetPoints> {
    using ArmProbe::ArmProbe;
    void update(const ArmMeasurement& measurement, std::span<const double> memory,
                std::span<double> next_memory, ArmCommand& command,
                ControllerReport& report) override {
      ArmProbe::update(measurement, memory, next_memory, command, report);
      command.q = Eigen::Vector4d(0.5, 0.1, -0.3, 0.0);
    }
  };
  register_probes();
  [[maybe_unused]] static const bool registered = [] {
    register_controller<Shown>("test.shown");
    return true;
  }();
  const ModelPtr model =
      load_one_arm((link ? "compliance = \"link\"\n" : "") + arm("test.shown", small_sections()));
  run(model, {});
  for (Eigen::Index k = 0; k < 4; ++k) {
    CHECK(probe.moment[k] ==
          Approx(kStiffness / kLength * probe.q[k] - probe.gravity_moment[k]).margin(1e-5));
  }
}

TEST_CASE("torques: a known inertia accelerates as it must", "[plugin]") {
  // Two boxes of length a, width 2 w, on a carriage: about joint 1, without gravity and from rest.
  register_probes();
  constexpr double kA = 0.1, kW = 0.02, kMass = 0.3, kArmature = 0.004, kTorque = 0.05,
                   kStep = 0.002;
  const ModelPtr model = load_one_arm(
      "kind = \"snake\"\njoints = 2\nlink_length = 0.1\nshape = \"box\"\nhalf_width = 0.02\n"
      "link_mass = 0.3\narmature = 0.004\njoint_damping = 0\njoint_command = \"torque\"\n"
      "torque_limit = 0.2\n[base]\nkind = \"carriage\"\nfeed = 0.1\n"
      "[controller]\nplugin = \"test.torques\"\n",
      kWeightless);
  run(model, {kTorque, 0.0}, 1);
  const double own = kMass * (kA * kA + 4.0 * kW * kW) / 12.0;
  const double inertia = 2.0 * own + kMass * kA * kA * (0.25 + 2.25) + kArmature;
  CHECK(probe.q_rate[0] == Approx(kTorque / inertia * kStep).epsilon(1e-6));
  CHECK(probe.moment[0] == Approx(kTorque));
  CHECK(probe.moment[1] == 0.0);
  run(model, {0.7, 0.0}, 1);
  CHECK(probe.moment[0] == Approx(0.2));  // the limit
}

TEST_CASE("computed moments: the tip comes to its target, as compliant as is asked for",
          "[plugin]") {
  const bool has_tendons = GENERATE(false, true);
  CAPTURE(has_tendons);
  const double gain = GENERATE(0.0, 3.0);
  CAPTURE(gain);
  load_tendril();
  const auto load = [&](const std::string& settings, const std::string& option) {
    return load_one_arm(
        arm("tendril.computed_moment",
            has_tendons ? small_sections() + tendons("tension") : small_sections(kMotors)) +
            "stiffness_gain = " + std::to_string(gain) + "\n" + settings,
        option);
  };
  const ModelPtr model = load("", "");
  const DataPtr data = make_data(model);
  step(model, data, 3000);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  {
    const AllocationCounter counter;
    step(model, data, 50);
    CHECK(counter.count() == 0);
  }
}

TEST_CASE("computed moments: bends are 1 + stiffness_gain times as stiff as the body's",
          "[plugin]") {
  register_probes();
  const bool has_tendons = GENERATE(false, true);
  CAPTURE(has_tendons);
  const double gain = GENERATE(0.0, 3.0);
  CAPTURE(gain);
  const std::string drive =
      has_tendons ? small_sections() + tendons("tension") : small_sections(kMotors);
  // A small force across the tip of the straight arm, which stays where its target is.
  const auto bend_under_force = [&](const std::string& toml) {
    const ModelPtr model = load_scene_text(
        one_arm_scene(R"(<body name="target" mocap="true" pos="0.12 0 0"/>)", kWeightless),
        {{"arm.toml", toml}});
    const DataPtr data = make_data(model);
    data->xfrc_applied[6 * mj_name2id(model.get(), mjOBJ_BODY, "A_s2_l4") + 1] = 0.005;
    step(model, data, 4000);
    const auto q = sensor(model, data, "A_measured");
    return std::array<double, 2>{q[1], q[3]};
  };
  probe = {};
  const auto body = bend_under_force(arm("test.moments", drive));
  const auto held = bend_under_force(arm("tendril.computed_moment", drive) +
                                     "integral_gain = 0\ndeflection_compensation = false\n"
                                     "stiffness_gain = " +
                                     std::to_string(gain) + "\n");
  for (std::size_t i = 0; i < body.size(); ++i) {
    CHECK(std::abs(body[i]) > 1e-5);
    CHECK(held[i] == Approx(body[i] / (1.0 + gain)).epsilon(0.005));
  }
}

TEST_CASE("commands: a controller is refused where the actuators cannot do what it commands",
          "[plugin]") {
  CHECK_THAT(refusal(arm("tendril.reach", small_sections(kMotors))),
             Contains("tendril.reach, instance 'A_controller': robot: section 1: bend_command = "
                      "\"moment\": must be \"angle\": tendril.reach commands set points"));
  CHECK_THAT(refusal(arm("tendril.computed_moment", small_sections())),
             Contains("robot: section 1: bend_command = \"angle\": must be \"moment\": "
                      "tendril.computed_moment commands moments"));
  CHECK_THAT(refusal(arm("tendril.computed_moment", small_sections() + tendons("length"))),
             Contains("robot: tendon t0: command = \"length\": must be \"tension\": "
                      "tendril.computed_moment commands moments"));
  CHECK_THAT(refusal(arm("test.tensions", small_sections(kMotors))),
             Contains("robot: has no tendons or chambers: test.tensions commands tensions"));
  CHECK_THAT(
      refusal(arm("tendril.computed_moment", small_sections(kMotors)) + "stiffness_gain = 30\n"),
      Contains("stiffness_gain = 30: must be below 9"));
  const std::string snake = "kind = \"snake\"\njoints = 4\nlink_length = 0.06\n";
  CHECK_THAT(
      refusal(snake + "joint_command = \"torque\"\n[controller]\nplugin = \"tendril.snake\"\n"),
      Contains("robot: joint_command = \"torque\": must be \"angle\": tendril.snake commands set "
               "points"));
  CHECK_THAT(refusal(snake + "[controller]\nplugin = \"test.torques\"\n"),
             Contains("robot: joint_command = \"angle\": must be \"torque\": test.torques commands "
                      "torques"));
}
