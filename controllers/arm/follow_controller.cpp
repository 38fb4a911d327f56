#include "controllers/arm/follow_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/least_deviation.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<FollowController::kQuantities> kOwn;

constexpr double kCheckSpacing = 0.005;  // path checks sample at this spacing [m]
// After a jam, in radii of the body:
constexpr double kRetreat = 2.0;  // the arm is drawn back
constexpr double kShift = 0.5;    // and goes on so far beside where it was, each time
constexpr double kRadiusTolerance =
    0.95;  // tolerance of 5 % on the bend radius: the sampling is coarse

Path read_path(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.size() < 6 || numbers.size() % 3 != 0) {
    throw ModelError("waypoints: " + std::to_string(numbers.size()) +
                     " numbers: must be at least two points of three coordinates");
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
    throw ModelError(std::string("waypoints: ") + error.what());
  }
}

std::string millimeters(double meters) {
  std::ostringstream out;
  out.precision(4);
  out << meters * 1e3 << " mm";
  return out.str();
}

/// The path must be straight along the feed axis over the feed, and no bend may exceed the limits
/// of the sections that pass through it.
void check_path(const Path& path, const ContinuumRobot& robot, double feed_end) {
  for (double s = 0.0; s < feed_end; s += kCheckSpacing) {
    if (path.position(s).head<2>().norm() > 1e-6) {
      throw ModelError("waypoints: the path leaves the feed axis at " + millimeters(s) +
                       ": must be straight along +z for the " + millimeters(feed_end) +
                       " that the base is fed");
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
        std::ostringstream out;
        out << "waypoints: the path turns by " << whole << " rad between " << millimeters(s)
            << " and " << millimeters(s + length) << ": section " << i + 1 << " bends by at most "
            << limit << " rad";
        throw ModelError(out.str());
      }
      const double end = s + length;  // the distal end passes every point of the path
      const double local = bend(end - kCheckSpacing, end + kCheckSpacing);
      const double radius =
          local > 1e-9 ? 2 * kCheckSpacing / local : std::numeric_limits<double>::infinity();
      if (radius < kRadiusTolerance * tightest) {
        throw ModelError("waypoints: the path bends with a radius of " + millimeters(radius) +
                         " at " + millimeters(end) + ": section " + std::to_string(i + 1) +
                         " bends with at least " + millimeters(tightest) +
                         "; choose a larger corner_radius");
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
      setting::number("speed", "m/s", "0.055", {0.0, 10.0, true}, "of the feed along the path"),
      setting::number("acceleration", "m/s^2", "0.2", {0.0, 1000.0, true}, "of the feed"),
      setting::number("rate_limit", "rad/s", "3", {0.0, 1000.0, true},
                      "largest bend rate of a section; the feed slows down to keep it"),
      setting::choice("fit", "tip body",
                      "tip: the tip stays on the path; body: the body's largest deviation is "
                      "minimized (narrow tubes)"),
      setting::number(
          "start_delay", "s", "1", kNotNegative,
          "time for the arm to come to rest before it is fed; up to 5 s longer until "
          "its tip has stayed within a quarter of `jam_tip_error` for 0.25 s, no farther "
          "from the path than half of it"),
  };
  static constexpr SettingInfo kRetries = setting::integer(
      "jam_retries", "3", 0, 100,
      "times that the arm is drawn back from a jam and fed again, a little farther to the side to "
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
      drive_(robot_,
             {.speed = context.settings.number("speed"),
              .acceleration = context.settings.number("acceleration"),
              .rate_limit = context.settings.number("rate_limit")},
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
    if (!context.settings.has("target"))
      throw ModelError(
          "waypoints: missing: must be given, or poses, or a target whose trail is followed");
    // At most what the feed can use, plus the two points of the arm's initial line.
    trail_capacity_ = static_cast<int>(std::ceil(feed_end_ / trail_spacing_)) + 3;
  } else {
    path_ = read_path(context.settings);
    feed_end_ = std::min(feed_end_, path_.length() - arm_length_);
    if (feed_end_ <= 0.0) {
      throw ModelError("waypoints: path length = " + millimeters(path_.length()) +
                       ": must exceed the arm's length of " + millimeters(arm_length_));
    }
    check_path(path_, robot_, feed_end_);
    least_deviation_ = least_deviation(robot_, path_, feed_end_).distance;
  }
  feed_ = memory_.number();
  speed_ = memory_.number();
  started_ = memory_.flag();
  feeding_ = memory_.flag();
  settled_time_ = memory_.number();
  still_tip_ = memory_.vector(3);
  jam_memory_ = memory_.part(jam_.layout());
  states_memory_ = add_states(memory_, robot_);
  integral_memory_ = memory_.part(integral_.layout());
  attempts_ = memory_.counter();
  jams_ = memory_.counter();
  retreating_ = memory_.flag();
  retreat_to_ = memory_.number();
  jam_at_ = memory_.number();
  shift_ = memory_.vector(3);
  if (!trail_) return;
  // Initially the path is the arm's own straight line.
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
  const double part = smooth_step((s - jam_at_(memory)) / ramp + 1.0).value;
  return curve(memory, s) + part * shift_(memory);
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
  const double h = measurement.timestep;
  if (trail_) extend_trail(measurement, next_memory);
  const auto position = [&](double s) { return shifted_curve(next_memory, s); };

  const double feed_last = feed_(memory);
  const double feed_end =
      std::min(feed_end_, std::max(curve_length(next_memory) - arm_length_, feed_last));
  BaseState base{.feed = feed_last, .spin = 0.0};
  load_states(states_memory_(memory), states_);
  if (!started_(memory)) {
    first_fit_.fit(position, base, states_);
    started_(next_memory) = true;
  }
  to_coordinates(robot_, states_, q_last_);

  // 1. Jam: tip error or feed force above its limit for the time `jam_time`. The first few times
  // the arm is drawn back and fed again from there, beside where it was.
  bool retreating = retreating_(memory);
  if (retreating && feed_last <= retreat_to_(memory)) {
    retreating = false;
    retreating_(next_memory) = false;
  }
  const auto reference = [&](std::span<const SectionState> states, const BaseState& at) {
    const bool to_path = !body_first_ || at.feed >= feed_end_;
    return to_path ? position(at.feed + arm_length_) : tip_pose(robot_, states, at).translation();
  };
  const Eigen::Vector3d tip = measurement.X_BE.translation();
  const double deviation = (tip - reference(states_, base)).norm();
  // A long arm sags until the integral has raised it: that is no jam, unless it goes on.
  const bool waited = measurement.time >= start_delay_ + kLongestSettling;
  const bool near = deviation <= (waited ? 1.0 : 0.5) * jam_.tip_error_limit();
  const bool still =
      started_(memory) && (tip - still_tip_(memory)).norm() <= 0.25 * jam_.tip_error_limit();
  if (!still) still_tip_(next_memory) = tip;
  const double settled_time =
      near && (still || waited || !started_(memory)) ? settled_time_(memory) + h : 0.0;
  settled_time_(next_memory) = std::min(settled_time, 2.0 * kSettledTime);
  const bool settled = settled_time >= std::min(kSettledTime, measurement.time);
  const bool feeding = feeding_(memory) || (measurement.time >= start_delay_ && settled);
  feeding_(next_memory) = feeding;
  const JamDetector::State jam =
      jam_.step((feeding || waited) && !retreating, deviation, measurement.feed_force, h,
                jam_memory_(memory), jam_memory_(next_memory));
  if (feed_last + arm_length_ > jam_at_(memory) + 4.0 * body_radius_) attempts_(next_memory) = 0;
  bool jammed = jam != JamDetector::State::Free;
  if (jam == JamDetector::State::Begins && feeding && attempts_(next_memory) < retries_) {
    const double at = feed_last + arm_length_;
    attempts_(next_memory) = attempts_(next_memory) + 1;
    jams_(next_memory) = jams_(memory) + 1;
    jam_at_(next_memory) = at;
    shift_(next_memory) = across(memory, at, tip - curve(memory, at)) +
                          kShift * body_radius_ * free_side(measurement, memory, at);
    retreat_to_(next_memory) =
        std::max(0.0, std::min(measurement.base.feed, feed_last) - kRetreat * body_radius_);
    retreating = true;
    retreating_(next_memory) = true;
    jam_.release(jam_memory_(next_memory));
    jammed = false;
  }
  // Release: the commanded feed returns to the measured one, so that no servo force is stored.
  if (jammed && jam == JamDetector::State::Begins)
    base.feed = std::clamp(measurement.base.feed, 0.0, feed_last);

  // 2. One step of feed, slowed down until every section keeps its rate limit.
  double speed = 0.0;
  q_candidate_ = q_last_;
  candidate_ = states_;
  const double goal = retreating ? retreat_to_(next_memory) : feed_end;
  if (!jammed && feed_last != goal && (retreating || (feeding && feed_last < feed_end))) {
    const FeedDrive::Step step = drive_.step(position, feed_last, speed_(memory), goal, h, states_,
                                             candidate_, q_candidate_);
    base.feed = step.feed;
    speed = step.speed;
    report.iterations = FeedDrive::kFitSteps;
  }
  feed_(next_memory) = base.feed;
  speed_(next_memory) = speed;
  store_states(candidate_, states_memory_(next_memory));
  command.q = q_candidate_;
  command.plan = q_candidate_;
  command.q_rate = (q_candidate_ - q_last_) / h;
  command.base = base;
  command.feed_rate = speed;

  // 3. Correct on the measured tip; its reference is the point of the path at the tip's arc length.
  const Eigen::Vector3d desired_tip = curve(next_memory, base.feed + arm_length_);
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  // Against a wall no correction brings the tip on; integrating it would wind up the arm behind.
  Eigen::Vector3d off = reference(candidate_, base) - tip;
  for (const MeasuredContact& contact : measurement.contacts) {
    const double into = contact.normal.dot(off);
    if (is_at_tip(contact) && into < 0.0) off -= into * contact.normal;
  }
  error.head<3>() = off;
  integral_.update(measurement, error, jammed, integral_memory_(memory),
                   integral_memory_(next_memory), command.q);
  if (compensates_) deflection_.compensate(measurement, command.q);

  report.tip_error = (desired_tip - tip).norm();
  report.status = ControllerStatus::Working;
  if (jammed) {
    report.status = ControllerStatus::Jammed;
  } else if (!trail_ && base.feed >= feed_end_) {  // beside its path it has not arrived
    report.status = report.tip_error <= jam_.tip_error_limit() ? ControllerStatus::Finished
                                                               : ControllerStatus::NotReached;
  }
  report.progress = base.feed / feed_end_;
  kOwn(report, "waypoint_error") = kUnknown;
  kOwn(report, "least_deviation") = least_deviation_;
  kOwn(report, "jams") = jams_(next_memory);
  report.target = desired_tip;
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
