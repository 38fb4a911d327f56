#include "controllers/arm/follow_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/path_settings.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/messages.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/least_deviation.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<FollowController::kQuantities> own;

constexpr double kCheckSpacing = 0.005;    // path checks sample at this spacing [m]
constexpr double kRadiusTolerance = 0.95;  // of the bend radius: the sampling is coarse
constexpr double kNoBend = 1e-6;           // [rad]
constexpr double kRetracted = 1e-9;        // lengths are equal up to this [m]
constexpr double kFeedGain = 2.0;  // of the correction of the feed, against that of the bends
constexpr double kMaxLag = 0.5;    // of the bends behind the path, at which the tip waits [rad]
// Jams, in radii of the body.
constexpr double kRetreatRadii = 2.0;    // by which the arm is retracted
constexpr double kShiftRadii = 0.5;      // by which the path is shifted, each time
constexpr double kSamePlaceRadii = 4.0;  // within which jams count as attempts at one place
// Settling, in fractions of the tip error at which the feed stops.
constexpr double kNearFraction = 0.5;    // from the path
constexpr double kStillFraction = 0.25;  // of a tip that is still

Growth read_growth(const Settings& settings, const ContinuumRobot& robot) {
  enum class Choice { Auto, Base, Tip, None };
  bool can_grow = false, telescopic = true;
  for (int i = 0; i < robot.section_count(); ++i) {
    can_grow = can_grow || robot.section(i).is_extensible();
    if (robot.section(i).is_extensible() && robot.section(i).length() > 0.0) telescopic = false;
  }
  const auto choice = settings.choice<Choice>("growth");
  if (!can_grow && (choice == Choice::Base || choice == Choice::Tip))
    throw ModelError(fmt::format("growth = {}: needs a section with a variable_length",
                                 settings.text("growth")));
  switch (choice) {
    case Choice::Base:
      return Growth::FromBase;
    case Choice::Tip:
      return Growth::FromTip;
    case Choice::None:
      return Growth::None;
    case Choice::Auto:
      break;
  }
  if (!can_grow || robot.base().feed_limit > 0.0) return Growth::None;
  return telescopic ? Growth::FromBase : Growth::FromTip;
}

/// Lengths of sections that grow are at the ends of their ranges, where a servo takes no correction
/// past them: it would only be stored up until they grow.
TipIntegralOptions read_correction(const ArmContext& context, const Advance& advance) {
  TipIntegralOptions options = read_tip_integral(context.settings, context.timestep);
  if (const int first = first_past_shaft(context); first > 0) {
    options.corrected = sections_from(context.robot, first);
    options.supported = true;
  }
  options.within_lengths = advance.growth() != Growth::None;
  return options;
}

std::optional<SteeredTip> steered_tip(const ArmContext& context) {
  const int first = first_past_shaft(context);
  if (first == 0) return std::nullopt;
  return SteeredTip(context.robot, first, context.settings.number("rate_limit"),
                    context.settings.choice<FitNorm>("fit"));
}

/// The path must be straight along the feed axis over the feed.
void check_straight(const Path& path, double feed_end) {
  for (double s = 0.0; s < feed_end; s += kCheckSpacing) {
    if (path.position(s).head<2>().norm() > 1e-6) {
      throw ModelError(
          fmt::format("the path leaves the feed axis at {}: must be straight along +z of the arm's "
                      "base frame, in which waypoints are, for the {} that the base is fed",
                      millimeters(s), millimeters(feed_end)));
    }
  }
}

/// The bend of a path between two of its points [rad].
double bend_between(const Path& path, double a, double b) {
  return std::acos(std::clamp(path.tangent(a).dot(path.tangent(b)), -1.0, 1.0));
}

/// No bend of the path may exceed the limits of a section of this state that begins at `start`; its
/// distal end passes every point.
void check_section(const Path& path, const Section& section, int number, double extension,
                   double start) {
  const double length = section.length() + extension, end = start + length;
  const double limit = section.bend_angle_limit_at(extension);
  const double whole = bend_between(path, start, end);
  if (whole > limit * 1.001 + kNoBend) {
    throw ModelError(
        fmt::format("the path turns by {:g} rad between {} and {}: section {} bends by at most "
                    "{:g} rad",
                    whole, millimeters(start), millimeters(end), number, limit));
  }
  if (limit <= kNoBend) return;
  const double tightest = length / limit;
  const double local = bend_between(path, end - kCheckSpacing, end + kCheckSpacing);
  const double radius =
      local > 1e-9 ? 2 * kCheckSpacing / local : std::numeric_limits<double>::infinity();
  if (radius < kRadiusTolerance * tightest) {
    throw ModelError(
        fmt::format("the path bends with a radius of {} at {}: section {} bends with at least "
                    "{}; choose a larger radius",
                    millimeters(radius), millimeters(end), number, millimeters(tightest)));
  }
}

/// Checks the bends of all sections up to an advance. A telescopic section that has not begun to
/// grow has hardly a length that it could bend.
void check_bends(const Path& path, const ContinuumRobot& robot, const Advance& advance,
                 double advance_end) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  for (double advanced = 0.0; advanced <= advance_end; advanced += kCheckSpacing) {
    double start = advance.apply(advanced, states).feed;
    for (int i = 0; i < robot.section_count(); ++i) {
      const Section& section = robot.section(i);
      const double extension = states[static_cast<std::size_t>(i)].extension;
      if (section.length() > 0.0 || extension > section.retracted() + kCheckSpacing)
        check_section(path, section, i + 1, extension, start);
      start += section.length() + extension;
    }
  }
}

}  // namespace

std::span<const SettingInfo> FollowController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::body_name(
          "target", "",
          "mocap body whose trail is followed when there are no waypoints, arcs or centerline"),
      setting::number("trail_spacing", "m", "0.004", {1e-4, 1.0},
                      "the trail gets a new point when the target has moved this far"),
      setting::choice("growth", "auto base tip none",
                      "sections of variable length grow one after the other, after the feed: from "
                      "the base (what has grown stays where it is; for telescopic sections) or "
                      "from the tip; none: they keep half of their variable length. auto: none of "
                      "a base with a feed; else from the base if all that grow are telescopic"),
      setting::speed("0.055", "of the feed or growth"),
      setting::acceleration("0.2", "of the feed or growth"),
      setting::rate_limit("3"),
      setting::choice("fit", "tip body",
                      "tip: the tip remains on the path; body: the body's largest deviation is "
                      "minimized (narrow tubes)"),
      setting::start_delay(
          "1",
          "time for the arm to come to rest before it is fed; up to 5 s longer until "
          "its tip has stayed within a quarter of `jam_tip_error` for 0.25 s, no farther "
          "from the path than half of it"),
  };
  static constexpr SettingInfo kRetries = setting::integer(
      "jam_retries", "3", 0, 100,
      "times that the arm is retracted from a jam and fed again, a little farther to the side to "
      "which the wall pushes it; then it stops for good");
  static const std::vector<SettingInfo> kAll = joined({path_settings(),
                                                       kSettings,
                                                       JamDetector::kSettings,
                                                       {&kRetries, 1},
                                                       FollowPosesController::settings(),
                                                       tip_integral_settings()});
  return kAll;
}

FollowController::FollowController(const ArmContext& context)
    : robot_(context.robot),
      steered_(steered_tip(context)),
      advance_(robot_, read_growth(context.settings, robot_)),
      speed_limit_(context.settings.number("speed")),
      body_radius_(context.body_radius),
      start_delay_(context.settings.number("start_delay")),
      tip_contacts_(context),
      advance_end_(advance_.limit()),
      jam_(context.settings, context.feed_force_limit),
      retries_(context.settings.integer("jam_retries")),
      trail_(!gives_path(context.settings)),
      trail_spacing_(context.settings.number("trail_spacing")),
      body_first_(!steered_ && context.settings.choice<FitNorm>("fit") == FitNorm::Body),
      drive_(robot_, advance_, FeedDrive::Limits::from(context.settings),
             context.settings.choice<FitNorm>("fit")),
      first_fit_(robot_, {.iterations = 30, .norm = context.settings.choice<FitNorm>("fit")}),
      integral_(robot_, read_correction(context, advance_), context.timestep),
      feed_gain_(context.settings.number("integral_gain")),
      compensates_(context.settings.flag("deflection_compensation")),
      deflection_(robot_),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()),
      q_candidate_(robot_.coordinate_count()) {
  context.scene.measure_target("target");
  if (steered_) {
    if (trail_ || advance_.growth() != Growth::None)
      throw ModelError(
          "robot: section 1 is passive (bend_servo = false): a passive shaft is fed along "
          "waypoints, "
          "arcs or a centerline, not along a trail, and grows by no growth");
    steered_memory_ = memory_.part(steered_->layout());
  }
  if (advance_end_ <= 0.0)
    throw ModelError(
        "robot: base.feed = 0: must be > 0, or sections must grow: the arm advances along the "
        "path");
  if (trail_) {
    begin_trail(context.settings);
  } else {
    plan_path(context.settings);
  }
}

void FollowController::plan_path(const Settings& settings) {
  if (settings.has("arcs") && settings.has("target"))
    throw ModelError("arcs and target: must be one of them: only one path can be followed");
  path_ = read_path(settings);
  advance_end_ = std::min(advance_end_, path_.length() - advance_.start_length());
  try {
    if (advance_end_ <= 0.0)
      throw ModelError("path length = " + millimeters(path_.length()) +
                       ": must exceed the arm's length of " + millimeters(advance_.start_length()));
    check_straight(path_, std::min(advance_end_, robot_.base().feed_limit));
    if (!steered_) check_bends(path_, robot_, advance_, advance_end_);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", path_key(settings), error.what()));
  }
  if (!steered_) least_deviation_ = least_deviation(robot_, path_, advance_, advance_end_).distance;
}

/// Initially the path is the arm's own straight line.
void FollowController::begin_trail(const Settings& settings) {
  if (!settings.has("target"))
    throw ModelError(
        "waypoints: missing: must be given, or arcs, or a centerline, or poses, or a target whose "
        "trail is followed");
  // At most what the advance can use, plus the two points of the arm's initial line.
  trail_capacity_ = static_cast<int>(std::ceil(advance_end_ / trail_spacing_)) + 3;
  trail_count_ = memory_.index(2, trail_capacity_);
  Eigen::MatrixXd points = Eigen::MatrixXd::Zero(kTrailRows, trail_capacity_);
  points.col(1).tail<2>().setConstant(advance_.start_length());
  trail_points_ = memory_.matrix(points);
}

Eigen::Vector3d FollowController::curve(std::span<const double> memory, double s) const noexcept {
  if (!trail_) return path_.position(s);
  const auto points = trail_points_(memory);
  int low = 0, high = trail_count_(memory) - 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (points(3, middle) <= s ? low : high) = middle;
  }
  const double fraction = (s - points(3, low)) / (points(3, high) - points(3, low));
  const Eigen::Vector3d p = points.col(low).head<3>();
  return p + fraction * (points.col(high).head<3>() - p);
}

Eigen::Vector3d FollowController::shifted_curve(std::span<const double> memory,
                                                double s) const noexcept {
  // Over the length of the last section before the jam.
  const double ramp = robot_.section(robot_.section_count() - 1).max_length();
  const double fraction = smooth_step((s - jam_at_(memory)) / ramp + 1.0).value;
  return curve(memory, s) + fraction * shift_(memory);
}

Eigen::Vector3d FollowController::across(std::span<const double> memory, double s,
                                         const Eigen::Vector3d& v) const noexcept {
  constexpr double kStep = 0.001;  // [m]
  const Eigen::Vector3d along = (curve(memory, s + kStep) - curve(memory, s - kStep)).normalized();
  return v - along * along.dot(v);
}

Eigen::Vector3d FollowController::free_side(const ArmMeasurement& measurement,
                                            std::span<const double> memory,
                                            double s) const noexcept {
  const Eigen::Vector3d push = across(memory, s, tip_contacts_.push(measurement));
  const double norm = push.norm();
  return norm > 1e-3 ? Eigen::Vector3d(push / norm) : Eigen::Vector3d::Zero();
}

double FollowController::curve_length(std::span<const double> memory) const noexcept {
  return trail_ ? trail_points_(memory)(3, trail_count_(memory) - 1) : path_.length();
}

void FollowController::extend_trail(const ArmMeasurement& measurement,
                                    std::span<double> memory) const noexcept {
  const int count = trail_count_(memory);
  if (!measurement.has_target || count >= trail_capacity_) return;
  auto points = trail_points_(memory);
  const Eigen::Vector3d target = measurement.X_BG.translation();
  const double distance = (target - points.col(count - 1).head<3>()).norm();
  if (!(distance >= trail_spacing_) || !std::isfinite(distance)) return;
  points.col(count) << target, curve_length(memory) + distance;
  trail_count_(memory) = count + 1;
}

void FollowController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                              std::span<double> next_memory, ArmCommand& command,
                              ControllerReport& report) noexcept {
  if (trail_) extend_trail(measurement, next_memory);
  const double last = advanced_(memory);
  Motion motion{
      .advance = last,
      .end = std::min(advance_end_,
                      std::max(curve_length(next_memory) - advance_.start_length(), last)),
      .retracted = load_shape(measurement, memory, next_memory),
      .retreating = retreating_(memory) && last > retreat_to_(memory)};
  retreating_(next_memory) = motion.retreating;
  watch_jam(measurement, memory, next_memory, motion);
  motion.goal = motion.retreating ? double(retreat_to_(next_memory)) : motion.end;
  motion.moves = !motion.jammed && last != motion.goal &&
                 (motion.retreating || (motion.begun && last < motion.end));
  if (steered_) {
    advance_tip(measurement, memory, next_memory, motion, command);
    correct_tip(measurement, motion, memory, next_memory, command);
  } else {
    advance(measurement.timestep, memory, next_memory, motion, command);
    correct(measurement, motion, memory, next_memory, command);
  }
  report.iterations = motion.iterations;
  report_motion(measurement, motion, next_memory, report);
}

/// Loads the shape commanded last; in the first step it is fitted to the path. Returns whether its
/// lengths are those of the advance. If not, as at the start of an arm that grows, they become so
/// at the speed of the advance.
bool FollowController::load_shape(const ArmMeasurement& measurement, std::span<const double> memory,
                                  std::span<double> next) noexcept {
  if (steered_) {
    steered_->locate(measurement);
    started_(next) = true;
    return true;
  }
  load_states(states_memory_(memory), states_);
  if (!started_(memory)) {
    for (int i = 0; i < robot_.section_count(); ++i)
      if (robot_.section(i).is_extensible())
        states_[static_cast<std::size_t>(i)].extension =
            measurement.q[robot_.coordinate_index(i) + 2];
  }
  to_coordinates(robot_, states_, q_last_);
  candidate_ = states_;
  const BaseState base = advance_.apply(advanced_(memory), candidate_);
  double farthest = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    SectionState& state = states_[static_cast<std::size_t>(i)];
    const double missing = candidate_[static_cast<std::size_t>(i)].extension - state.extension;
    farthest = std::max(farthest, std::abs(missing));
    const double step = speed_limit_ * measurement.timestep;
    state.extension += std::clamp(missing, -step, step);
    state = robot_.clamped(i, state);
  }
  if (!started_(memory)) {
    const auto position = [&](double s) { return shifted_curve(next, s); };
    first_fit_.fit(position, base, states_);
    to_coordinates(robot_, states_, q_last_);
    started_(next) = true;
  }
  return farthest <= kRetracted;
}

/// Returns where the tip of a commanded shape should be.
Eigen::Vector3d FollowController::reference(std::span<const SectionState> states, double advance,
                                            std::span<const double> memory) const noexcept {
  const bool to_path = !body_first_ || advance >= advance_end_;
  return to_path ? shifted_curve(memory, head(advance))
                 : tip_pose(robot_, states, advance_.base(advance)).translation();
}

/// A jam: tip error or feed force above its limit for the time `jam_time`. The first few times the
/// arm is retracted, to be fed again next to where it was; then it stops for good.
void FollowController::watch_jam(const ArmMeasurement& measurement, std::span<const double> memory,
                                 std::span<double> next, Motion& motion) const noexcept {
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  const double deviation = (tip - reference(states_, motion.advance, next)).norm();
  motion.begun = motion.retracted && settle(measurement, deviation, memory, next);
  const bool is_watched =
      motion.retracted && (motion.begun || has_waited(measurement)) && !motion.retreating;
  // A tip that swings at the end of the path is no jam.
  const double lag = motion.begun && motion.advance >= motion.end ? 0.0 : deviation;
  const JamDetector::State jam =
      jam_.step(is_watched, lag, measurement.feed_force, measurement.timestep, jam_memory_(memory),
                jam_memory_(next));
  if (head(motion.advance) > jam_at_(memory) + kSamePlaceRadii * body_radius_) attempts_(next) = 0;
  motion.jammed = jam != JamDetector::State::Free;
  if (jam != JamDetector::State::Begins) return;
  if (motion.begun && attempts_(next) < retries_) {
    begin_retreat(measurement, memory, next);
    motion.retreating = true;
    motion.jammed = false;
  } else {
    // The commanded advance returns to the measured one, so that no servo force is stored.
    motion.advance = std::clamp(measured_advance(measurement, memory), 0.0, motion.advance);
  }
}

double FollowController::measured_advance(const ArmMeasurement& measurement,
                                          std::span<const double> memory) const noexcept {
  return advance_.measured(measurement.base, measurement.q) - slack_(memory);
}

/// Returns whether the arm has settled once after the start delay, and is fed.
bool FollowController::settle(const ArmMeasurement& measurement, double deviation,
                              std::span<const double> memory,
                              std::span<double> next) const noexcept {
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  const double limit = jam_.tip_error_limit();
  // A long arm sags until the integral has raised it: that is no jam, unless it lasts.
  const bool waited = has_waited(measurement), started = started_(memory);
  const bool near = deviation <= (waited ? 1.0 : kNearFraction) * limit;
  const bool still = started && (tip - still_tip_(memory)).norm() <= kStillFraction * limit;
  if (!still) still_tip_(next) = tip;
  const double settled_time =
      near && (still || waited || !started) ? settled_time_(memory) + measurement.timestep : 0.0;
  settled_time_(next) = std::min(settled_time, 2.0 * kSettledTime);
  const bool settled = settled_time >= std::min(kSettledTime, measurement.time);
  const bool begun = feeding_(memory) || (measurement.time >= start_delay_ && settled);
  feeding_(next) = begun;
  return begun;
}

/// Retracts the arm from a jam. From there on the path is shifted to where the tip was, and a
/// little farther to the side to which the wall pushes it.
void FollowController::begin_retreat(const ArmMeasurement& measurement,
                                     std::span<const double> memory,
                                     std::span<double> next) const noexcept {
  const double last = advanced_(memory), at = head(last);
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  attempts_(next) = attempts_(next) + 1;
  jams_(next) = jams_(memory) + 1;
  jam_at_(next) = at;
  shift_(next) = across(memory, at, tip - curve(memory, at)) +
                 kShiftRadii * body_radius_ * free_side(measurement, memory, at);
  const double measured = measured_advance(measurement, memory);
  retreat_to_(next) = std::max(0.0, std::min(measured, last) - kRetreatRadii * body_radius_);
  retreating_(next) = true;
  jam_.release(jam_memory_(next));
}

/// One step of advance, slowed down until every section keeps its rate limit.
void FollowController::advance(double h, std::span<const double> memory, std::span<double> next,
                               Motion& motion, ArmCommand& command) noexcept {
  candidate_ = states_;
  to_coordinates(robot_, candidate_, q_candidate_);
  const double last = motion.advance;
  if (motion.moves) {
    const auto position = [&](double s) { return shifted_curve(next, s); };
    const FeedDrive::Step step = drive_.step(position, last, speed_(memory), motion.goal, h,
                                             states_, candidate_, q_candidate_);
    motion.advance = step.advance;
    motion.speed = step.speed;
    motion.iterations = FeedDrive::kFitSteps;
  }
  advanced_(next) = motion.advance;
  speed_(next) = motion.speed;
  store_states(candidate_, states_memory_(next));
  command.q = q_candidate_;
  command.plan = q_candidate_;
  command.q_rate = (q_candidate_ - q_last_) / h;
  command.base = advance_.base(motion.advance);
  if (motion.moves) command.feed_rate = (command.base.feed - advance_.base(last).feed) / h;
}

/// Corrects on the measured tip; its reference is the point of the path at the tip's arc length.
void FollowController::correct(const ArmMeasurement& measurement, const Motion& motion,
                               std::span<const double> memory, std::span<double> next,
                               ArmCommand& command) noexcept {
  const Eigen::Vector3d off =
      reference(candidate_, motion.advance, next) - measurement.X_BE.translation();
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = tip_contacts_.correctable(measurement, off);
  integral_.update(measurement, error, motion.jammed, integral_memory_(memory),
                   integral_memory_(next), command.q);
  if (compensates_) deflection_.compensate(measurement, command.plan, command.q);
}

/// One step of the advance of a tip behind a passive shaft: slower while its bends are behind.
void FollowController::advance_tip(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next,
                                   Motion& motion, ArmCommand& command) noexcept {
  const double h = measurement.timestep, last = motion.advance;
  const double start =
      nearest_on(path_, steered_->start().translation(), head(last) - steered_->length());
  const double lag =
      steered_->bend([&](double s) { return shifted_curve(next, start + s); }, 1.0, measurement,
                     steered_memory_(memory), steered_memory_(next), command);
  if (motion.moves) {
    const double direction = motion.goal < last ? -1.0 : 1.0;
    const double speed =
        std::clamp(1.0 - lag / kMaxLag, 0.0, 1.0) *
        drive_.limits().next_speed(direction * speed_(memory), std::abs(motion.goal - last), h);
    motion.speed = direction * speed;
    motion.advance = last + motion.speed * h;
  }
  motion.iterations = SteeredTip::kFitSteps;
  advanced_(next) = motion.advance;
  speed_(next) = motion.speed;
}

/// Corrects the bends across the path, and the feed along it.
void FollowController::correct_tip(const ArmMeasurement& measurement, const Motion& motion,
                                   std::span<const double> memory, std::span<double> next,
                                   ArmCommand& command) noexcept {
  const double h = measurement.timestep;
  const Eigen::Vector3d off = tip_contacts_.correctable(
      measurement, shifted_curve(next, head(motion.advance)) - measurement.X_BE.translation());
  const Eigen::Vector3d along = path_.tangent(head(motion.advance));
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = off - along * along.dot(off);
  integral_.update(measurement, error, motion.jammed, integral_memory_(memory),
                   integral_memory_(next), command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);
  const double rate = motion.jammed ? 0.0
                                    : std::clamp(kFeedGain * feed_gain_ * along.dot(off),
                                                 -speed_limit_, speed_limit_);
  const double last = std::clamp(advanced_(memory) + slack_(memory), 0.0, robot_.base().feed_limit);
  slack_(next) = slack_(memory) + h * rate;
  command.base.feed = std::clamp(motion.advance + slack_(next), 0.0, robot_.base().feed_limit);
  command.feed_rate = (command.base.feed - last) / h;
}

void FollowController::report_motion(const ArmMeasurement& measurement, const Motion& motion,
                                     std::span<const double> memory,
                                     ControllerReport& report) const noexcept {
  report.target = curve(memory, head(motion.advance));
  report.tip_error = (report.target - measurement.X_BE.translation()).norm();
  report.progress = motion.advance / advance_end_;
  const bool at_end = !trail_ && motion.advance >= advance_end_;
  const bool on_path = report.tip_error <= jam_.tip_error_limit();
  report.status = motion.jammed ? ControllerStatus::Jammed
                  : !at_end     ? ControllerStatus::Working
                  : on_path     ? ControllerStatus::Finished
                                : ControllerStatus::NotReached;
  own(report, "waypoint_error") = kUnknown;
  own(report, "least_deviation") = least_deviation_;
  own(report, "jams") = jams_(memory);
}

int FollowController::path(std::span<const double> memory,
                           std::span<Eigen::Vector3d> points) const noexcept {
  const double length = std::min(curve_length(memory), head(advance_end_));
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    points[i] = curve(memory, length * static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return static_cast<int>(count);
}

std::span<const Quantity> follow_quantities() {
  static const std::vector<Quantity> all =
      joined_quantities({FollowController::kQuantities, FollowPosesController::kQuantities});
  return all;
}

std::unique_ptr<ArmController> make_follow_controller(const ArmContext& context) {
  if (context.settings.has("poses")) return std::make_unique<FollowPosesController>(context);
  return std::make_unique<FollowController>(context);
}

}  // namespace tendril
