#include "controllers/gait_controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDegree = kPi / 180.0;

// Steering, as measured: docs/derivations-snake-gaits.md, "To a goal".
constexpr double kFullTurnError = 45.0 * kDegree;     // sidewinding turns in place from here on
constexpr double kSideChangeError = 100.0 * kDegree;  // and changes its side from here on
constexpr double kSideChangePause = 2.0;              // [s], at least between two changes
constexpr double kSideFadeTime = 0.5;                 // [s]
constexpr double kTurnRate = 4.0;                     // of the turn in [-1, 1] [1/s]
constexpr double kTurnTwist = 1.5;                    // weight of the pitch wave at a full turn
constexpr double kYawOffsetGain = 0.42;               // [rad/rad]
constexpr double kLargestYawOffset = 0.35;            // [rad]
constexpr double kSlowDistance = 0.35;                // [m], nearer to the goal the gait slows down
constexpr double kSlowest = 0.4;
constexpr double kFrequencyRate = 4.0;  // of the factor of the frequency [1/s]
// Poles.
constexpr double kSettleTime = 1.0;   // [s], between closing and rolling
constexpr double kSlowHeight = 0.03;  // [m]
constexpr double kSlowestClimb = 0.25;
// Speed.
constexpr double kSpeedPeriods = 2.0;  // time constant of the frequency [periods]
constexpr double kLowestFactor = 0.05;

constexpr int kBins = 40;  // of a period, for averages
enum BinSlot : std::size_t { kBinTime, kBinX, kBinY, kBinZ, kBinHeadingX, kBinHeadingY, kBinSize };

// Memory layout: these, then the start angles, then the bins.
enum Slot : std::size_t {
  kStarted,
  kPhase,
  kFactor,  // of the gait's frequency, rate-limited
  kFrom,    // stage; -1: the start pose
  kTo,
  kFadeStart,  // time
  kSide,
  kSideTarget,
  kSideTime,  // of the last change
  kTurn,
  kGoal,
  kStage,   // on a pole: 0 closing, then 1 rolling, 2 holding
  kHeight,  // index of the next one
  kStageTime,
  kHeld,  // rise at the beginning of the hold
  kSlip,
  kSpeedFactor,
  kStartX,
  kStartY,
  kStartZ,
  kLegX,  // where the way to the present goal began
  kLegY,
  kBin,
  kHeading,
  kSpeed,
  kAngles
};

/// 0 to 1 with rates 0 at both ends.
double smooth(double x) noexcept {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * x * (10.0 - x * (15.0 - 6.0 * x));
}

/// In (-pi, pi].
double wrapped(double angle) noexcept { return std::remainder(angle, 2.0 * kPi); }

double towards(double value, double goal, double step) noexcept {
  return value + std::clamp(goal - value, -step, step);
}

constexpr const char* kGaitNames[] = {"vertical_wave", "serpenoid", "sidewinding", "rolling",
                                      "helix"};

}  // namespace

std::span<const SettingInfo> GaitController::settings() {
  static constexpr SettingInfo kAll[] = {
      {"gait", "", "sidewinding", "vertical_wave, serpenoid, sidewinding, rolling or helix"},
      {"frequency", "Hz", "", "of the gait, negative: backwards; default: 1, helix 0.3"},
      {"yaw_amplitude", "rad", "", "default: the gait's own, as is that of the next two"},
      {"pitch_amplitude", "rad", "", "of the pitch joints"},
      {"waves", "", "", "on the body; positive: they run to the head"},
      {"schedule", "", "",
       "gaits by time instead of one: start in s, name and frequency of each, \"0 vertical_wave 1 "
       "10 sidewinding -0.5\""},
      {"fade_time", "s", "2", "from one gait of the schedule to the next"},
      {"ramp_time", "s", "1", "from the pose at the start to the first gait"},
      {"steering", "", "0",
       "without a goal: -1 to 1, the sharpest turn to the right and to the left"},
      {"speed", "m/s", "", "to be kept by slowing the gait down from its frequency; default: none"},
      {"goals", "m", "", "points on the ground to go to one after the other, x y each, world"},
      {"target", "", "", "mocap body to go to, when there are no goals"},
      {"goal_tolerance", "m", "0.1", "distance of the centre of mass at which a goal is reached"},
      {"pole_radius", "m", "",
       "helix: lay it on a pole of this radius; the amplitude follows from it and from grip"},
      {"grip", "rad", "0.2", "amplitude beyond the one that touches the pole"},
      {"heights", "m", "", "pole: rise to these heights above the start, one after the other"},
      {"hold_time", "s", "10", "pole: at each of the heights"},
  };
  return kAll;
}

Gait GaitController::read_gait(const Settings& settings, GaitKind kind) const {
  constexpr Range kAmplitude{.low = 0.0, .high = kPi / 2.0};
  Gait gait = standard_gait(kind, joints_);
  gait.frequency = settings.number("frequency", gait.frequency, {.low = -10.0, .high = 10.0});
  gait.yaw_amplitude = settings.number("yaw_amplitude", gait.yaw_amplitude, kAmplitude);
  gait.pitch_amplitude = settings.number("pitch_amplitude", gait.pitch_amplitude, kAmplitude);
  if (settings.has("waves")) {
    const double half = joints_ / 2.0;
    gait.lag = lag_of_waves(settings.number("waves", 0.0, {.low = -half, .high = half}), joints_);
  }
  return gait;
}

void GaitController::read_schedule(const Settings& settings) {
  std::istringstream words{std::string(settings.text("schedule"))};
  const auto refuse = [](const std::string& what) {
    throw ModelError("schedule = " + what +
                     ": must be start time, gait and frequency of each part, \"0 vertical_wave 1 "
                     "10 sidewinding 1\", the first at 0, times increasing by more than fade_time");
  };
  std::string time, name, frequency;
  stages_.clear();
  while (words >> time) {
    if (!(words >> name >> frequency)) refuse(time + " ...");
    const std::optional<GaitKind> kind = gait_kind(name);
    if (!kind) refuse("... " + name);
    const Settings numbers({{"start", time}, {"frequency", frequency}});
    Stage stage{numbers.number("start", 0.0, {.low = 0.0}), standard_gait(*kind, joints_)};
    stage.gait.frequency = numbers.number("frequency", 1.0, {.low = -10.0, .high = 10.0});
    const bool in_order = stages_.empty()
                              ? stage.time == 0.0
                              : stage.time > stages_.back().time + std::max(fade_time_, ramp_time_);
    if (!in_order) refuse("... " + time);
    stages_.push_back(stage);
  }
}

void GaitController::read_goals(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("goals");
  if (numbers.size() % 2 != 0) {
    throw ModelError("goals: " + std::to_string(numbers.size()) +
                     " numbers: must be x and y of each goal");
  }
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    goals_.emplace_back(numbers[i], numbers[i + 1]);
}

void GaitController::read_pole(const SnakeContext& context) {
  const Settings& settings = context.settings;
  heights_ = settings.numbers("heights");
  Gait& gait = stages_.front().gait;
  if (settings.has("pole_radius")) {
    if (gait.kind != GaitKind::Helix) throw ModelError("pole_radius: needs gait = helix");
    const double pole = settings.number("pole_radius", 0.03, {.low = 0.0, .open_low = true});
    const double length = context.link_lengths.back();
    const auto amplitude = helix_amplitude(pole + context.radius, gait.lag, length, joints_);
    if (!amplitude) {
      std::ostringstream text;
      text << "pole_radius = " << pole << ": must be one that links of " << length
           << " m can coil round with " << gait.lag * joints_ / (2.0 * kPi)
           << " waves; change waves or the links";
      throw ModelError(text.str());
    }
    const double grip = settings.number("grip", 0.2, {.low = 0.0, .high = kPi / 2.0});
    gait.yaw_amplitude = gait.pitch_amplitude = *amplitude + grip;
  }
  if (!heights_.empty() && gait.kind != GaitKind::Helix)
    throw ModelError("heights: needs gait = helix");
}

GaitController::GaitController(const SnakeContext& context)
    : joints_(context.joints()),
      joint_limit_(context.joint_limit),
      fade_time_(context.settings.number("fade_time", 2.0, {.low = 0.01, .high = 1000.0})),
      ramp_time_(context.settings.number("ramp_time", 1.0, {.low = 0.01, .high = 1000.0})),
      steering_(context.settings.number("steering", 0.0, {.low = -1.0, .high = 1.0})),
      speed_(context.settings.number("speed", 0.0, {.low = 0.0, .high = 100.0, .open_low = true})),
      follows_target_(context.settings.has("target")),
      goal_tolerance_(
          context.settings.number("goal_tolerance", 0.1, {.low = 0.0, .open_low = true})),
      hold_time_(context.settings.number("hold_time", 10.0, {.low = 0.0})),
      from_(static_cast<std::size_t>(joints_)),
      to_(static_cast<std::size_t>(joints_)) {
  const Settings& settings = context.settings;
  const int kind = settings.choice("gait", kGaitNames, static_cast<int>(GaitKind::Sidewinding));
  stages_.push_back({0.0, read_gait(settings, static_cast<GaitKind>(kind))});
  if (settings.has("schedule")) {
    for (const char* name :
         {"gait", "frequency", "yaw_amplitude", "pitch_amplitude", "waves", "pole_radius"}) {
      if (settings.has(name))
        throw ModelError(std::string(name) + ": must not be given together with schedule");
    }
    read_schedule(settings);
  }
  read_goals(settings);
  read_pole(context);
  if (!goals_.empty() && follows_target_)
    throw ModelError("target: must not be given together with goals");
}

int GaitController::memory_size() const noexcept {
  return static_cast<int>(kAngles) + joints_ + kBins * static_cast<int>(kBinSize);
}

void GaitController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  memory[kFrom] = -1.0;
  memory[kSide] = memory[kSideTarget] = 1.0;
  memory[kSpeedFactor] = 1.0;
  memory[kBin] = -1.0;
  const std::size_t bins = kAngles + static_cast<std::size_t>(joints_);
  for (std::size_t b = 0; b < kBins; ++b) memory[bins + b * kBinSize + kBinTime] = -1.0;
}

void GaitController::begin(const SnakeMeasurement& measurement,
                           std::span<double> next) const noexcept {
  next[kStarted] = 1.0;
  next[kFadeStart] = measurement.time;
  next[kSideTime] = measurement.time - kSideChangePause;
  next[kStageTime] = measurement.time;
  next[kStartX] = next[kLegX] = measurement.center_of_mass.x();
  next[kStartY] = next[kLegY] = measurement.center_of_mass.y();
  next[kStartZ] = measurement.center_of_mass.z();
  const Eigen::Vector3d along = measurement.X_WE.translation() - measurement.X_WT.translation();
  next[kHeading] = std::atan2(along.y(), along.x());
  std::copy_n(measurement.q.data(), joints_, next.begin() + kAngles);
}

/// Begins to fade to the next gait of the schedule when its time has come.
void GaitController::fade(std::span<double> next, double time) const noexcept {
  const double duration = next[kFrom] < 0.0 ? ramp_time_ : fade_time_;
  if (time < next[kFadeStart] + duration) return;
  const auto following = static_cast<std::size_t>(next[kTo]) + 1;
  if (following >= stages_.size() || time < stages_[following].time) return;
  next[kFrom] = next[kTo];
  next[kTo] = static_cast<double>(following);
  next[kFadeStart] = time;
}

/// Heading and speed over the last period: one sample in each of its `kBins` parts.
GaitController::Motion GaitController::average(const SnakeMeasurement& measurement,
                                               std::span<double> next) const noexcept {
  double part = next[kPhase] / (2.0 * kPi);
  part -= std::floor(part);
  const int bin = std::min(static_cast<int>(part * kBins), kBins - 1);
  if (static_cast<double>(bin) != next[kBin]) {
    next[kBin] = bin;
    const std::size_t bins = kAngles + static_cast<std::size_t>(joints_);
    const auto here = next.subspan(bins + static_cast<std::size_t>(bin) * kBinSize, kBinSize);
    const Eigen::Vector3d& com = measurement.center_of_mass;
    if (here[kBinTime] >= 0.0 && measurement.time > here[kBinTime]) {
      next[kSpeed] = (com - Eigen::Vector3d(here[kBinX], here[kBinY], here[kBinZ])).norm() /
                     (measurement.time - here[kBinTime]);
    }
    const Eigen::Vector3d along = measurement.X_WE.translation() - measurement.X_WT.translation();
    here[kBinTime] = measurement.time;
    here[kBinX] = com.x();
    here[kBinY] = com.y();
    here[kBinZ] = com.z();
    here[kBinHeadingX] = along.x();
    here[kBinHeadingY] = along.y();
    double x = 0.0, y = 0.0;
    for (std::size_t b = 0; b < kBins; ++b) {
      x += next[bins + b * kBinSize + kBinHeadingX];
      y += next[bins + b * kBinSize + kBinHeadingY];
    }
    next[kHeading] = std::atan2(y, x);
  }
  return {.heading = next[kHeading], .speed = next[kSpeed]};
}

double GaitController::steer(const SnakeMeasurement& measurement, const Motion& motion,
                             std::span<double> next, SnakeReport& report) const noexcept {
  const double h = measurement.timestep;
  const Gait& gait = stages_[static_cast<std::size_t>(next[kTo])].gait;
  const Eigen::Vector2d place = measurement.center_of_mass.head<2>();
  const auto set_turn = [&](double turn) {
    next[kTurn] = towards(next[kTurn], std::clamp(turn, -1.0, 1.0), kTurnRate * h);
  };

  auto goal_index = static_cast<std::size_t>(next[kGoal]);
  if (goal_index < goals_.size() && (goals_[goal_index] - place).norm() <= goal_tolerance_) {
    next[kGoal] = static_cast<double>(++goal_index);
    next[kLegX] = place.x();
    next[kLegY] = place.y();
  }
  report.goals = static_cast<int>(goal_index);
  const bool has_goal = goal_index < goals_.size() || (follows_target_ && measurement.has_target);
  if (!has_goal) {
    set_turn(goals_.empty() ? steering_ : 0.0);
    if (goals_.empty()) return 1.0;
    report.status = ControllerStatus::Finished;
    report.progress = 1.0;
    return 0.0;  // stop
  }
  const Eigen::Vector2d goal =
      goal_index < goals_.size() ? goals_[goal_index] : Eigen::Vector2d(measurement.p_WG.head<2>());
  report.target << goal, 0.0;
  const Eigen::Vector2d leg(next[kLegX], next[kLegY]), way = goal - place;
  const double distance = way.norm(), leg_length = (goal - leg).norm();
  if (leg_length > 0.0) {
    const Eigen::Vector2d along = (goal - leg) / leg_length, off = place - leg;
    report.path_error = std::abs(along.x() * off.y() - along.y() * off.x());
  }
  const double goals = static_cast<double>(std::max<std::size_t>(goals_.size(), 1));
  report.progress =
      (static_cast<double>(goal_index) + std::clamp(1.0 - distance / leg_length, 0.0, 1.0)) / goals;
  if (!std::isfinite(distance)) {
    report.status = ControllerStatus::InvalidTarget;
    report.progress = 0.0;
    return 0.0;
  }
  if (follows_target_ && distance <= goal_tolerance_) {
    report.status = ControllerStatus::Finished;
    set_turn(0.0);
    return 0.0;
  }

  const double bearing = std::atan2(way.y(), way.x());
  double error = wrapped(bearing - motion.heading);  // of the direction in which the body moves
  if (gait.kind == GaitKind::Sidewinding) {
    error = wrapped(error - next[kSideTarget] * kPi / 2.0);
    if (std::abs(error) > kSideChangeError &&
        measurement.time >= next[kSideTime] + kSideChangePause) {
      next[kSideTarget] = -next[kSideTarget];
      next[kSideTime] = measurement.time;
      error = wrapped(error + kPi);
    }
    set_turn(error / kFullTurnError);
  } else {
    set_turn(kYawOffsetGain * error / kLargestYawOffset);
  }
  next[kSide] = towards(next[kSide], next[kSideTarget], 2.0 * h / kSideFadeTime);
  return std::clamp(distance / kSlowDistance, kSlowest, 1.0);
}

/// Closing, then for each height rolling there and holding.
double GaitController::climb(std::span<double> next, double time,
                             SnakeReport& report) const noexcept {
  enum Climbing { kClosing, kRolling, kHolding };
  const auto enter = [&](Climbing stage) {
    next[kStage] = stage;
    next[kStageTime] = time;
  };
  const auto index = static_cast<std::size_t>(next[kHeight]);
  const double height = heights_[std::min(index, heights_.size() - 1)];
  const double way = height - report.rise;
  double factor = 0.0;
  report.target << 0.0, 0.0, height;
  switch (static_cast<Climbing>(static_cast<int>(next[kStage]))) {
    case kClosing:
      if (time >= next[kStageTime] + ramp_time_ + kSettleTime) enter(kRolling);
      break;
    case kRolling: {
      // A turn that goes with the wave climbs: phase - lag j rises with j for a negative lag.
      const Gait& gait = stages_[static_cast<std::size_t>(next[kTo])].gait;
      const double up = gait.lag * gait.frequency < 0.0 ? 1.0 : -1.0;
      factor = up * std::copysign(std::clamp(std::abs(way) / kSlowHeight, kSlowestClimb, 1.0), way);
      const double before = index == 0 ? 0.0 : heights_[index - 1];
      if ((height - before) * way <= 0.0) {
        factor = 0.0;
        enter(kHolding);
        next[kHeld] = report.rise;
      }
      break;
    }
    case kHolding:
      if (next[kFactor] == 0.0 && time >= next[kStageTime] + kSettleTime)
        next[kSlip] = std::max(next[kSlip], std::abs(report.rise - next[kHeld]));
      else
        next[kHeld] = report.rise;
      if (time >= next[kStageTime] + kSettleTime + hold_time_) {
        if (index + 1 < heights_.size()) {
          next[kHeight] = static_cast<double>(index + 1);
          enter(kRolling);
        } else {
          report.status = ControllerStatus::Finished;
        }
      }
      break;
  }
  const bool held = static_cast<int>(next[kStage]) == kHolding;
  report.goals = static_cast<int>(next[kHeight]) + (held ? 1 : 0);
  report.progress = static_cast<double>(report.goals) / static_cast<double>(heights_.size());
  report.slip = next[kSlip];
  report.path_error = std::abs(way);
  return factor;
}

/// The factor of the frequency for which the measured speed becomes the desired one.
double GaitController::keep_speed(const Motion& motion, std::span<double> next,
                                  double h) const noexcept {
  if (speed_ <= 0.0) return 1.0;
  const double frequency =
      std::abs(stages_[static_cast<std::size_t>(next[kTo])].gait.frequency) * next[kSpeedFactor];
  if (motion.speed > 0.0 && frequency > 0.0) {
    const double ratio = std::clamp(speed_ / motion.speed, 0.5, 2.0);
    const double desired = std::clamp(ratio * next[kSpeedFactor], kLowestFactor, 1.0);
    next[kSpeedFactor] +=
        (desired - next[kSpeedFactor]) * std::min(1.0, h * frequency / kSpeedPeriods);
  }
  return next[kSpeedFactor];
}

void GaitController::update(const SnakeMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next_memory, SnakeCommand& command,
                            SnakeReport& report) noexcept {
  const double time = measurement.time, h = measurement.timestep;
  const std::span<double> next = next_memory;
  if (memory[kStarted] == 0.0) begin(measurement, next);
  fade(next, time);
  const Motion motion = average(measurement, next);
  const Eigen::Vector3d way =
      measurement.center_of_mass - Eigen::Vector3d(next[kStartX], next[kStartY], next[kStartZ]);
  report.heading = motion.heading;
  report.speed = motion.speed;
  report.advance = way.x();
  report.rise = way.z();

  // How fast and where to.
  double factor =
      heights_.empty() ? steer(measurement, motion, next, report) : climb(next, time, report);
  factor *= keep_speed(motion, next, h);
  next[kFactor] = towards(next[kFactor], factor, kFrequencyRate * h);

  // The two gaits that fade into each other, on one phase.
  const bool from_start = next[kFrom] < 0.0;
  const double share = smooth((time - next[kFadeStart]) / (from_start ? ramp_time_ : fade_time_));
  const Gait& to = stages_[static_cast<std::size_t>(next[kTo])].gait;
  const auto steering = [&](const Gait& gait) {
    GaitSteering s;
    if (gait.kind == GaitKind::Sidewinding) {
      s.side = next[kSide] * (1.0 - std::abs(next[kTurn]));
      s.twist = kTurnTwist * next[kTurn];
    } else if (gait.kind == GaitKind::VerticalWave || gait.kind == GaitKind::Serpenoid) {
      s.yaw_offset = kLargestYawOffset * next[kTurn];
    }
    return s;
  };
  gait_angles(to, steering(to), next[kPhase], to_);
  double frequency = share * to.frequency;
  if (from_start) {
    std::copy_n(next.begin() + kAngles, joints_, from_.begin());
  } else {
    const Gait& from = stages_[static_cast<std::size_t>(next[kFrom])].gait;
    gait_angles(from, steering(from), next[kPhase], from_);
    frequency += (1.0 - share) * from.frequency;
  }
  for (int j = 0; j < joints_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    command.q[j] =
        std::clamp((1.0 - share) * from_[i] + share * to_[i], -joint_limit_, joint_limit_);
  }
  command.feed = measurement.feed;
  next[kPhase] =
      std::remainder(next[kPhase] + 2.0 * kPi * frequency * next[kFactor] * h, 2.0 * kPi);
}

}  // namespace tendril
