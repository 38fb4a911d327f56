#include "controllers/arm/follow_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
// Jams, in radii of the body.
constexpr double kRetreatRadii = 2.0;    // by which the arm is retracted
constexpr double kShiftRadii = 0.5;      // by which the path is shifted, each time
constexpr double kSamePlaceRadii = 4.0;  // within which jams count as attempts at one place
// Settling, in fractions of the tip error at which the feed stops.
constexpr double kNearFraction = 0.5;    // from the path
constexpr double kStillFraction = 0.25;  // of a tip that is still

Path read_path(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.size() < 6 || numbers.size() % 3 != 0) {
    throw ModelError(fmt::format(
        "waypoints: {} numbers: must be at least two points of three coordinates", numbers.size()));
  }
  std::vector<Eigen::Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    points.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  const double radius = settings.number("corner_radius");
  if (points[0].head<2>().norm() > 1e-9 || points[0].z() < -1e-9) {
    throw ModelError(
        "waypoints: point 1 must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame");
  }
  const auto curve = [&] { return radius > 0.0 ? rounded_path(points, radius) : Path(points); };
  try {
    Path path = curve();  // without rounding first: messages number the user's points
    if (points[0].z() <= 1e-9) return path;
    points.insert(points.begin(), Eigen::Vector3d::Zero());
    return curve();
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("waypoints: {}", error.what()));
  }
}

/// The path must be straight along the feed axis over the feed, and no bend may exceed the limits
/// of the sections that pass through it.
void check_path(const Path& path, const ContinuumRobot& robot, double feed_end) {
  for (double s = 0.0; s < feed_end; s += kCheckSpacing) {
    if (path.position(s).head<2>().norm() > 1e-6) {
      throw ModelError(fmt::format(
          "waypoints: the path leaves the feed axis at {}: must be straight along +z of the arm's "
          "base frame, in which waypoints are, for the {} that the base is fed",
          millimeters(s), millimeters(feed_end)));
    }
  }
  double offset = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    const double length =
        section.length() + robot.straight()[static_cast<std::size_t>(i)].extension;
    const double limit =
        section.bend_angle_limit_at(robot.straight()[static_cast<std::size_t>(i)].extension);
    const double tightest = length / limit;
    for (double s = offset; s <= offset + feed_end; s += kCheckSpacing) {
      const auto bend = [&](double a, double b) {
        return std::acos(std::clamp(path.tangent(a).dot(path.tangent(b)), -1.0, 1.0));
      };
      const double whole = bend(s, s + length);
      if (whole > limit * 1.001) {
        throw ModelError(fmt::format(
            "waypoints: the path turns by {:g} rad between {} and {}: section {} bends by at most "
            "{:g} rad",
            whole, millimeters(s), millimeters(s + length), i + 1, limit));
      }
      const double end = s + length;  // the distal end passes every point of the path
      const double local = bend(end - kCheckSpacing, end + kCheckSpacing);
      const double radius =
          local > 1e-9 ? 2 * kCheckSpacing / local : std::numeric_limits<double>::infinity();
      if (radius < kRadiusTolerance * tightest) {
        throw ModelError(fmt::format(
            "waypoints: the path bends with a radius of {} at {}: section {} bends with at least "
            "{}; choose a larger corner_radius",
            millimeters(radius), millimeters(end), i + 1, millimeters(tightest)));
      }
    }
    offset += length;
  }
}

}  // namespace

std::span<const SettingInfo> FollowController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::numbers(
          "waypoints", "m",
          "points of the path in the arm's base frame, x y z each; the first on the feed axis"),
      setting::number(
          "corner_radius", "m", "0", kNotNegative,
          "the corners of the waypoints' polyline are rounded with arcs of this radius"),
      setting::body_name("target", "",
                         "mocap body whose trail is followed when there are no waypoints"),
      setting::number("trail_spacing", "m", "0.004", {1e-4, 1.0},
                      "the trail gets a new point when the target has moved this far"),
      setting::speed("0.055"),
      setting::acceleration("0.2"),
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
  static const std::vector<SettingInfo> kAll = joined({kSettings,
                                                       JamDetector::kSettings,
                                                       {&kRetries, 1},
                                                       FollowPosesController::settings(),
                                                       tip_integral_settings()});
  return kAll;
}

FollowController::FollowController(const ArmContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      body_radius_(context.body_radius),
      start_delay_(context.settings.number("start_delay")),
      feed_end_(robot_.base().feed_limit),
      jam_(context.settings, context.feed_force_limit),
      retries_(context.settings.integer("jam_retries")),
      trail_(!context.settings.has("waypoints")),
      trail_spacing_(context.settings.number("trail_spacing")),
      body_first_(context.settings.choice<FitNorm>("fit") == FitNorm::Body),
      drive_(robot_, FeedDrive::Limits::from(context.settings),
             context.settings.choice<FitNorm>("fit")),
      first_fit_(robot_, {.iterations = 30, .norm = context.settings.choice<FitNorm>("fit")}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      compensates_(context.settings.flag("deflection_compensation")),
      deflection_(robot_),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()),
      q_candidate_(robot_.coordinate_count()) {
  context.scene.measure_target("target");
  if (feed_end_ <= 0.0)
    throw ModelError("robot: base.feed = 0: must be > 0: the arm is fed along the path");
  if (trail_) {
    begin_trail(context.settings);
  } else {
    plan_path(context.settings);
  }
}

void FollowController::plan_path(const Settings& settings) {
  path_ = read_path(settings);
  feed_end_ = std::min(feed_end_, path_.length() - arm_length_);
  if (feed_end_ <= 0.0) {
    throw ModelError("waypoints: path length = " + millimeters(path_.length()) +
                     ": must exceed the arm's length of " + millimeters(arm_length_));
  }
  check_path(path_, robot_, feed_end_);
  least_deviation_ = least_deviation(robot_, path_, feed_end_).distance;
}

/// Initially the path is the arm's own straight line.
void FollowController::begin_trail(const Settings& settings) {
  if (!settings.has("target"))
    throw ModelError(
        "waypoints: missing: must be given, or poses, or a target whose trail is followed");
  // At most what the feed can use, plus the two points of the arm's initial line.
  trail_capacity_ = static_cast<int>(std::ceil(feed_end_ / trail_spacing_)) + 3;
  trail_count_ = memory_.index(2, trail_capacity_);
  Eigen::MatrixXd points = Eigen::MatrixXd::Zero(kTrailRows, trail_capacity_);
  points.col(1).tail<2>().setConstant(arm_length_);
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
  const double ramp = robot_.section(robot_.section_count() - 1).length();
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
  Eigen::Vector3d push = Eigen::Vector3d::Zero();
  for (const MeasuredContact& contact : measurement.contacts)
    if (is_at_tip(contact)) push += contact.force * contact.normal;
  push = across(memory, s, push);
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
  load_shape(memory, next_memory);
  const double last = feed_(memory);
  Feed feed{.base = {.feed = last, .spin = 0.0},
            .end = std::min(feed_end_, std::max(curve_length(next_memory) - arm_length_, last)),
            .retreating = retreating_(memory) && last > retreat_to_(memory)};
  retreating_(next_memory) = feed.retreating;
  watch_jam(measurement, memory, next_memory, feed);
  advance(measurement.timestep, memory, next_memory, feed, command);
  correct(measurement, feed, memory, next_memory, command);
  report.iterations = feed.iterations;
  report_motion(measurement, feed, next_memory, report);
}

/// Loads the shape commanded last; in the first step it is fitted to the path.
void FollowController::load_shape(std::span<const double> memory, std::span<double> next) noexcept {
  load_states(states_memory_(memory), states_);
  if (!started_(memory)) {
    const auto position = [&](double s) { return shifted_curve(next, s); };
    first_fit_.fit(position, {.feed = feed_(memory), .spin = 0.0}, states_);
    started_(next) = true;
  }
  to_coordinates(robot_, states_, q_last_);
}

/// Returns where the tip of a commanded shape should be.
Eigen::Vector3d FollowController::reference(std::span<const SectionState> states,
                                            const BaseState& base,
                                            std::span<const double> memory) const noexcept {
  const bool to_path = !body_first_ || base.feed >= feed_end_;
  return to_path ? shifted_curve(memory, base.feed + arm_length_)
                 : tip_pose(robot_, states, base).translation();
}

/// A jam: tip error or feed force above its limit for the time `jam_time`. The first few times the
/// arm is retracted, to be fed again next to where it was; then it stops for good.
void FollowController::watch_jam(const ArmMeasurement& measurement, std::span<const double> memory,
                                 std::span<double> next, Feed& feed) const noexcept {
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  const double deviation = (tip - reference(states_, feed.base, next)).norm();
  feed.begun = settle(measurement, deviation, memory, next);
  const bool is_watched = (feed.begun || has_waited(measurement)) && !feed.retreating;
  const JamDetector::State jam =
      jam_.step(is_watched, deviation, measurement.feed_force, measurement.timestep,
                jam_memory_(memory), jam_memory_(next));
  const double head = feed.base.feed + arm_length_;
  if (head > jam_at_(memory) + kSamePlaceRadii * body_radius_) attempts_(next) = 0;
  feed.jammed = jam != JamDetector::State::Free;
  if (jam != JamDetector::State::Begins) return;
  if (feed.begun && attempts_(next) < retries_) {
    begin_retreat(measurement, memory, next);
    feed.retreating = true;
    feed.jammed = false;
  } else {
    // The commanded feed returns to the measured one, so that no servo force is stored.
    feed.base.feed = std::clamp(measurement.base.feed, 0.0, feed.base.feed);
  }
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
  const double feed = feed_(memory), at = feed + arm_length_;
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  attempts_(next) = attempts_(next) + 1;
  jams_(next) = jams_(memory) + 1;
  jam_at_(next) = at;
  shift_(next) = across(memory, at, tip - curve(memory, at)) +
                 kShiftRadii * body_radius_ * free_side(measurement, memory, at);
  retreat_to_(next) =
      std::max(0.0, std::min(measurement.base.feed, feed) - kRetreatRadii * body_radius_);
  retreating_(next) = true;
  jam_.release(jam_memory_(next));
}

/// One step of feed, slowed down until every section keeps its rate limit.
void FollowController::advance(double h, std::span<const double> memory, std::span<double> next,
                               Feed& feed, ArmCommand& command) noexcept {
  q_candidate_ = q_last_;
  candidate_ = states_;
  const double last = feed.base.feed;
  const double goal = feed.retreating ? double(retreat_to_(next)) : feed.end;
  const bool moves =
      !feed.jammed && last != goal && (feed.retreating || (feed.begun && last < feed.end));
  if (moves) {
    const auto position = [&](double s) { return shifted_curve(next, s); };
    const FeedDrive::Step step =
        drive_.step(position, last, speed_(memory), goal, h, states_, candidate_, q_candidate_);
    feed.base.feed = step.feed;
    feed.speed = step.speed;
    feed.iterations = FeedDrive::kFitSteps;
  }
  feed_(next) = feed.base.feed;
  speed_(next) = feed.speed;
  store_states(candidate_, states_memory_(next));
  command.q = q_candidate_;
  command.plan = q_candidate_;
  command.q_rate = (q_candidate_ - q_last_) / h;
  command.base = feed.base;
  command.feed_rate = feed.speed;
}

/// Corrects on the measured tip; its reference is the point of the path at the tip's arc length.
void FollowController::correct(const ArmMeasurement& measurement, const Feed& feed,
                               std::span<const double> memory, std::span<double> next,
                               ArmCommand& command) noexcept {
  Eigen::Vector3d off = reference(candidate_, feed.base, next) - measurement.X_BE.translation();
  // Against a wall no correction advances the tip; integrating it would wind up the arm behind.
  for (const MeasuredContact& contact : measurement.contacts) {
    const double into = contact.normal.dot(off);
    if (is_at_tip(contact) && into < 0.0) off -= into * contact.normal;
  }
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = off;
  integral_.update(measurement, error, feed.jammed, integral_memory_(memory),
                   integral_memory_(next), command.q);
  if (compensates_) deflection_.compensate(measurement, command.q);
}

void FollowController::report_motion(const ArmMeasurement& measurement, const Feed& feed,
                                     std::span<const double> memory,
                                     ControllerReport& report) const noexcept {
  report.target = curve(memory, feed.base.feed + arm_length_);
  report.tip_error = (report.target - measurement.X_BE.translation()).norm();
  report.progress = feed.base.feed / feed_end_;
  const bool at_end = !trail_ && feed.base.feed >= feed_end_;
  const bool on_path = report.tip_error <= jam_.tip_error_limit();
  report.status = feed.jammed ? ControllerStatus::Jammed
                  : !at_end   ? ControllerStatus::Working
                  : on_path   ? ControllerStatus::Finished
                              : ControllerStatus::NotReached;
  own(report, "waypoint_error") = kUnknown;
  own(report, "least_deviation") = least_deviation_;
  own(report, "jams") = jams_(memory);
}

int FollowController::path(std::span<const double> memory,
                           std::span<Eigen::Vector3d> points) const noexcept {
  const double length = std::min(curve_length(memory), feed_end_ + arm_length_);
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
