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
#include "simulation/scene/robot_scale.hpp"
#include "simulation/scene/scene_checks.hpp"

namespace tendril::simulation {
namespace {

/// What a number is compared with.
enum class Scale {
  One,       ///< nothing of the scene
  Duration,  ///< of the run
  Length,    ///< of the robot
  Speed,     ///< one length of the robot in a second
  Mass,      ///< of the robot
  Weight,    ///< of the robot, on Earth
  Moment,    ///< that weight at the robot's length
  Angle,     ///< the largest of the robot's sections or joints
  Rate       ///< that angle in a second
};

/// A number of an experiment, and the range in which it is believed.
struct Believed {
  const char* object;  ///< table or part of the experiment
  const char* key;
  const char* unit;
  Scale scale;
  double most;       ///< times the scale, of robots that stay where they are
  double most_away;  ///< of robots that travel, or of bodies that no robot follows
  const char* instead;
};

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kRoom = 200.0;    // lengths of a robot through which it may travel
constexpr double kLonger = 20.0;   // times the run: longer than any run that would be extended
constexpr double kFastest = 20.0;  // lengths in a second, more than a whip's tip
constexpr double kHardest = 500.0;

constexpr Believed kTable[] = {
    // object    key               unit       scale            most      away      instead
    {"motion", "times", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"motion", "begins", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"motion", "points", "m", Scale::Length, 5.0, kRoom, "mm"},
    {"motion", "center", "m", Scale::Length, 5.0, kRoom, "mm"},
    {"motion", "amplitude", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"motion", "radius", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"motion", "speed", "m/s", Scale::Speed, kFastest, kFastest, "mm/s"},
    {"motion", "speed / radius", "rad/s", Scale::One, kFastest* kTurn, kFastest* kTurn, "deg/s"},
    {"motion", "frequency", "Hz", Scale::One, 50.0, 50.0, "1/min"},
    {"motion", "phase", "rad", Scale::One, 2.0 * kTurn, 2.0 * kTurn, "degrees"},
    {"fault", "begins", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "duration", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"fault", "correlation_time", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"fault", "period", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "time", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "factor", "", Scale::One, 20.0, 20.0, "percent"},
    {"fault", "mass", "kg", Scale::Mass, 10.0, 10.0, "g"},
    {"fault", "force", "N", Scale::Weight, kHardest, kHardest, "mN"},
    {"fault", "torque", "N m", Scale::Moment, kHardest, kHardest, "N mm"},
    {"channel", "length", "m", Scale::Length, 0.5, 2.0, "mm"},
    {"channel", "speed", "m/s", Scale::Speed, kFastest, kFastest, "mm/s"},
    {"channel", "angle", "rad", Scale::Angle, 0.5, 0.5, "degrees"},
    {"channel", "rate", "rad/s", Scale::Rate, kFastest, kFastest, "deg/s"},
    {"channel", "force", "N", Scale::Weight, 2.0 * kHardest, 2.0 * kHardest, "mN"},
    {"channel", "moment", "N m", Scale::Moment, 2.0 * kHardest, 2.0 * kHardest, "N mm"},
    {"channel", "direction", "", Scale::One, 2.0, 2.0, "degrees"},
    {"check", "m", "m", Scale::Length, 2.0, 50.0, "mm"},
    {"check", "rad", "rad", Scale::One, 8.0 * kTurn, 8.0 * kTurn, "degrees"},
    {"check", "angle_error", "rad", Scale::One, 0.5 * std::numbers::pi, 0.5 * std::numbers::pi,
     "degrees"},
    {"check", "settle_time", "s", Scale::Duration, 10.0, 10.0, "ms"},
    {"check", "threshold", "m", Scale::Length, 0.5, 5.0, "mm"},
    {"check", "before", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"setting", "offset", "m", Scale::Length, kRoom, kRoom, "mm"},
    {"controller", "m", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"controller", "rad", "rad", Scale::One, 2.0 * kTurn, 2.0 * kTurn, "degrees"},
    {"controller", "N", "N", Scale::Weight, 2.0 * kHardest, 2.0 * kHardest, "mN"},
};

const Believed& believed(std::string_view object, std::string_view key) {
  return *std::find_if(std::begin(kTable), std::end(kTable),
                       [&](const Believed& row) { return row.object == object && row.key == key; });
}

/// Sizes with which the numbers of one table are compared.
struct Sizes {
  RobotScale robot;
  double duration = 0.0;
  bool stays = false;  ///< what the number is of, with the robot

  /// Returns the size and how it is called; 0: it is not known.
  [[nodiscard]] std::pair<double, std::string> of(Scale scale) const {
    const double moment = robot.weight() * robot.length;
    const auto named = [](double size, const char* what, const char* unit) {
      return std::pair(size, fmt::format("{} ({:.3g} {})", what, size, unit));
    };
    switch (scale) {
      case Scale::One:
        return {1.0, ""};
      case Scale::Duration:
        return named(duration, "the duration of the run", "s");
      case Scale::Length:
        return named(robot.length, "the robot's length", "m");
      case Scale::Speed:
        return named(robot.length, "the robot's length in a second", "m");
      case Scale::Mass:
        return named(robot.mass, "the robot's mass", "kg");
      case Scale::Weight:
        return named(robot.weight(), "the robot's weight", "N");
      case Scale::Moment:
        return named(moment, "the robot's weight at its length", "N m");
      case Scale::Angle:
        return named(robot.range, "the robot's largest angle", "rad");
      case Scale::Rate:
        return named(robot.range, "the robot's largest angle in a second", "rad");
    }
    return {};
  }
};

double largest(std::span<const double> values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

std::string text_of(std::span<const double> values) {
  constexpr std::size_t kShown = 6;
  if (values.size() == 1) return fmt::format("{:.6g}", values.front());
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", values[i]);
  return fmt::format("[{}{}]", text, values.size() > kShown ? ", ..." : "");
}

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

class Doubts {
 public:
  explicit Doubts(const AppliedExperiment& applied) : applied_(applied) {
    for (const SceneRobot& robot : applied.scene.robots)
      scales_.push_back(scale_of(*applied.scene.model, robot));
    any_.duration = std::max(applied.duration, applied.experiment.duration);
    any_.robot = largest_scale(scales_);
    any_.stays = any_.robot.stays && !scales_.empty();
  }

  std::vector<std::string> lines() {
    for (const Motion& motion : applied_.motions) look_at(motion);
    for (const Fault& fault : applied_.faults) look_at(fault);
    for (const Check& check : applied_.experiment.checks) look_at(check);
    for (const Setting& setting : applied_.settings) look_at(setting);
    for (std::size_t i = 0; i < scales_.size(); ++i) look_at(applied_.scene.robots[i], scales_[i]);
    look_at_gravity();
    look_at_duration();
    return std::move(lines_);
  }

 private:
  void look_at(const Motion& motion) {
    const std::string& name = motion.actuator.empty() ? motion.body : motion.actuator;
    where_ = fmt::format("{}: motion of {}", motion.origin, name);
    sizes_ = any_;
    sizes_.stays = false;
    const SceneRobot* const follower = follower_of(motion);
    if (follower != nullptr) {
      sizes_.robot = scales_[static_cast<std::size_t>(follower - applied_.scene.robots.data())];
      sizes_.stays = sizes_.robot.stays;
    }
    if (motion.kind == MotionKind::Waypoints) {
      waypoints(motion, follower);
      return;
    }
    const bool is_circle = motion.kind == MotionKind::Circle;
    const double start = is_circle ? motion.start_after : motion.start;
    begins("motion", is_circle ? "start_after" : "start", start);
    if (motion.center) farthest("center", {&*motion.center, 1}, follower);
    if (is_circle) {
      doubt("motion", "radius", motion.radius);
      if (!doubt("motion", "speed", motion.speed))
        doubt("motion", "speed / radius", motion.speed / motion.radius);
      return;
    }
    doubt("motion", "amplitude", motion.amplitude);
    doubt("motion", "frequency", motion.frequency);
    doubt("motion", "phase", motion.phase);
  }

  void waypoints(const Motion& motion, const SceneRobot* follower) {
    const bool is_long = doubt(believed("motion", "times"), "times", motion.times);
    if (!is_long && motion.times.size() > 1) begins("motion", "times", motion.times.front());
    farthest("points", motion.points, follower);
    look_at_angles(motion.angles_deg);
  }

  /// Doubts the point that is farthest from the base of the robot that follows the body, otherwise
  /// from the middle of the world.
  void farthest(const char* key, std::span<const Eigen::Vector3d> points,
                const SceneRobot* follower) {
    Eigen::Vector3d base = Eigen::Vector3d::Zero();
    const mjModel& m = *applied_.scene.model;
    if (follower != nullptr && follower->base > 0 && sizes_.stays)
      base = world_position(m, *follower);
    const Eigen::Vector3d* far = nullptr;
    for (const Eigen::Vector3d& point : points)
      if (far == nullptr || (point - base).norm() > (*far - base).norm()) far = &point;
    if (far == nullptr) return;
    doubt(believed("motion", key), key, {far->data(), 3}, (*far - base).norm());
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
    where_ = fmt::format("{}: fault {}", fault.origin, fault.name);
    sizes_ = any_;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      if (!fault.robot || *fault.robot != applied_.scene.robots[i].names.label()) continue;
      sizes_.robot = scales_[i];
      sizes_.stays = scales_[i].stays;
    }
    begins("fault", "start", fault.start);
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
      doubt(*row, found->key, found->values, largest(found->values) * found->time);
  }

  void times_of(const fault::Noise& noise) {
    doubt("fault", "correlation_time", noise.correlation_time);
  }
  void times_of(const fault::Scale& scale) {
    doubt(believed("fault", "factor"), "factor", scale.factor);
  }
  void times_of(const fault::Rate& rate) { doubt("fault", "period", rate.period); }
  void times_of(const fault::Dropout& dropout) { doubt("fault", "duration", dropout.duration); }
  void times_of(const fault::Delay& delay) { doubt("fault", "time", delay.time); }
  template <class Other>
  void times_of(const Other& /*kind*/) {}

  void numbers_of(const fault::ActuatorDelay& delay) { doubt("fault", "time", delay.time); }
  void numbers_of(const fault::Stiffness& stiffness) { doubt("fault", "factor", stiffness.factor); }
  void numbers_of(const fault::Friction& friction) { doubt("fault", "factor", friction.factor); }
  void numbers_of(const fault::Payload& payload) {
    const mjModel& m = *applied_.scene.model;
    for (int i = 1; i < m.nbody; ++i) {  // a body of the scene may be heavier than its robots
      if (matches(payload.body, object_name(m, mjOBJ_BODY, i)))
        sizes_.robot.mass = std::max(sizes_.robot.mass, m.body_mass[i]);
    }
    doubt("fault", "mass", payload.mass);
  }
  void numbers_of(const fault::Gravity& gravity) { doubt_gravity("value", gravity.value.data()); }
  void numbers_of(const fault::Kick& kick) {
    doubt("fault", "duration", kick.duration);
    doubt("fault", "force", kick.force);
    doubt("fault", "torque", kick.torque);
  }
  template <class Other>
  void numbers_of(const Other& /*kind*/) {}

  void look_at(const Check& check) {
    where_ = fmt::format("{}: check {}", check.origin, check.name);
    sizes_ = any_;
    const bool settles = check.metric.statistic == Statistic::SettleTime;
    if (settles) doubt("check", "threshold", check.threshold);
    if (std::isfinite(check.window.before)) doubt("check", "before", check.window.before);
    const Believed* const row = settles ? &believed("check", "settle_time") : row_of(check.metric);
    if (row == nullptr) return;
    if (check.max && doubt(*row, "max", {&*check.max, 1})) return;
    if (check.min) doubt(*row, "min", {&*check.min, 1});
  }

  /// Row of the unit of a metric; null: none is doubted.
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
    where_ = fmt::format("{}: {}", setting.origin, setting.key);
    sizes_ = any_;
    const auto numbers = setting.value.numbers();
    if (!numbers || numbers->size() != 3) return;
    if (setting.key == "option.gravity") gravity_origin_ = setting.origin;
    if (!setting.key.ends_with(".offset")) return;
    const Eigen::Vector3d shift(numbers->data());
    doubt(believed("setting", "offset"), "offset", *numbers, shift.norm());
  }

  /// Settings of the robot's controller that its file gives.
  void look_at(const SceneRobot& robot, const RobotScale& scale) {
    sizes_ = any_;
    sizes_.robot = scale;
    const mjModel& m = *applied_.scene.model;
    for (const ControllerKind& kind : built_in_controllers()) {
      if (kind.name != robot.controller) continue;
      where_ = fmt::format("{}: controller {} of {}", applied_.experiment.scene.string(), kind.name,
                           robot.names.title());
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
    // Lists are places in the world, wherever the robot stands.
    sizes_.stays = sizes_.robot.stays && info.type == SettingInfo::Type::Number;
    const std::string_view unit = info.unit;
    if (unit == "m" || unit == "rad" || unit == "N")
      doubt(believed("controller", unit), info.name, values);
    if (unit == "s") late_setting(info, values);
  }

  /// A time of a controller that is a hundred times what is usual, and longer than the run.
  void late_setting(const SettingInfo& info, std::span<const double> values) {
    constexpr double kUsual = 100.0;
    const double usual = std::strtod(info.default_value, nullptr), most = largest(values);
    if (!(usual > 0.0) || most <= kUsual * usual || most <= any_.duration) return;
    say(fmt::format("{} = {} s, {:.3g} times the default: is the unit s, not ms?", info.name,
                    text_of(values), most / usual));
  }

  void look_at_gravity() {
    const std::string& origin =
        gravity_origin_.empty() ? applied_.experiment.scene.string() : gravity_origin_;
    where_ = origin + ": option";
    if ((applied_.scene.model->opt.disableflags & mjDSBL_GRAVITY) == 0)
      doubt_gravity("gravity", applied_.scene.model->opt.gravity);
  }

  /// Doubts gravity beyond that of centrifuges, and that of Earth in other units.
  void doubt_gravity(const char* key, const double* value) {
    constexpr double kMost = 20.0;      // times that of Earth
    constexpr double kFoot = 0.3048;    // m
    constexpr double kRounding = 0.01;  // relative
    const double size = mju_norm3(value), feet = kStandardGravity / kFoot;
    const bool is_feet = std::abs(size / feet - 1.0) < kRounding;
    if (size <= kMost * kStandardGravity && !is_feet) return;
    say(fmt::format("{} = {} m/s^2, {:.3g} times that of Earth: is the unit m/s^2, not {}?", key,
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
      if (motion.kind != MotionKind::Waypoints) return;  // goes on
      last = std::max(last, motion.times.back());
    }
    for (const Fault& fault : applied_.faults) last = std::max(last, fault.start);
    for (const Check& check : experiment.checks) last = std::max(last, check.window.after);
    if (last > kEventful * experiment.duration) return;
    where_ = experiment.file.string();
    say(fmt::format("duration = {:.6g} s: the last motion ends at {:.6g} s: is the unit s, not ms?",
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
    say(fmt::format("angles_deg = {}, parts of pi: is the unit degrees, not rad?",
                    text_of({first->data(), 3})));
  }

  /// What begins when the run has ended.
  void begins(const char* object, const char* key, double start) {
    const Believed& row = believed(object, "begins");
    if (start < any_.duration * row.most || start == 0.0) return;
    say(fmt::format("{} = {:.6g} s: the run ends at {:.6g} s: is the unit s, not {}?", key, start,
                    any_.duration, row.instead));
  }

  bool doubt(const char* object, const char* key, double value) {
    return doubt(believed(object, key), key, {&value, 1});
  }
  bool doubt(const char* object, const char* key, const Eigen::Vector3d& value) {
    return doubt(believed(object, key), key, {value.data(), 3});
  }
  bool doubt(const Believed& row, std::string_view key, std::span<const double> values) {
    return doubt(row, key, values, largest(values));
  }
  /// Adds a line if the size of the values is beyond what is believed; tells whether it is.
  bool doubt(const Believed& row, std::string_view key, std::span<const double> values,
             double size) {
    const auto [scale, name] = sizes_.of(row.scale);
    const double most = sizes_.stays ? row.most : row.most_away;
    if (!(scale > 0.0) || !(size > most * scale)) return false;
    const std::string gap = row.unit[0] == '\0' ? "" : " ";
    const std::string times =
        name.empty() ? "" : fmt::format(", {:.3g} times {}", size / scale, name);
    const std::string unit = row.unit[0] == '\0'
                                 ? fmt::format("is it in {}?", row.instead)
                                 : fmt::format("is the unit {}, not {}?", row.unit, row.instead);
    say(fmt::format("{} = {}{}{}{}: {}", key, text_of(values), gap, row.unit, times, unit));
    return true;
  }

  void say(const std::string& what) { lines_.push_back(fmt::format("{}: {}", where_, what)); }

  const AppliedExperiment& applied_;
  std::vector<RobotScale> scales_;  // of the scene's robots
  Sizes any_;                       // of the largest of them
  Sizes sizes_;                     // for what is looked at
  std::string where_;               // that stands
  std::string gravity_origin_;      // of the last setting; empty: the scene
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> experiment_plausibility(const AppliedExperiment& applied) {
  return Doubts(applied).lines();
}

}  // namespace tendril::simulation
