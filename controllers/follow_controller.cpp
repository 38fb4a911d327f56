#include "controllers/follow_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "controllers/arm_memory.hpp"
#include "controllers/follow_poses_controller.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

// Memory layout.
enum Slot : std::size_t { kFeed, kSpeed, kBlockedTime, kJammed, kStarted, kStates };
constexpr std::size_t kTrailPoint = 4;  // x, y, z, arc length

constexpr double kCheckSpacing = 0.005;  // path checks sample at this spacing [m]
constexpr double kRadiusTolerance =
    0.95;  // a bend may be 5 % tighter than a section's tightest: the sampling is coarse

constexpr int kSlowDowns = 4;  // tries to find a feed step that keeps the rate limit
constexpr int kFitSteps = 2;   // Gauss-Newton steps of the warm-started fit in one step

FitNorm read_norm(const Settings& settings) {
  constexpr const char* kNorms[] = {"tip", "body"};
  return settings.choice("fit", kNorms, 0) == 0 ? FitNorm::Tip : FitNorm::Body;
}

double straight_length(const ContinuumRobot& robot) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    length += robot.section(i).length() + robot.straight()[static_cast<std::size_t>(i)].extension;
  }
  return length;
}

Path read_path(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.size() < 6 || numbers.size() % 3 != 0) {
    throw ModelError("waypoints: " + std::to_string(numbers.size()) +
                     " numbers: must be at least two points of three coordinates");
  }
  std::vector<Eigen::Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    points.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  const double radius = settings.number("corner_radius", 0.0, {.low = 0.0});
  if (points[0].head<2>().norm() > 1e-9 || points[0].z() < -1e-9) {
    throw ModelError(
        "waypoints: point 1 must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame");
  }
  const auto curve = [&] { return radius > 0.0 ? rounded_path(points, radius) : Path(points); };
  try {
    Path path = curve();  // as given first: messages count the user's points
    if (points[0].z() <= 1e-9) return path;
    points.insert(points.begin(), Eigen::Vector3d::Zero());
    return curve();
  } catch (const ModelError& error) {
    throw ModelError(std::string("waypoints: ") + error.what());
  }
}

std::string millimetres(double metres) {
  std::ostringstream out;
  out.precision(4);
  out << metres * 1e3 << " mm";
  return out.str();
}

/// The shaft must stay on the feed axis, and no bend may be tighter than the sections that pass
/// through it can bend.
void check_path(const Path& path, const ContinuumRobot& robot, double feed_end) {
  for (double s = 0.0; s < feed_end; s += kCheckSpacing) {
    if (path.position(s).head<2>().norm() > 1e-6) {
      throw ModelError("waypoints: the path leaves the feed axis at " + millimetres(s) +
                       ": must be straight along +z for the " + millimetres(feed_end) +
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
      const auto turn = [&](double a, double b) {
        return std::acos(std::clamp(path.tangent(a).dot(path.tangent(b)), -1.0, 1.0));
      };
      const double whole = turn(s, s + length);
      if (whole > limit * 1.001) {
        std::ostringstream out;
        out << "waypoints: the path turns by " << whole << " rad between " << millimetres(s)
            << " and " << millimetres(s + length) << ": section " << i + 1 << " bends by at most "
            << limit << " rad";
        throw ModelError(out.str());
      }
      const double end = s + length;  // the leading end passes every point of the path
      const double local = turn(end - kCheckSpacing, end + kCheckSpacing);
      const double radius =
          local > 1e-9 ? 2 * kCheckSpacing / local : std::numeric_limits<double>::infinity();
      if (radius < kRadiusTolerance * tightest) {
        throw ModelError("waypoints: the path bends with a radius of " + millimetres(radius) +
                         " at " + millimetres(end) + ": section " + std::to_string(i + 1) +
                         " bends with at least " + millimetres(tightest) +
                         "; choose a larger corner_radius");
      }
    }
    offset += length;
  }
}

}  // namespace

std::span<const SettingInfo> FollowController::settings() {
  static constexpr SettingInfo kOwn[] = {
      {"waypoints", "m", "",
       "points of the path in the arm's base frame, x y z each; the first on the feed axis"},
      {"corner_radius", "m", "0",
       "the corners of the waypoints' polyline are rounded with arcs of this radius"},
      {"target", "", "", "mocap body whose trail is followed when there are no waypoints"},
      {"trail_spacing", "m", "0.004",
       "the trail gets a new point when the target has moved this far"},
      {"speed", "m/s", "0.055", "of the feed along the path"},
      {"acceleration", "m/s^2", "0.2", "of the feed"},
      {"rate_limit", "rad/s", "3",
       "fastest bend change of a section; the feed slows down to keep it"},
      {"fit", "", "tip",
       "tip: the tip keeps to the path; body: the body's largest deviation is least (narrow "
       "tubes)"},
      {"start_delay", "s", "1", "the arm comes to rest for this time before it is fed"},
      {"jam_tip_error", "m", "0.005", "tip error at which the feed stops for good"},
      {"jam_feed_force", "N", "",
       "feed force at which the feed stops for good; default: 0.98 of the feed servo's limit"},
      {"jam_time", "s", "0.05", "how long one of the two must last"},
  };
  static const std::vector<SettingInfo> kAll =
      joined(joined(kOwn, FollowPosesController::settings()), tip_integral_settings());
  return kAll;
}

FollowController::FollowController(const ControllerContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      speed_(context.settings.number("speed", 0.055, {.low = 0.0, .high = 10.0, .open_low = true})),
      acceleration_(context.settings.number("acceleration", 0.2,
                                            {.low = 0.0, .high = 1000.0, .open_low = true})),
      rate_limit_(context.settings.number("rate_limit", 3.0,
                                          {.low = 0.0, .high = 1000.0, .open_low = true})),
      start_delay_(context.settings.number("start_delay", 1.0, {.low = 0.0})),
      feed_end_(robot_.base().feed_limit),
      jam_tip_error_(
          context.settings.number("jam_tip_error", 0.005, {.low = 0.0, .open_low = true})),
      jam_feed_force_(context.settings.number("jam_feed_force", 0.98 * context.feed_force_limit,
                                              {.low = 0.0, .open_low = true})),
      jam_time_(context.settings.number("jam_time", 0.05, {.low = 0.0})),
      trail_(!context.settings.has("waypoints")),
      trail_spacing_(context.settings.number("trail_spacing", 0.004, {.low = 1e-4, .high = 1.0})),
      body_first_(read_norm(context.settings) == FitNorm::Body),
      fit_(robot_, {.iterations = kFitSteps, .norm = read_norm(context.settings)}),
      first_fit_(robot_, {.iterations = 30, .norm = read_norm(context.settings)}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()),
      q_candidate_(robot_.coordinate_count()) {
  if (feed_end_ <= 0.0)
    throw ModelError("robot: base.feed = 0: must be > 0: the arm is fed along the path");
  if (trail_) {
    if (!context.settings.has("target"))
      throw ModelError(
          "waypoints: missing: must be given, or poses, or a target whose trail is followed");
    // Never more than the feed can use, and the two points of the arm's first line.
    trail_capacity_ = static_cast<int>(std::ceil(feed_end_ / trail_spacing_)) + 3;
  } else {
    path_ = read_path(context.settings);
    feed_end_ = std::min(feed_end_, path_.length() - arm_length_);
    if (feed_end_ <= 0.0) {
      throw ModelError("waypoints: path length = " + millimetres(path_.length()) +
                       ": must exceed the arm's length of " + millimetres(arm_length_));
    }
    check_path(path_, robot_, feed_end_);
  }
}

int FollowController::memory_size() const noexcept {
  const int trail = trail_ ? 1 + static_cast<int>(kTrailPoint) * trail_capacity_ : 0;
  return static_cast<int>(kStates) + 3 * robot_.section_count() + integral_.memory_size() + trail;
}

void FollowController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  store_states(robot_.straight(), memory.subspan(kStates));
  if (trail_) {
    // The arm's own straight line is the path so far.
    const auto size = static_cast<std::size_t>(1 + static_cast<int>(kTrailPoint) * trail_capacity_);
    std::span<double> trail = memory.last(size);
    trail[0] = 2.0;
    trail[1 + kTrailPoint + 2] = arm_length_;
    trail[1 + kTrailPoint + 3] = arm_length_;
  }
}

Eigen::Vector3d FollowController::curve(std::span<const double> trail, double s) const noexcept {
  if (!trail_) return path_.position(s);
  const auto point = [&](std::size_t i) {
    return Eigen::Map<const Eigen::Vector3d>(&trail[1 + kTrailPoint * i]);
  };
  const auto at = [&](std::size_t i) { return trail[1 + kTrailPoint * i + 3]; };
  std::size_t low = 0, high = static_cast<std::size_t>(trail[0]) - 1;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (at(middle) <= s ? low : high) = middle;
  }
  const double fraction = (s - at(low)) / (at(high) - at(low));
  return point(low) + fraction * (point(high) - point(low));
}

double FollowController::curve_length(std::span<const double> trail) const noexcept {
  if (!trail_) return path_.length();
  return trail[1 + kTrailPoint * (static_cast<std::size_t>(trail[0]) - 1) + 3];
}

void FollowController::extend_trail(const ArmMeasurement& measurement,
                                    std::span<double> trail) const noexcept {
  const auto count = static_cast<std::size_t>(trail[0]);
  if (!measurement.has_target || count >= static_cast<std::size_t>(trail_capacity_)) return;
  const Eigen::Map<const Eigen::Vector3d> last(&trail[1 + kTrailPoint * (count - 1)]);
  const Eigen::Vector3d target = measurement.X_BG.translation();
  const double distance = (target - last).norm();
  if (!(distance >= trail_spacing_) || !std::isfinite(distance)) return;
  for (std::size_t k = 0; k < 3; ++k)
    trail[1 + kTrailPoint * count + k] = target[static_cast<Eigen::Index>(k)];
  trail[1 + kTrailPoint * count + 3] = curve_length(trail) + distance;
  trail[0] = static_cast<double>(count + 1);
}

void FollowController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                              std::span<double> next_memory, ArmCommand& command,
                              ControllerReport& report) noexcept {
  const double h = measurement.timestep;
  const std::size_t states_size = 3 * states_.size();
  const auto integral_size = static_cast<std::size_t>(integral_.memory_size());
  const auto integral_memory = memory.subspan(kStates + states_size, integral_size);
  const auto next_integral_memory = next_memory.subspan(kStates + states_size, integral_size);
  const std::span<double> trail = next_memory.subspan(kStates + states_size + integral_size);
  if (trail_) extend_trail(measurement, trail);
  const auto position = [&](double s) { return curve(trail, s); };

  const double feed_end =
      std::min(feed_end_, std::max(curve_length(trail) - arm_length_, memory[kFeed]));
  const double feed_last = memory[kFeed];
  bool jammed = memory[kJammed] != 0.0;
  BaseState base{.feed = feed_last, .spin = 0.0};
  load_states(memory.subspan(kStates), states_);
  if (memory[kStarted] == 0.0) {
    first_fit_.fit(position, base, states_);
    next_memory[kStarted] = 1.0;
  }
  to_coordinates(robot_, states_, q_last_);

  // 1. Jam: tip error or feed force beyond what free feeding needs, for some time.
  const Eigen::Vector3d desired_tip_now = position(feed_last + arm_length_);
  const double tip_error = (measurement.X_BE.translation() - desired_tip_now).norm();
  const bool feeding = measurement.time >= start_delay_;
  const bool blocked = feeding && (tip_error > jam_tip_error_ ||
                                   std::abs(measurement.feed_force) >= jam_feed_force_);
  next_memory[kBlockedTime] = blocked ? memory[kBlockedTime] + h : 0.0;
  if (!jammed && next_memory[kBlockedTime] > jam_time_) {
    jammed = true;
    next_memory[kJammed] = 1.0;
    base.feed =
        std::clamp(measurement.base.feed, 0.0, feed_last);  // let go: no servo force is stored up
  }

  // 2. One step of feed, slowed down until no section bends faster than its limit.
  double speed = 0.0;
  q_candidate_ = q_last_;
  candidate_ = states_;
  if (!jammed && feeding && feed_last < feed_end) {
    const double remaining = feed_end - feed_last;
    speed = std::min(
        {speed_, memory[kSpeed] + acceleration_ * h, std::sqrt(2.0 * acceleration_ * remaining)});
    speed = std::min(speed, remaining / h);
    double ratio = 0.0;
    for (int attempt = 0; attempt < kSlowDowns; ++attempt) {
      base.feed = feed_last + speed * h;
      std::copy(states_.begin(), states_.end(), candidate_.begin());
      fit_.fit(position, base, candidate_);
      to_coordinates(robot_, candidate_, q_candidate_);
      ratio = largest_change(robot_, q_candidate_, q_last_, TipIntegral::kLengthScale) /
              (rate_limit_ * h);
      if (ratio <= 1.0) break;
      if (attempt + 1 < kSlowDowns) speed *= 0.9 / ratio;
    }
    if (ratio > 1.0) {  // the fit itself is still on its way: go a part of it, the feed alike
      speed /= ratio;
      base.feed = feed_last + speed * h;
      q_candidate_ = q_last_ + (q_candidate_ - q_last_) / ratio;
      from_coordinates(robot_, q_candidate_, candidate_);
    }
    report.iterations = kFitSteps;
  }
  next_memory[kFeed] = base.feed;
  next_memory[kSpeed] = speed;
  store_states(candidate_, next_memory.subspan(kStates));
  command.q = q_candidate_;
  command.plan = q_candidate_;
  command.q_rate = (q_candidate_ - q_last_) / h;
  command.base = base;
  command.feed_rate = speed;

  // 3. Correct on the measured tip: its point of the path is where the leader should be.
  const Eigen::Vector3d desired_tip = position(base.feed + arm_length_);
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  const Eigen::Vector3d tip_planned = tip_pose(robot_, candidate_, base).translation();
  error.head<3>() = (body_first_ && base.feed < feed_end_ ? tip_planned : desired_tip) -
                    measurement.X_BE.translation();
  integral_.update(measurement, error, jammed, integral_memory, next_integral_memory, command.q);
  integral_.compensate_sag(measurement, command.q);

  report.status = jammed                              ? ControllerStatus::Jammed
                  : !trail_ && base.feed >= feed_end_ ? ControllerStatus::Finished
                                                      : ControllerStatus::Working;
  report.tip_error = (desired_tip - measurement.X_BE.translation()).norm();
  report.progress = base.feed / feed_end_;
  report.target = desired_tip;
}

int FollowController::path(std::span<const double> memory,
                           std::span<Eigen::Vector3d> points) const noexcept {
  const std::size_t offset =
      kStates + 3 * states_.size() + static_cast<std::size_t>(integral_.memory_size());
  const auto trail = memory.subspan(offset);
  const double length = std::min(curve_length(trail), feed_end_ + arm_length_);
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    points[i] = curve(trail, length * static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return static_cast<int>(count);
}

std::unique_ptr<Controller> make_follow_controller(const ControllerContext& context) {
  if (context.settings.has("poses")) return std::make_unique<FollowPosesController>(context);
  return std::make_unique<FollowController>(context);
}

}  // namespace tendril
