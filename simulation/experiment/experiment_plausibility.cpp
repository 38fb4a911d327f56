#include "simulation/experiment/experiment_plausibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "controllers/controller_kind.hpp"
#include "simulation/engine/angle_units.hpp"
#include "simulation/engine/engine.hpp"
#include "simulation/engine/quantities.hpp"
#include "simulation/experiment/implausible_numbers.hpp"
#include "simulation/scene/scene_checks.hpp"

namespace tendril::simulation {
namespace {

/// Names of the numbers of a kind of fault of measurements.
struct Strength {
  const char* key;
  const std::vector<double>& values;
  double time = 1.0;  ///< during which a rate acts [s]
};

std::optional<Strength> strength_of(const fault::OfMeasurement& seen, double time) {
  const auto& kind = seen.kind;
  if (const auto* const f = std::get_if<fault::Noise>(&kind)) return Strength{"sigma", f->sigma};
  if (const auto* const f = std::get_if<fault::Bias>(&kind)) return Strength{"value", f->value};
  if (const auto* const f = std::get_if<fault::Quantize>(&kind)) return Strength{"step", f->step};
  if (const auto* const f = std::get_if<fault::Drift>(&kind))
    return Strength{"rate", f->rate, std::min(1.0, time)};
  return std::nullopt;
}

/// Row of the table for what a channel measures; null: nothing that has a size.
const Believed* row_of_channel(FaultChannel channel) {
  constexpr std::pair<std::string_view, const char*> kRows[] = {{"q", "angle"},
                                                                {"feed", "length"},
                                                                {"base", "length"},
                                                                {"tip", "length"},
                                                                {"target", "length"},
                                                                {"tip_direction", "direction"},
                                                                {"force", "force"},
                                                                {"q_rate", "rate"},
                                                                {"base_velocity", "speed"},
                                                                {"moment", "moment"},
                                                                {"gravity_moment", "moment"},
                                                                {"torque", "moment"},
                                                                {"gravity_torque", "moment"},
                                                                {"tendon_length", "length"},
                                                                {"tendon_tension", "force"}};
  for (const auto& [name, row] : kRows)
    if (name == channel.name()) return &believed("channel", row);
  return nullptr;
}

class PlausibilityWarnings {
 public:
  explicit PlausibilityWarnings(const AppliedExperiment& applied) : applied_(applied) {
    for (const SceneRobot& robot : applied.scene.robots)
      scales_.push_back(scale_of(*applied.scene.model, robot));
    any_.duration = std::max(applied.duration, applied.experiment.duration);
    any_.robot = largest_scale(scales_);
    any_.is_fixed = any_.robot.is_fixed && !scales_.empty();
  }

  std::vector<std::string> lines() {
    for (const Motion& motion : applied_.motions) look_at(motion);
    for (const Fault& fault : applied_.faults) look_at(fault);
    for (const Check& check : applied_.experiment.checks) look_at(check);
    for (const Setting& setting : applied_.settings) look_at(setting);
    for (std::size_t i = 0; i < scales_.size(); ++i) look_at(applied_.scene.robots[i], scales_[i]);
    look_at_gravity();
    look_at_duration();
    return std::move(numbers_.lines);
  }

 private:
  void look_at(const Motion& motion) {
    const std::string& name = motion.actuator.empty() ? motion.body : motion.actuator;
    numbers_.where = fmt::format("{}: motion of {}", motion.origin, name);
    numbers_.sizes = any_;
    numbers_.sizes.is_fixed = false;
    const SceneRobot* const follower = follower_of(motion);
    if (follower != nullptr) {
      numbers_.sizes.robot =
          scales_[static_cast<std::size_t>(follower - applied_.scene.robots.data())];
      numbers_.sizes.is_fixed = numbers_.sizes.robot.is_fixed;
    }
    if (motion.kind == MotionKind::Waypoints) {
      waypoints(motion, follower);
      return;
    }
    const bool is_circle = motion.kind == MotionKind::Circle;
    const double start = is_circle ? motion.start_after : motion.start;
    numbers_.begins("motion", is_circle ? "start_after" : "start", start);
    if (motion.center) farthest("center", {&*motion.center, 1}, follower);
    if (is_circle) {
      numbers_.flag("motion", "radius", motion.radius);
      if (!numbers_.flag("motion", "speed", motion.speed))
        numbers_.flag("motion", "speed / radius", motion.speed / motion.radius);
      return;
    }
    numbers_.flag("motion", "amplitude", motion.amplitude);
    numbers_.flag("motion", "frequency", motion.frequency);
    numbers_.flag("motion", "phase", motion.phase);
  }

  void waypoints(const Motion& motion, const SceneRobot* follower) {
    const bool is_long = numbers_.flag(believed("motion", "times"), "times", motion.times);
    if (!is_long && motion.times.size() > 1)
      numbers_.begins("motion", "times", motion.times.front());
    farthest("points", motion.points, follower);
    look_at_angles(motion.angles_deg);
  }

  /// Flags the point that is farthest from the base of the robot that follows the body, otherwise
  /// from the middle of the world.
  void farthest(const char* key, std::span<const Eigen::Vector3d> points,
                const SceneRobot* follower) {
    Eigen::Vector3d base = Eigen::Vector3d::Zero();
    const mjModel& m = *applied_.scene.model;
    if (follower != nullptr && follower->base > 0 && numbers_.sizes.is_fixed)
      base = world_position(m, *follower);
    const Eigen::Vector3d* far = nullptr;
    for (const Eigen::Vector3d& point : points)
      if (far == nullptr || (point - base).norm() > (*far - base).norm()) far = &point;
    if (far == nullptr) return;
    numbers_.flag(believed("motion", key), key, {far->data(), 3}, (*far - base).norm());
  }

  /// Position of a base that is fixed to the world.
  static Eigen::Vector3d world_position(const mjModel& m, const SceneRobot& robot) {
    Eigen::Vector3d p = Eigen::Vector3d::Zero();
    for (int body = robot.base; body > 0; body = m.body_parentid[body]) {
      const mjtNum* const q = m.body_quat + 4 * body;
      p = Eigen::Quaterniond(q[0], q[1], q[2], q[3]) * p + Eigen::Vector3d(m.body_pos + 3 * body);
    }
    return p;
  }

  void look_at(const Fault& fault) {
    numbers_.where = fmt::format("{}: fault {}", fault.origin, fault.name);
    numbers_.sizes = any_;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      if (!fault.robot || *fault.robot != applied_.scene.robots[i].names.label()) continue;
      numbers_.sizes.robot = scales_[i];
      numbers_.sizes.is_fixed = scales_[i].is_fixed;
    }
    numbers_.begins("fault", "start", fault.start);
    if (const fault::OfMeasurement* const seen = fault.of_measurement()) {
      strength(*seen);
      std::visit([this](const auto& kind) { times_of(kind); }, seen->kind);
      return;
    }
    std::visit([this](const auto& kind) { numbers_of(kind); }, fault.kind);
  }

  void strength(const fault::OfMeasurement& seen) {
    const Believed* const row = row_of_channel(seen.channel);
    if (const auto found = strength_of(seen, any_.duration); found && row != nullptr)
      numbers_.flag(*row, found->key, found->values, largest(found->values) * found->time);
  }

  void times_of(const fault::Noise& noise) {
    numbers_.flag("fault", "correlation_time", noise.correlation_time);
  }
  void times_of(const fault::Scale& scale) {
    numbers_.flag(believed("fault", "factor"), "factor", scale.factor);
  }
  void times_of(const fault::Rate& rate) { numbers_.flag("fault", "period", rate.period); }
  void times_of(const fault::Dropout& dropout) {
    numbers_.flag("fault", "duration", dropout.duration);
  }
  void times_of(const fault::Delay& delay) { numbers_.flag("fault", "time", delay.time); }
  template <class Other>
  void times_of(const Other& /*kind*/) {}

  void numbers_of(const fault::ActuatorDelay& delay) { numbers_.flag("fault", "time", delay.time); }
  void numbers_of(const fault::Stiffness& stiffness) {
    numbers_.flag("fault", "factor", stiffness.factor);
  }
  void numbers_of(const fault::Friction& friction) {
    numbers_.flag("fault", "factor", friction.factor);
  }
  void numbers_of(const fault::Payload& payload) {
    const mjModel& m = *applied_.scene.model;
    for (int i = 1; i < m.nbody; ++i) {  // a body of the scene may be heavier than its robots
      if (matches(payload.body, object_name(m, mjOBJ_BODY, i)))
        numbers_.sizes.robot.mass = std::max(numbers_.sizes.robot.mass, m.body_mass[i]);
    }
    numbers_.flag("fault", "mass", payload.mass);
  }
  void numbers_of(const fault::Gravity& gravity) { flag_gravity("value", gravity.value.data()); }
  void numbers_of(const fault::Kick& kick) {
    numbers_.flag("fault", "duration", kick.duration);
    numbers_.flag("fault", "force", kick.force);
    numbers_.flag("fault", "torque", kick.torque);
  }
  template <class Other>
  void numbers_of(const Other& /*kind*/) {}

  void look_at(const Check& check) {
    numbers_.where = fmt::format("{}: check {}", check.origin, check.name);
    numbers_.sizes = any_;
    const bool settles = check.metric.statistic == Statistic::SettleTime;
    if (settles) numbers_.flag("check", "threshold", check.threshold);
    if (std::isfinite(check.window.before)) numbers_.flag("check", "before", check.window.before);
    const Believed* const row = settles ? &believed("check", "settle_time") : row_of(check.metric);
    if (row == nullptr) return;
    if (check.max && numbers_.flag(*row, "max", {&*check.max, 1})) return;
    if (check.min) numbers_.flag(*row, "min", {&*check.min, 1});
  }

  /// Row of the unit of a metric; null: none is checked.
  const Believed* row_of(const Metric& metric) const {
    if (metric.signal == "angle_error") return &believed("check", "angle_error");
    std::string unit;
    const SignalInfo* const signal = find_signal(metric.signal);
    if (signal != nullptr && signal->of != MetricOf::Sensor) unit = signal->unit;
    const auto declared = declared_quantities();
    for (const ReportedQuantity& quantity : declared)
      if (signal == nullptr && quantity.name == metric.signal) unit = quantity.unit;
    if (signal != nullptr && signal->of == MetricOf::Sensor) {
      const mjModel& m = *applied_.scene.model;
      const int sensor = mj_name2id(&m, mjOBJ_SENSOR, metric.object.c_str());
      if (const auto shown = sensor < 0 ? std::nullopt : quantity_of(m, sensor, declared))
        unit = shown->unit;
    }
    if (unit == "m") return &believed("check", "m");
    if (unit == "rad") return &believed("check", "rad");
    return nullptr;
  }

  void look_at(const Setting& setting) {
    numbers_.where = fmt::format("{}: {}", setting.origin, setting.key);
    numbers_.sizes = any_;
    const auto numbers = setting.value.numbers();
    if (!numbers || numbers->size() != 3) return;
    if (setting.key == "option.gravity") gravity_origin_ = setting.origin;
    if (!setting.key.ends_with(".offset")) return;
    const Eigen::Vector3d shift(numbers->data());
    numbers_.flag(believed("setting", "offset"), "offset", *numbers, shift.norm());
  }

  /// Settings of the robot's controller that its file gives.
  void look_at(const SceneRobot& robot, const RobotScale& scale) {
    numbers_.sizes = any_;
    numbers_.sizes.robot = scale;
    const mjModel& m = *applied_.scene.model;
    for (const ControllerKind& kind : built_in_controllers()) {
      if (kind.name != robot.controller) continue;
      numbers_.where = fmt::format("{}: controller {} of {}", applied_.experiment.scene.string(),
                                   kind.name, robot.names.title());
      for (const SettingInfo& row : kind.settings)
        look_at(row, kind.settings, robot.config(m, row.name));
    }
  }

  void look_at(const SettingInfo& info, std::span<const SettingInfo> rows,
               const std::string& text) {
    if (text.empty()) return;
    Settings settings(rows, {{info.name, text}});
    std::vector<double> values;
    if (info.type == SettingInfo::Type::Number) values = {settings.number(info.name)};
    if (info.type == SettingInfo::Type::Numbers) values = settings.numbers(info.name);
    // Lists are places in the world, wherever the robot is.
    numbers_.sizes.is_fixed =
        numbers_.sizes.robot.is_fixed && info.type == SettingInfo::Type::Number;
    const std::string_view unit = info.unit;
    if (unit == "m" || unit == "rad" || unit == "N")
      numbers_.flag(believed("controller", unit), info.name, values);
    if (unit == "s") late_setting(info, values);
  }

  /// A time of a controller that is a hundred times what is usual, and longer than the run.
  void late_setting(const SettingInfo& info, std::span<const double> values) {
    constexpr double kUsual = 100.0;
    const double usual = std::strtod(info.default_value, nullptr), most = largest(values);
    if (!(usual > 0.0) || most <= kUsual * usual || most <= any_.duration) return;
    numbers_.say("implausible-size",
                 fmt::format("{} = {} s, {:.3g} times the default: is the unit s, not ms?",
                             info.name, text_of(values), most / usual));
  }

  void look_at_gravity() {
    const std::string& origin =
        gravity_origin_.empty() ? applied_.experiment.scene.string() : gravity_origin_;
    numbers_.where = origin + ": option";
    if ((applied_.scene.model->opt.disableflags & mjDSBL_GRAVITY) == 0)
      flag_gravity("gravity", applied_.scene.model->opt.gravity);
  }

  /// Flags gravity above that of centrifuges, and that of Earth in other units.
  void flag_gravity(const char* key, const double* value) {
    constexpr double kMaxGravity = 20.0;  // times that of Earth
    constexpr double kFoot = 0.3048;      // m
    constexpr double kRounding = 0.01;    // relative
    const double size = mju_norm3(value), feet = kStandardGravity / kFoot;
    const bool is_feet = std::abs(size / feet - 1.0) < kRounding;
    if (size <= kMaxGravity * kStandardGravity && !is_feet) return;
    numbers_.say(
        "implausible-gravity",
        fmt::format("{} = {} m/s^2, {:.3g} times that of Earth: is the unit m/s^2, not {}?", key,
                    text_of({value, 3}), size / kStandardGravity,
                    is_feet         ? "ft/s^2"
                    : size > 5000.0 ? "mm/s^2"
                                    : "cm/s^2"));
  }

  /// A run of more than a quarter of an hour in which nothing happens for nearly all of the time.
  void look_at_duration() {
    constexpr double kLong = 1000.0, kEventful = 0.02;
    const Experiment& experiment = applied_.experiment;
    if (experiment.duration < kLong || experiment.text.empty() || applied_.motions.empty()) return;
    double last = 0.0;
    for (const Motion& motion : applied_.motions) {
      if (motion.kind != MotionKind::Waypoints) return;  // continues
      last = std::max(last, motion.times.back());
    }
    for (const Fault& fault : applied_.faults) last = std::max(last, fault.start);
    for (const Check& check : experiment.checks) last = std::max(last, check.window.after);
    if (last > kEventful * experiment.duration) return;
    numbers_.where = experiment.file.string();
    numbers_.say(
        "implausible-size",
        fmt::format("duration = {:.6g} s: the last motion ends at {:.6g} s: is the unit s, not ms?",
                    experiment.duration, last));
  }

  const SceneRobot* follower_of(const Motion& motion) const {
    for (const SceneRobot& robot : applied_.scene.robots)
      if (!motion.body.empty() && robot.target == motion.body) return &robot;
    return nullptr;
  }

  /// Angles of a motion that were probably meant in rad.
  void look_at_angles(std::span<const Eigen::Vector3d> angles) {
    const auto first = std::find_if(angles.begin(), angles.end(),
                                    [](const Eigen::Vector3d& row) { return !row.isZero(0.0); });
    if (first == angles.end() || !look_like_radians({angles[0].data(), 3 * angles.size()})) return;
    numbers_.say("implausible-angle",
                 fmt::format("angles_deg = {}, parts of pi: is the unit degrees, not rad?",
                             text_of({first->data(), 3})));
  }

  const AppliedExperiment& applied_;
  std::vector<RobotScale> scales_;  // of the scene's robots
  Sizes any_;                       // of the largest of them
  std::string gravity_origin_;      // of the last setting; empty: the scene
  ImplausibleNumbers numbers_;
};

}  // namespace

std::vector<std::string> experiment_plausibility(const AppliedExperiment& applied) {
  return PlausibilityWarnings(applied).lines();
}

}  // namespace tendril::simulation
