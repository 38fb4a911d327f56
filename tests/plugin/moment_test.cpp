// Controllers that command moments, tensions and torques: what the body does with them, what is
// measured of it, and what is refused.

#include <Eigen/Core>
#include <algorithm>
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

/// Commands of the controllers below, and their last measurement.
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

/// The same, turning about the backbone by 1 rad.
std::string turning_tendons() {
  std::string text;
  for (int t = 0; t < 6; ++t) {
    const double angle = 2.0943951 * t + (t < 3 ? 0.0 : 0.5);
    text += "[[tendon]]\nname = \"t" + std::to_string(t) +
            "\"\nsection = " + std::to_string(1 + t / 3) + "\nangle = [" + std::to_string(angle) +
            ", " + std::to_string(angle + 1.0) +
            "]\ndistance = 0.006\nmax_tension = 300\ncommand = \"tension\"\n";
  }
  return text;
}

/// Three in each of two sections.
std::string chambers(const std::string& more = "") {
  std::string text;
  for (int t = 0; t < 6; ++t) {
    text += "[[chamber]]\nname = \"t" + std::to_string(t) +
            "\"\nsection = " + std::to_string(1 + t / 3) +
            "\nangle = " + std::to_string(2.0943951 * t + (t < 3 ? 0.0 : 0.5)) +
            "\ndistance = 0.005\nradius = 0.0025\nmax_pressure = 2e7\n" + more;
  }
  return text;
}

/// Generalized forces of tendons and chambers on u and v (and s) of both sections: virtual work of
/// the actuators' forces, by differences of the lengths that the engine has of them. A coordinate
/// moves its joints by what equal moments along the section would.
VectorXd virtual_work(const ModelPtr& model, const DataPtr& data, const mjtNum* qpos,
                      const std::string& axes = "yx") {
  constexpr double kChange = 1e-5;  // [rad], [m]
  constexpr int kLinks = 4;
  const DataPtr other = make_data(model);
  const auto lengths = [&](int section, char axis, double change) {
    std::copy_n(qpos, model->nq, other->qpos);
    std::array<int, kLinks> joints{};
    double compliance = 0.0;
    for (int j = 0; j < kLinks; ++j) {
      const std::string joint =
          "A_s" + std::to_string(section) + "_l" + std::to_string(j + 1) + "_" + axis;
      const int id = mj_name2id(model.get(), mjOBJ_JOINT, joint.c_str());
      REQUIRE(id >= 0);
      joints[static_cast<std::size_t>(j)] = id;
      compliance += 1.0 / model->jnt_stiffness[id];
    }
    for (const int id : joints)
      other->qpos[model->jnt_qposadr[id]] += change / (model->jnt_stiffness[id] * compliance);
    mj_kinematics(model.get(), other.get());
    mj_comPos(model.get(), other.get());
    mj_tendon(model.get(), other.get());
    return VectorXd(Eigen::Map<VectorXd>(other->ten_length, model->ntendon));
  };
  VectorXd forces = VectorXd::Zero(2 * static_cast<Eigen::Index>(axes.size()));
  for (Eigen::Index k = 0; k < forces.size(); ++k) {
    const int section = 1 + static_cast<int>(k) / static_cast<int>(axes.size());
    const char axis = axes[static_cast<std::size_t>(k) % axes.size()];
    const double sign = axis == 'x' ? -1.0 : 1.0;  // v bends about -x
    const VectorXd change =
        (lengths(section, axis, sign * kChange) - lengths(section, axis, -sign * kChange)) /
        (2.0 * kChange);
    for (int a = 0; a < model->nu; ++a) {
      REQUIRE(model->actuator_trntype[a] == mjTRN_TENDON);
      forces[k] += model->actuator_gear[6 * a] * data->actuator_force[a] *
                   change[model->actuator_trnid[2 * a]];
    }
  }
  return forces;
}

/// Runs `steps` with these commands, and one more to measure what they did.
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

TEST_CASE("moments: a section that bends in one plane has no bend and no moment across it",
          "[plugin]") {
  register_probes();
  const std::string plane = GENERATE("xz", "yz");
  const ModelPtr model = load_one_arm(
      arm("test.moments", small_sections(kMotors + "bend_plane = \"" + plane + "\"\n")),
      kWeightless);
  const std::vector<double> moments{0.4, -0.2, 0.1, 0.3};
  run(model, moments);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    const double moment = (k % 2 == 0) == (plane == "xz") ? moments[k] : 0.0;
    CHECK(probe.q[i] == Approx(moment * kLength / kStiffness).epsilon(1e-6));
    CHECK(probe.moment[i] == Approx(moment));
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

TEST_CASE("moments: tendons that turn and chambers make them, by virtual work in the engine",
          "[plugin]") {
  register_probes();
  struct Case {
    const char* what;
    std::string drive;
    double error;  // of the map of the straight arm on a bent one, of the largest moment
  };
  const auto c = GENERATE(values<Case>({{"tendons", tendons("tension"), 1e-5},
                                        {"turning", turning_tendons(), 0.03},
                                        {"chambers", chambers(), 1e-5}}));
  CAPTURE(c.what);
  const double share = GENERATE(0.1, 1.0);
  CAPTURE(share);
  const ModelPtr model = load_one_arm(arm("test.moments", small_sections() + c.drive), kWeightless);
  const std::vector<double> moments{0.1 * share, -0.05 * share, 0.04 * share, 0.06 * share};
  // While the arm is straight, what is commanded; at rest, what the body holds against.
  const DataPtr at_first = run(model, moments, 1);
  VectorXd made = virtual_work(model, at_first, model->qpos0);
  for (std::size_t k = 0; k < moments.size(); ++k)
    CHECK(made[static_cast<Eigen::Index>(k)] == Approx(moments[k]).margin(1e-6));
  const DataPtr at_rest = run(model, moments);
  made = virtual_work(model, at_rest, at_rest->qpos);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    CHECK(kStiffness / kLength * probe.q[i] == Approx(made[i]).margin(1e-5));
    CHECK(probe.moment[i] == Approx(moments[k]).margin(1e-6));
    CHECK(made[i] == Approx(moments[k]).margin(c.error * 0.1 * share));
  }
}

TEST_CASE("moments: chambers of a section without length servo make its moments and its force",
          "[plugin]") {
  register_probes();
  const std::string section =
      "[[section]]\nconstant_length = 0.05\nvariable_length = 0.02\nbend_limit = 1.745\nlinks = 4\n"
      "radius = 0.008\nmass = 0.03\nbending_stiffness = 0.05\n";
  const ModelPtr model =
      load_one_arm(arm("test.moments", section + section + chambers()), kWeightless);
  const std::vector<double> commanded{0.05, -0.02, 60.0, 0.03, 0.04, 40.0};
  const DataPtr data = run(model, commanded);
  const VectorXd made = virtual_work(model, data, data->qpos, "yxz");
  REQUIRE(probe.moment.size() == 6);
  for (std::size_t k = 0; k < commanded.size(); ++k) {
    CHECK(made[static_cast<Eigen::Index>(k)] == Approx(commanded[k]).epsilon(1e-5).margin(1e-6));
    CHECK(probe.moment[static_cast<Eigen::Index>(k)] == Approx(commanded[k]).epsilon(1e-5));
  }
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
  struct Shown : ArmProbe<CommandKind::Setpoints> {
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
  const auto [what, drive] = GENERATE(table<const char*, std::string>(
      {{"motors", small_sections(kMotors)},
       {"tendons", small_sections() + tendons("tension")},
       {"turning tendons", small_sections() + turning_tendons()},
       {"chambers", small_sections() + chambers()},
       {"slow chambers", small_sections() + chambers("time_constant = 0.02\n")}}));
  CAPTURE(what);
  const double gain = GENERATE(0.0, 3.0);
  CAPTURE(gain);
  load_tendril();
  const std::string body = drive;
  const auto load = [&](const std::string& settings, const std::string& option) {
    return load_one_arm(arm("tendril.computed_moment", body) +
                            "stiffness_gain = " + std::to_string(gain) + "\n" + settings,
                        option);
  };
  const ModelPtr model = load("", "");
  const DataPtr data = make_data(model);
  step(model, data, 3000);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
  // Without feedback of the bends those of turning tendons are off by more than
  // following_tolerance, with the tip at its target.
  const bool follows = gain > 0.0 || std::string(what) != "turning tendons";
  CHECK((sensor(model, data, "A_following_error")[0] < 0.05) == follows);
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
  // A small force across the tip of the straight arm, which remains where its target is.
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

TEST_CASE("measurement faults: the controller sees the bias of a channel, and all else as it is",
          "[plugin][faults]") {
  register_probes();
  struct Channel {
    const char* name;
    VectorXd Probe::*numbers;
    bool of_snake;
  };
  const std::vector<Channel> channels{{"q", &Probe::q, false},
                                      {"q_rate", &Probe::q_rate, false},
                                      {"moment", &Probe::moment, false},
                                      {"gravity_moment", &Probe::gravity_moment, false},
                                      {"tendon_length", &Probe::length, false},
                                      {"tendon_tension", &Probe::tension, false},
                                      {"q", &Probe::q, true},
                                      {"q_rate", &Probe::q_rate, true},
                                      {"torque", &Probe::moment, true},
                                      {"gravity_torque", &Probe::gravity_moment, true}};
  const auto measured = [](const Channel& channel, const std::string& settings) {
    const std::string toml =
        channel.of_snake ? "kind = \"snake\"\njoints = 4\nlink_length = 0.06\n"
                           "joint_command = \"torque\"\n[controller]\nplugin = \"test.torques\"\n"
                         : arm("test.tensions", small_sections() + tendons("tension"));
    const ModelPtr model = load_one_arm(toml + settings);
    run(model, {0.01, 0.02, 0.03, 0.02, 0.01, 0.02}, 37);  // still moving
    return probe;
  };
  for (const Channel& channel : channels) {
    CAPTURE(channel.name, channel.of_snake);
    const Probe truth = measured(channel, "");
    const Probe seen = measured(
        channel, std::string("measurement_faults = \"\"\"{seed = 1, fault = [{name = \"f\", kind = "
                             "\"bias\", channel = \"") +
                     channel.name + "\", value = 0.125, start = 0.05}]}\"\"\"\n");
    REQUIRE((truth.*channel.numbers).size() >= 4);
    CHECK((truth.*channel.numbers).norm() > 1e-9);
    for (VectorXd Probe::*numbers : {&Probe::q, &Probe::q_rate, &Probe::moment,
                                     &Probe::gravity_moment, &Probe::length, &Probe::tension}) {
      const double bias = numbers == channel.numbers ? 0.125 : 0.0;
      CHECK((seen.*numbers).array().isApprox((truth.*numbers).array() + bias, 0.0));
    }
  }
}

TEST_CASE("measurement faults: what a controller does not use has no effect", "[plugin][faults]") {
  const auto positions = [](const std::string& channel) {
    const ModelPtr model = load_one_arm(
        arm("tendril.reach", small_sections() + tendons("tension")) +
        (channel.empty() ? ""
                         : "measurement_faults = \"\"\"{seed = 1, fault = [{name = \"f\", kind = "
                           "\"noise\", channel = \"" +
                               channel + "\", sigma = 0.5}]}\"\"\"\n"));
    const DataPtr data = make_data(model);
    step(model, data, 300);
    return std::vector<double>(data->qpos, data->qpos + model->nq);
  };
  const auto truth = positions("");
  for (const char* channel : {"moment", "gravity_moment", "tendon_length", "tendon_tension"}) {
    CAPTURE(channel);
    CHECK(positions(channel) == truth);
  }
  CHECK(positions("tip") != truth);
}

TEST_CASE("computed moments: what is measured wrongly bends the arm as the law says",
          "[plugin][faults]") {
  // At rest without gravity K q = (1 + gain) K q_c - gain K (q + bias of q)
  //                              - damping_gain D (bias of q_rate) - bias of gravity_moment.
  constexpr double kGain = 3.0, kDampingGain = 0.5, kDamping = 0.02;  // damping_time [s]
  constexpr double kK = kStiffness / kLength;
  struct Case {
    const char* channel;
    double bias, bend;
  };
  const auto c =
      GENERATE(values<Case>({{"gravity_moment", 0.02, -0.02 / ((1.0 + kGain) * kK)},
                             {"q", 0.05, -kGain * 0.05 / (1.0 + kGain)},
                             {"q_rate", 0.5, -kDampingGain * kDamping * 0.5 / (1.0 + kGain)},
                             {"moment", 0.5, 0.0}}));
  CAPTURE(c.channel);
  const bool has_tendons = GENERATE(false, true);
  CAPTURE(has_tendons);
  load_tendril();
  const ModelPtr model = load_scene_text(
      one_arm_scene(R"(<body name="target" mocap="true" pos="0.12 0 0"/>)", kWeightless),
      {{"arm.toml",
        arm("tendril.computed_moment",
            has_tendons ? small_sections() + tendons("tension") : small_sections(kMotors)) +
            "integral_gain = 0\ndeflection_compensation = false\nstiffness_gain = 3\n"
            "measurement_faults = \"\"\"{seed = 1, fault = [{name = \"f\", kind = \"bias\", "
            "channel = \"" +
            c.channel + "\", value = [0, " + std::to_string(c.bias) + ", 0, 0]}]}\"\"\"\n"}});
  const DataPtr data = make_data(model);
  step(model, data, 4000);
  const auto q = sensor(model, data, "A_measured");  // what the controller saw
  const double seen = std::string(c.channel) == "q" ? c.bias : 0.0;
  CHECK(q[1] - seen == Approx(c.bend).epsilon(0.01).margin(1e-6));
  for (const std::size_t other : {0U, 2U, 3U}) CHECK(std::abs(q[other]) < 1e-4);
}

TEST_CASE("commands: a controller is refused where the actuators cannot do what it commands",
          "[plugin]") {
  CHECK_THAT(refusal(arm("tendril.reach", small_sections(kMotors))),
             Contains("tendril.reach, instance 'A_controller': robot: section 1: bend_command = "
                      "\"moment\": must be \"angle\": tendril.reach commands setpoints"));
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
      Contains("robot: joint_command = \"torque\": must be \"angle\": tendril.snake commands "
               "setpoints"));
  CHECK_THAT(refusal(snake + "[controller]\nplugin = \"test.torques\"\n"),
             Contains("robot: joint_command = \"angle\": must be \"torque\": test.torques commands "
                      "torques"));
}
