#include "controllers/snake/gait_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <sstream>
#include <string>

#include "controllers/snake/snake_settings.hpp"
#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDegree = kPi / 180.0;

// Steering, from measurements: docs/theory/snakes.md, "To a goal".
constexpr double kFullTurnError = 45.0 * kDegree;     // sidewinding rotates in place above this
constexpr double kSideChangeError = 100.0 * kDegree;  // and changes its side above this
constexpr double kSideChangePause = 2.0;              // [s], least time between two changes
constexpr double kSideFadeTime = 0.5;                 // [s]
constexpr double kTurnRate = 4.0;                     // of the steering input in [-1, 1] [1/s]
constexpr double kTurnTwist = 1.5;                    // factor of the pitch wave at full steering
constexpr double kYawOffsetGain = 0.42;               // [rad/rad]
constexpr double kMaxYawOffset = 0.35;                // [rad]
constexpr double kSlowDistance = 0.35;  // [m] from the goal; the gait slows down below
constexpr double kMinFactor = 0.4;
constexpr double kFrequencyRate = 4.0;  // of the factor of the frequency [1/s]
// Poles.
constexpr double kSettleTime = 1.0;       // [s], between closing and rolling
constexpr double kWrappedFraction = 0.7;  // of the ramp: the body is around the pole
constexpr double kWrapPitch = 0.5;        // of the coil, until then
constexpr double kSlowHeight = 0.03;      // [m]
constexpr double kMinClimbFactor = 0.25;
constexpr double kFrontLength = 0.6;  // fraction of the body that straightens at one time
// Speed.
constexpr double kSpeedPeriods = 2.0;  // time constant of the frequency [periods]
constexpr double kMinSpeedFactor = 0.05;

double body_length(const SnakeContext& context) {
  return std::accumulate(context.link_lengths.begin(), context.link_lengths.end(), 0.0);
}

constexpr OwnQuantities<GaitController::kQuantities> own;

/// Roll of the body about its axis, mean of its ends [rad].
double roll_of(const SnakeMeasurement& measurement) noexcept {
  const Eigen::RowVector3d up = measurement.X_WT.linear().row(2) + measurement.X_WE.linear().row(2);
  return std::atan2(up.y(), up.z());
}

double towards(double value, double goal, double step) noexcept {
  return value + std::clamp(goal - value, -step, step);
}

}  // namespace

std::span<const SettingInfo> GaitController::settings() {
  static const std::vector<SettingInfo> all =
      joined({own_settings(), GroundPathFollower::settings()});
  return all;
}

std::span<const SettingInfo> GaitController::own_settings() {
  constexpr Range kAmplitude{.low = 0.0, .high = kPi / 2.0};
  static constexpr SettingInfo kAll[] = {
      setting::choice("gait", "sidewinding vertical_wave serpenoid rolling helix anguilliform",
                      "vertical_wave, serpenoid, sidewinding, rolling, helix or anguilliform"),
      setting::number("frequency", "Hz", "", {-10.0, 10.0},
                      "of the gait; negative: backwards; default: 1, helix 0.3"),
      setting::number("yaw_amplitude", "rad", "", kAmplitude,
                      "of the yaw joints; default of this and the next two: that of the gait"),
      setting::number("pitch_amplitude", "rad", "", kAmplitude, "of the pitch joints"),
      setting::number("waves", "", "", kFinite,
                      "number of waves on the body; positive: they travel to the head"),
      setting::text("schedule", "",
                    "gaits over time instead of one: start in s, name and frequency of each, \"0 "
                    "vertical_wave 1 10 sidewinding -0.5\""),
      setting::number("fade_time", "s", "2", {0.01, 1000.0},
                      "duration of the change from one gait of the schedule to the next"),
      setting::number("ramp_time", "s", "1", {0.01, 1000.0},
                      "duration of the change from the start pose to the first gait"),
      setting::number("steering", "", "0", {-1.0, 1.0},
                      "without a goal: -1 (sharpest turn to the right) to 1 (to the left)"),
      snake_setting::kSpeed,
      setting::numbers("goals", "m",
                       "points on the ground to be reached in order, x y each, world frame"),
      snake_setting::kTarget,
      setting::number("goal_tolerance", "m", "0.1", kPositive,
                      "distance of the center of mass at which a goal is reached; more than this "
                      "off a height, and twice this off the last goal, what was reached is lost"),
      setting::number(
          "pole_radius", "m", "", kPositive,
          "helix: radius of the pole to which it is fitted; the amplitude follows from it and "
          "from grip"),
      setting::number("grip", "rad", "0.2", kAmplitude,
                      "helix: amplitude in addition to the one that touches the pole"),
      setting::numbers("heights", "m", "pole: heights above the start to be reached in order"),
      setting::choice(
          "wrap", "no left right",
          "pole: the body lies straight next to it, the pole at its middle on this side, and "
          "wraps itself around it within ramp_time, 6 s are good, before it climbs"),
      setting::number("hold_time", "s", "10", kNotNegative,
                      "pole: time of the hold at each height"),
      setting::number(
          "release_time", "s", "", kPositive,
          "pole: after the last hold the snake releases it within this time, head first, and "
          "lies straight, on a shelf for instance; default: it holds"),
      ProgressWatch::kPeriods,
  };
  return kAll;
}

Gait GaitController::read_gait(const Settings& settings, GaitKind kind) const {
  Gait gait = standard_gait(kind, joints_);
  gait.frequency = settings.optional_number("frequency").value_or(gait.frequency);
  gait.yaw_amplitude = settings.optional_number("yaw_amplitude").value_or(gait.yaw_amplitude);
  gait.pitch_amplitude = settings.optional_number("pitch_amplitude").value_or(gait.pitch_amplitude);
  if (const auto waves = settings.optional_number("waves")) {
    const double half = joints_ / 2.0;
    if (std::abs(*waves) > half)
      throw ModelError(fmt::format("waves = {}: must be in [-{}, {}]", settings.text("waves"),
                                   joints_ / 2, joints_ / 2));
    gait.lag = lag_of_waves(*waves, joints_);
  }
  return gait;
}

void GaitController::read_schedule(const Settings& settings) {
  std::istringstream words{std::string(settings.text("schedule"))};
  const auto refuse = [](const std::string& what) {
    throw ModelError(
        fmt::format("schedule = {}: must be start time, gait and frequency of each part, \"0 "
                    "vertical_wave 1 10 "
                    "sidewinding 1\", the first at 0, times increasing by more than fade_time",
                    what));
  };
  std::string time, name, frequency;
  stages_.clear();
  while (words >> time) {
    if (!(words >> name >> frequency)) refuse(time + " ...");
    const std::optional<GaitKind> kind = gait_kind(name);
    if (!kind) refuse("... " + name);
    static constexpr SettingInfo kNumbers[] = {
        setting::number("start", "s", "", kNotNegative, ""),
        setting::number("frequency", "Hz", "", {-10.0, 10.0}, "")};
    const Settings numbers(kNumbers, {{"start", time}, {"frequency", frequency}});
    Stage stage{numbers.number("start"), standard_gait(*kind, joints_)};
    stage.gait.frequency = numbers.number("frequency");
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
    throw ModelError(
        fmt::format("goals: {} numbers: must be x and y of each goal", numbers.size()));
  }
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    goals_.emplace_back(numbers[i], numbers[i + 1]);
}

void GaitController::read_pole(const SnakeContext& context) {
  const Settings& settings = context.settings;
  heights_ = settings.numbers("heights");
  Gait& gait = stages_.front().gait;
  wrap_ = settings.choice<Wrap>("wrap");
  if (wrap_ != Wrap::No) {
    if (heights_.empty()) throw ModelError("wrap: needs heights");
    // The head goes up, on either side.
    gait.lag = std::copysign(gait.lag, wrap_ == Wrap::Left ? -1.0 : 1.0);
  }
  if (settings.has("pole_radius")) {
    if (gait.kind != GaitKind::Helix) throw ModelError("pole_radius: needs gait = helix");
    if (context.link_lengths[1] == 0.0) throw ModelError("pole_radius: needs joint = \"hinge\"");
    const double pole = settings.number("pole_radius");
    const double length = context.link_lengths.back();
    const auto amplitude = helix_amplitude(pole + context.radius, gait.lag, length, joints_);
    if (!amplitude) {
      throw ModelError(fmt::format(
          "pole_radius = {:g}: must be a radius around which links of {:g} m can coil with {:g} "
          "waves; change waves or the links",
          pole, length, gait.lag * joints_ / (2.0 * kPi)));
    }
    const double grip = settings.number("grip");
    gait.yaw_amplitude = gait.pitch_amplitude = *amplitude + grip;
  }
  if (release_time_ > 0.0 && heights_.empty()) throw ModelError("release_time: needs heights");
  if (!heights_.empty() && gait.kind != GaitKind::Helix)
    throw ModelError("heights: needs gait = helix");
}

GaitController::GaitController(const SnakeContext& context)
    : joints_(context.joints()),
      joint_limit_(context.joint_limit),
      fade_time_(context.settings.number("fade_time")),
      ramp_time_(context.settings.number("ramp_time")),
      steering_(context.settings.number("steering")),
      speed_(context.settings.optional_number("speed").value_or(0.0)),
      follows_target_(context.settings.has("target")),
      goal_tolerance_(context.settings.number("goal_tolerance")),
      hold_time_(context.settings.number("hold_time")),
      release_time_(context.settings.optional_number("release_time").value_or(0.0)),
      progress_(context.settings, body_length(context)),
      advance_(context.settings, body_length(context)),
      from_(static_cast<std::size_t>(joints_)),
      to_(static_cast<std::size_t>(joints_)) {
  const Settings& settings = context.settings;
  constexpr GaitKind kKinds[] = {GaitKind::Sidewinding, GaitKind::VerticalWave,
                                 GaitKind::Serpenoid,   GaitKind::Rolling,
                                 GaitKind::Helix,       GaitKind::Anguilliform};
  stages_.push_back({0.0, read_gait(settings, kKinds[settings.choice_index("gait")])});
  if (settings.has("schedule")) {
    for (const char* name :
         {"gait", "frequency", "yaw_amplitude", "pitch_amplitude", "waves", "pole_radius"}) {
      if (settings.has(name))
        throw ModelError(fmt::format("{}: must not be given together with schedule", name));
    }
    read_schedule(settings);
  }
  read_goals(settings);
  read_pole(context);
  if (!goals_.empty() && follows_target_)
    throw ModelError("target: must not be given together with goals");

  if (!settings.flag("avoidance")) context.scene.measure_target("target");
  if (GroundPathFollower::is_requested(settings)) {
    if (stages_.size() > 1 || settings.has("schedule"))
      throw ModelError("schedule: must not be given together with ground_path or avoidance");
    follower_ =
        std::make_unique<GroundPathFollower>(context, stages_.front().gait, goals_, kMaxYawOffset);
    path_memory_ = memory_.part(follower_->layout());
    bends_ = memory_.vector(joints_);
    desired_bends_.resize(static_cast<std::size_t>(joints_));
  } else {
    for (const char* name : {"ground_tolerance", "obstacles", "obstacle_margin", "corner_radius"}) {
      if (settings.has(name))
        throw ModelError(fmt::format("{}: needs ground_path or avoidance", name));
    }
  }

  const int last = static_cast<int>(stages_.size()) - 1;
  from_stage_ = memory_.index(-1, last, -1);
  to_stage_ = memory_.index(0, last);
  goal_ = memory_.index(0, static_cast<int>(goals_.size()));
  height_ = memory_.index(0, std::max(0, static_cast<int>(heights_.size()) - 1));
  start_angles_ = memory_.vector(joints_);
  bin_time_ = memory_.matrix(Eigen::VectorXd(Eigen::VectorXd::Constant(kBins, -1.0)));
  bin_center_ = memory_.matrix<Eigen::MatrixXd>(3, kBins);
  bin_heading_ = memory_.matrix<Eigen::MatrixXd>(2, kBins);
}

PoseNeed GaitController::pose_need() const noexcept {
  if (!heights_.empty()) return PoseNeed::OnPole;
  const bool rights_itself = std::ranges::any_of(
      stages_, [](const Stage& stage) { return stage.gait.kind == GaitKind::VerticalWave; });
  return follower_ || follows_target_ || !goals_.empty() || speed_ > 0.0 || rights_itself
             ? PoseNeed::OnGround
             : PoseNeed::None;
}

void GaitController::begin(const SnakeMeasurement& measurement,
                           std::span<double> next) const noexcept {
  started_(next) = true;
  fade_start_(next) = measurement.time;
  side_time_(next) = measurement.time - kSideChangePause;
  stage_time_(next) = measurement.time;
  start_center_(next) = measurement.center_of_mass;
  last_center_(next) = measurement.center_of_mass;
  segment_(next) = measurement.center_of_mass.head<2>();
  const Eigen::Vector3d along = measurement.X_WE.translation() - measurement.X_WT.translation();
  heading_(next) = std::atan2(along.y(), along.x());
  start_angles_(next) = measurement.q;
  // The middle bends towards the pole.
  if (wrap_ != Wrap::No)
    phase_(next) = std::remainder(
        stages_.front().gait.lag * middle() + (wrap_ == Wrap::Right ? kPi : 0.0), 2.0 * kPi);
}

/// Begins the change to the next gait of the schedule at its start time.
void GaitController::fade(std::span<double> next, double time) const noexcept {
  const double duration = from_stage_(next) < 0 ? ramp_time_ : fade_time_;
  if (time < fade_start_(next) + duration) return;
  const int following = to_stage_(next) + 1;
  if (following >= static_cast<int>(stages_.size()) || time < stages_[following].time) return;
  from_stage_(next) = to_stage_(next);
  to_stage_(next) = following;
  fade_start_(next) = time;
  advance_.restart(advance_memory_(next));
}

/// Averages heading and speed over the last period, from one sample in each of its `kBins` bins.
GaitController::Motion GaitController::average(const SnakeMeasurement& measurement,
                                               std::span<double> next) const noexcept {
  double fraction = phase_(next) / (2.0 * kPi);
  fraction -= std::floor(fraction);
  const int bin = to_index(fraction * kBins, 0, kBins - 1);
  if (bin != bin_(next)) {
    bin_(next) = bin;
    const Eigen::Vector3d& com = measurement.center_of_mass;
    const double last_time = bin_time_(next)[bin];
    if (last_time >= 0.0 && measurement.time > last_time) {
      const double advance = (com - bin_center_(next).col(bin)).norm();
      mean_speed_(next) = advance / (measurement.time - last_time);
      advance_.step(advance, 1.0 / kBins, advance_memory_(next));
    }
    const Eigen::Vector3d along = measurement.X_WE.translation() - measurement.X_WT.translation();
    bin_time_(next)[bin] = measurement.time;
    bin_center_(next).col(bin) = com;
    auto headings = bin_heading_(next);
    headings.col(bin) = along.head<2>();
    double x = 0.0, y = 0.0;
    for (int b = 0; b < kBins; ++b) {
      x += headings(0, b);
      y += headings(1, b);
    }
    heading_(next) = std::atan2(y, x);
  }
  return {.heading = heading_(next), .speed = mean_speed_(next)};
}

double GaitController::steer(const SnakeMeasurement& measurement, const Motion& motion,
                             const Step& step, std::span<double> next,
                             ControllerReport& report) const noexcept {
  const double h = measurement.timestep;
  const Eigen::Vector2d center = measurement.center_of_mass.head<2>();
  const auto set_turn = [&](double turn) {
    turn_(next) = towards(turn_(next), std::clamp(turn, -1.0, 1.0), kTurnRate * h);
  };

  const int goal_count = static_cast<int>(goals_.size());
  int goal_index = goal_(next);
  if (goal_index < goal_count && (goals_[goal_index] - center).norm() <= goal_tolerance_) {
    goal_(next) = ++goal_index;
    segment_(next) = center;
    progress_.restart(progress_memory_(next));
  }
  own(report, "goals") = goal_index;
  const bool has_goal = goal_index < goal_count || (follows_target_ && measurement.has_target);
  if (!has_goal) {
    set_turn(goals_.empty() ? steering_ : 0.0);
    if (goals_.empty()) {
      if (!advance_.moves(advance_memory_(next))) report.status = ControllerStatus::NoProgress;
      return 1.0;
    }
    const bool lost = (goals_.back() - center).norm() > 2.0 * goal_tolerance_;
    report.status = lost ? ControllerStatus::NoProgress : ControllerStatus::Finished;
    report.progress = 1.0;
    return 0.0;  // stop
  }
  const Eigen::Vector2d goal =
      goal_index < goal_count ? goals_[goal_index] : Eigen::Vector2d(measurement.p_WG.head<2>());
  report.target << goal, 0.0;
  const Eigen::Vector2d segment = segment_(next), to_goal = goal - center;
  const double distance = to_goal.norm(), segment_length = (goal - segment).norm();
  if (segment_length > 0.0) {
    const Eigen::Vector2d along = (goal - segment) / segment_length, off = center - segment;
    own(report, "path_error") = std::abs(along.x() * off.y() - along.y() * off.x());
  }
  const double goals = std::max(goal_count, 1);
  report.progress = (goal_index + std::clamp(1.0 - distance / segment_length, 0.0, 1.0)) / goals;
  if (!std::isfinite(distance)) {
    report.status = ControllerStatus::InvalidTarget;
    report.progress = 0.0;
    return 0.0;
  }
  if (follows_target_ && distance <= goal_tolerance_) {
    report.status = ControllerStatus::Finished;
    progress_.restart(progress_memory_(next));
    set_turn(0.0);
    return 0.0;
  }

  const double bearing = std::atan2(to_goal.y(), to_goal.x());
  const double error = turn_to(bearing, motion.heading, measurement.time, h, next);
  const double gained = to_goal.dot(step.moved.head<2>()) / distance;
  if (!progress_.step(gained, error, step.periods, progress_memory_(next)))
    report.status = ControllerStatus::NoProgress;
  return std::clamp(distance / kSlowDistance, kMinFactor, 1.0);
}

double GaitController::turn_to(double direction, double heading, double time, double h,
                               std::span<double> next) const noexcept {
  double error = wrap_angle(direction - heading);
  double turn = kYawOffsetGain * error / kMaxYawOffset;
  if (stages_[to_stage_(next)].gait.kind == GaitKind::Sidewinding) {
    error = wrap_angle(error - side_target_(next) * kPi / 2.0);
    if (std::abs(error) > kSideChangeError && time >= side_time_(next) + kSideChangePause) {
      side_target_(next) = -side_target_(next);
      side_time_(next) = time;
      error = wrap_angle(error + kPi);
    }
    turn = error / kFullTurnError;
  }
  turn_(next) = towards(turn_(next), std::clamp(turn, -1.0, 1.0), kTurnRate * h);
  side_(next) = towards(side_(next), side_target_(next), 2.0 * h / kSideFadeTime);
  return std::abs(error);
}

/// Moves along a path, or to goals among obstacles.
double GaitController::follow(const SnakeMeasurement& measurement, const Motion& motion,
                              const Step& step, std::span<double> next,
                              ControllerReport& report) noexcept {
  const double h = measurement.timestep;
  const double heading =
      follower_->is_head_first() ? follower_->heading(measurement) : motion.heading;
  const GroundPathFollower::Guidance path =
      follower_->step(measurement.center_of_mass.head<2>(), heading, path_memory_(next));
  bend_along_path(h, next);
  own(report, "goals") = path.goals;
  own(report, "path_error") = path.path_error;
  report.progress = path.progress;
  report.target << path.goal, 0.0;
  if (path.new_goal) progress_.restart(progress_memory_(next));
  const bool moved_away = measurement.has_target &&
                          !((measurement.p_WG.head<2>() - path.goal).norm() <= goal_tolerance_);
  if (moved_away) {
    report.status = ControllerStatus::InvalidTarget;
    return 0.0;
  }
  if (path.finished) {
    const bool lost = path.path_error > 2.0 * goal_tolerance_;
    report.status = lost ? ControllerStatus::NoProgress : ControllerStatus::Finished;
    turn_(next) = towards(turn_(next), 0.0, kTurnRate * h);
    return 0.0;
  }
  if (!path.has_path) {
    report.status = ControllerStatus::NotReached;
    return 0.0;
  }
  const double error = turn_to(path.direction, heading, measurement.time, h, next);
  if (!progress_.step(path.gained, error, step.periods, progress_memory_(next)))
    report.status = ControllerStatus::NoProgress;
  if (path.on_path) report.path_excess = path.path_error / follower_->tolerance();
  return std::clamp(path.remaining / kSlowDistance, kMinFactor, 1.0);
}

/// Moves the offsets of the yaw joints towards those with which the body lies on its path.
void GaitController::bend_along_path(double h, std::span<double> next) noexcept {
  follower_->bends(path_memory_(next), desired_bends_);
  auto bends = bends_(next);
  for (int j = 0; j < joints_; ++j) {
    const double desired =
        std::clamp(desired_bends_[static_cast<std::size_t>(j)], -kMaxYawOffset, kMaxYawOffset);
    bends[j] = towards(bends[j], desired, kTurnRate * kMaxYawOffset * h);
  }
}

/// Closes the helix; then, for each height, rolls there and holds; then releases the pole.
double GaitController::climb(const Step& step, std::span<double> next, double time,
                             ControllerReport& report) const noexcept {
  const double height = heights_[height_(next)], rise = own(report, "rise");
  const Climb climb{.time = time, .rise = rise, .remaining = height - rise};
  report.target << 0.0, 0.0, height;
  double factor = 0.0;
  switch (climbing_(next)) {
    case Climbing::Closing:
      if (time >= stage_time_(next) + ramp_time_ + kSettleTime) begin_roll(climb, next);
      break;
    case Climbing::Rolling:
      factor = roll(climb, step, next, report);
      break;
    case Climbing::Holding:
      hold(climb, next, report);
      break;
    case Climbing::Releasing:
      if (time >= stage_time_(next) + release_time_) report.status = ControllerStatus::Finished;
      break;
  }
  const bool held = climbing_(next) >= Climbing::Holding;
  const double goals = height_(next) + (held ? 1 : 0);
  own(report, "goals") = goals;
  report.progress = goals / static_cast<double>(heights_.size());
  own(report, "slip") = slip_(next);
  own(report, "path_error") = std::abs(climb.remaining);
  return factor;
}

void GaitController::enter(Climbing stage, double time, std::span<double> next) const noexcept {
  climbing_(next) = stage;
  stage_time_(next) = time;
}

void GaitController::begin_roll(const Climb& climb, std::span<double> next) const noexcept {
  enter(Climbing::Rolling, climb.time, next);
  nearest_(next) = std::abs(heights_[height_(next)] - climb.rise);
  progress_.restart(progress_memory_(next));
}

/// Rolls towards the height; holds once it is passed. Returns the factor of the frequency.
double GaitController::roll(const Climb& climb, const Step& step, std::span<double> next,
                            ControllerReport& report) const noexcept {
  const double remaining = climb.remaining, distance = std::abs(remaining);
  nearest_(next) = std::min<double>(nearest_(next), distance);
  const double gained = std::copysign(1.0, remaining) * step.moved.z();
  const bool nearer = progress_.step(gained, 0.0, step.periods, progress_memory_(next));
  if (!nearer || distance > nearest_(next) + goal_tolerance_)
    report.status = ControllerStatus::NoProgress;
  const int index = height_(next);
  const double before = index == 0 ? 0.0 : heights_[index - 1];
  if ((heights_[index] - before) * remaining <= 0.0) {
    enter(Climbing::Holding, climb.time, next);
    held_(next) = climb.rise;
    return 0.0;
  }
  // Rotation in the direction of the wave climbs: phase - lag j increases with j for lag < 0.
  const Gait& gait = stages_[to_stage_(next)].gait;
  const double up = gait.lag * gait.frequency < 0.0 ? 1.0 : -1.0;
  return up * std::copysign(std::clamp(distance / kSlowHeight, kMinClimbFactor, 1.0), remaining);
}

/// Holds a height for the hold time; then rolls to the next one, or releases the pole.
void GaitController::hold(const Climb& climb, std::span<double> next,
                          ControllerReport& report) const noexcept {
  const double settled = stage_time_(next) + kSettleTime;
  if (factor_(next) == 0.0 && climb.time >= settled) {
    slip_(next) = std::max<double>(slip_(next), std::abs(climb.rise - held_(next)));
  } else {
    held_(next) = climb.rise;
  }
  if (climb.time >= settled + hold_time_) {
    if (height_(next) + 1 < static_cast<int>(heights_.size())) {
      height_(next) += 1;
      begin_roll(climb, next);
    } else if (release_time_ > 0.0) {
      enter(Climbing::Releasing, climb.time, next);
    } else {
      report.status = ControllerStatus::Finished;
    }
  }
  if (std::abs(climb.remaining) > goal_tolerance_) report.status = ControllerStatus::NoProgress;
}

/// Integrates the frequency factor until the measured speed is the desired one.
double GaitController::keep_speed(const Motion& motion, std::span<double> next,
                                  double h) const noexcept {
  if (speed_ <= 0.0) return 1.0;
  const double frequency = std::abs(stages_[to_stage_(next)].gait.frequency) * speed_factor_(next);
  if (motion.speed > 0.0 && frequency > 0.0) {
    const double ratio = std::clamp(speed_ / motion.speed, 0.5, 2.0);
    const double desired = std::clamp(ratio * speed_factor_(next), kMinSpeedFactor, 1.0);
    speed_factor_(next) +=
        (desired - speed_factor_(next)) * std::min(1.0, h * frequency / kSpeedPeriods);
  }
  return speed_factor_(next);
}

void GaitController::update(const SnakeMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next_memory, SnakeCommand& command,
                            ControllerReport& report) noexcept {
  const double time = measurement.time, h = measurement.timestep;
  const std::span<double> next = next_memory;
  if (!started_(memory)) begin(measurement, next);
  fade(next, time);
  const Motion motion = average(measurement, next);
  report_motion(measurement, motion, next, report);
  const Step step{
      .moved = measurement.center_of_mass - last_center_(next),
      .periods = std::abs(stages_[to_stage_(next)].gait.frequency * factor_(memory)) * h};
  last_center_(next) = measurement.center_of_mass;

  double factor = follower_          ? follow(measurement, motion, step, next, report)
                  : heights_.empty() ? steer(measurement, motion, step, next, report)
                                     : climb(step, next, time, report);
  factor *= keep_speed(motion, next, h);
  factor_(next) = towards(factor_(next), factor, kFrequencyRate * h);

  // At rest the bends stay in the body, which would roll down every slope.
  if (factor_(next) != 0.0) roll_(next) = roll_of(measurement);
  const double frequency = blend_gaits(time, next, command);
  if (climbing_(next) == Climbing::Releasing) straighten(time - stage_time_(next), command);
  command.feed = measurement.feed;
  phase_(next) =
      std::remainder(phase_(next) + 2.0 * kPi * frequency * factor_(next) * h, 2.0 * kPi);
}

void GaitController::report_motion(const SnakeMeasurement& measurement, const Motion& motion,
                                   std::span<const double> memory,
                                   ControllerReport& report) const noexcept {
  const Eigen::Vector3d displacement = measurement.center_of_mass - start_center_(memory);
  own(report, "heading") = motion.heading;
  own(report, "speed") = motion.speed;
  own(report, "advance") = displacement.x();
  own(report, "rise") = displacement.z();
}

GaitSteering GaitController::steering(const Gait& gait,
                                      std::span<const double> memory) const noexcept {
  GaitSteering steering;
  if (gait.kind == GaitKind::VerticalWave && !follower_) steering.roll = roll_(memory);
  if (gait.kind == GaitKind::Sidewinding) {
    steering.side = side_(memory) * (1.0 - std::abs(turn_(memory)));
    steering.twist = kTurnTwist * turn_(memory);
  } else if (gait.kind == GaitKind::VerticalWave || gait.kind == GaitKind::Serpenoid ||
             gait.kind == GaitKind::Anguilliform) {
    steering.yaw_offset = kMaxYawOffset * turn_(memory);
  }
  return steering;
}

/// Commands the blend of two gaits on one phase, or of the start pose and the first gait. Returns
/// its frequency [1/s].
double GaitController::blend_gaits(double time, std::span<const double> memory,
                                   SnakeCommand& command) noexcept {
  const bool from_start = from_stage_(memory) < 0;
  const bool wraps = from_start && wrap_ != Wrap::No;
  const double passed = (time - fade_start_(memory)) / (from_start ? ramp_time_ : fade_time_);
  const double fraction = smooth_step(wraps ? passed / kWrappedFraction : passed).value;
  const Gait& to = stages_[to_stage_(memory)].gait;
  if (wraps) {
    wrap_angles(to, passed, fraction, memory);
  } else {
    gait_angles(to, steering(to, memory), phase_(memory), to_);
  }
  if (follower_) {
    for (int j = 0; j < joints_; ++j) to_[static_cast<std::size_t>(j)] += bends_(memory)[j];
  }
  double frequency = fraction * to.frequency;
  if (from_start) {
    std::copy_n(start_angles_(memory).data(), joints_, from_.begin());
  } else {
    const Gait& from = stages_[from_stage_(memory)].gait;
    gait_angles(from, steering(from, memory), phase_(memory), from_);
    frequency += (1.0 - fraction) * from.frequency;
  }
  for (int j = 0; j < joints_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    command.q[j] =
        std::clamp((1.0 - fraction) * from_[i] + fraction * to_[i], -joint_limit_, joint_limit_);
  }
  return frequency;
}

/// Computes the angles of a coil that closes around the pole. Curvature and torsion grow together,
/// so that it keeps its small pitch meanwhile; then it is stretched along the pole.
void GaitController::wrap_angles(const Gait& closed, double passed, double fraction,
                                 std::span<const double> memory) noexcept {
  Gait opened = closed;
  const double stretch = smooth_step((passed - kWrappedFraction) / (1.0 - kWrappedFraction)).value;
  opened.lag *= kWrapPitch * fraction + (1.0 - kWrapPitch) * stretch;
  gait_angles(opened, {}, phase_(memory) - (closed.lag - opened.lag) * middle(), to_);
}

/// Straightens the body from head to tail, `time` [s] after the release began.
void GaitController::straighten(double time, SnakeCommand& command) const noexcept {
  const double front = (1.0 + kFrontLength) * time / release_time_;
  for (int j = 0; j < joints_; ++j) {
    const double from_head = 1.0 - static_cast<double>(j) / (joints_ - 1);
    command.q[j] *= 1.0 - smooth_step((front - from_head) / kFrontLength).value;
  }
}

int GaitController::path(const SnakeMeasurement& /*measurement*/, std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
  return follower_ ? follower_->points(path_memory_(memory), points) : 0;
}

}  // namespace tendril
