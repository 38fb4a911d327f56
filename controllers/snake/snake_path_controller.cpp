#include "controllers/snake/snake_path_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include "controllers/snake/snake_settings.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/smooth_step.hpp"
#include "tendril/snake/curve_check.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kArrived = 1e-4;        // [m], to go
constexpr double kOffAxis = 1e-6;        // [m], of the first waypoint
constexpr double kMinSpacing = 1e-3;     // [m], between waypoints
constexpr double kCornerSpacing = 0.02;  // [m], between points of rounded corners
constexpr double kCheckStep = 0.005;     // [m], of feed
constexpr int kBisections = 40;
constexpr double kHeadRate = 0.5;     // [rad/s], of the turn at the end of the path
constexpr double kLeastTurn = 1e-3;   // [rad]
constexpr double kFoldMargin = 0.02;  // of the body, folded more than the path is shorter
// Fractions of the curvature that the chain can follow in steady arcs: largest curvature of a
// trail, and curvature of its bends. A piece of the path whose end curvatures differ by c has a
// curvature of up to 1.76 c.
constexpr double kTrailFraction = 0.9;
constexpr double kBendFraction = 0.45;
constexpr int kRestingPeriods = 3;     // after which a motion has ended
constexpr int kTargetsPerPeriod = 16;  // largest number of points added

constexpr OwnQuantities<SnakePathController::kQuantities> own;

Isometry3d base_pose(const SnakeMeasurement& measurement) noexcept {
  Isometry3d X_WB = measurement.X_WT;
  X_WB.translation() -= measurement.feed * X_WB.linear().col(0);
  return X_WB;
}

Isometry3d carriage(double feed) noexcept {
  return Isometry3d(Eigen::Translation3d(feed, 0.0, 0.0));
}

/// Distance of p from the path, by its osculating parabola at a point near p.
double distance(const CurvePoint& point, const Vector3d& p) noexcept {
  const Vector3d offset = p - point.position;
  if (point.first.isZero(0.0)) return offset.norm();
  const double ds = offset.dot(point.first) / point.first.squaredNorm();
  return (offset - ds * point.first - 0.5 * ds * ds * point.second).norm();
}

}  // namespace

std::span<const SettingInfo> SnakePathController::settings() {
  static constexpr SettingInfo kAll[] = {
      setting::numbers(
          "waypoints", "m",
          "path: points through which it passes, x y z each, in the frame of the "
          "base; the first on the feed axis, with a fixed base also at the base itself"),
      snake_setting::kCornerRadius,
      snake_setting::kTarget,
      snake_setting::kSpeed,
      setting::acceleration("0.2", "path: of the feed"),
      setting::rate_limit("3", "path: largest rate of a joint; the feed slows down to keep it"),
      setting::number("look_ahead", "m", "0.2", {0.01, 10.0},
                      "path: it is fixed up to this distance ahead of the head"),
      setting::number("trail_spacing", "m", "0.03", {2.0 * kMinSpacing, 0.1},
                      "path: the trail gets a new point when the target has moved this far"),
      setting::number(
          "fold", "m", "", kNotNegative,
          "path, fixed base: length of the body that is folded aside at the start, over "
          "the straight beginning of the path; the head advances as it unfolds; default: "
          "as much as the path is shorter than the body"),
      setting::number("fold_angle", "rad", "0", {-2.0 * std::numbers::pi, 2.0 * std::numbers::pi},
                      "path, fixed base: direction of the fold, from y about x"),
      setting::flag("back", false,
                    "path: at its end the snake returns along it to the start; not with a target"),
      setting::numbers("head_orientation", "rad",
                       "path: roll, pitch (up is positive) and yaw of the head in the frame of the "
                       "base, to which it turns at the end of the path while it stays there"),
      setting::choice("joints", "all even",
                      "path: all: all joints as near to it as possible; even: every second one "
                      "exactly on it"),
      setting::number("period", "s", "0.02", {0.0, 1.0},
                      "path: time between two setpoints; linear interpolation between them"),
      setting::start_delay("1", "path: time for the body to move onto the path before it is fed"),
      setting::number(
          "gravity_factor", "", "1", {0.0, 10.0},
          "path: fraction of the links' gravity load that the setpoints compensate; 0.9: "
          "a model with 10 % error"),
      setting::number(
          "jam_path_error", "m", "0.05", kPositive,
          "path: distance of a joint from the path at which the feed stops permanently"),
      setting::number("path_tolerance", "m", "0.02", kPositive,
                      "path: status 8 when a joint has been farther from the path for longer than "
                      "`following_time`"),
  };
  return kAll;
}

SnakePathController::SnakePathController(const SnakeContext& context)
    : chain_({.link_lengths = {context.link_lengths.begin() + 1, context.link_lengths.end()},
              .joint_limit = context.joint_limit,
              .joint_limits = {},
              .rear_length = 0.0}),
      speed_(context.settings.optional_number("speed").value_or(0.05)),
      acceleration_(context.settings.number("acceleration")),
      rate_limit_(context.settings.number("rate_limit")),
      start_delay_(context.settings.number("start_delay")),
      look_ahead_(context.settings.number("look_ahead")),
      trail_spacing_(context.settings.number("trail_spacing")),
      gravity_factor_(context.settings.number("gravity_factor")),
      jam_path_error_(context.settings.number("jam_path_error")),
      path_tolerance_(context.settings.number("path_tolerance")),
      has_target_(context.settings.has("target")),
      back_(context.settings.flag("back")),
      is_fixed_(context.is_fixed()),
      head_pose_(chain_) {
  const Settings& settings = context.settings;
  context.scene.measure_target("target");
  if (context.is_free) throw ModelError("mode = path: needs base.kind = \"carriage\" or \"fixed\"");
  march_.target =
      settings.choice_index("joints") == 0 ? MarchTarget::AllJoints : MarchTarget::EvenJoints;
  if (back_ && has_target_) throw ModelError("back: must not be given together with target");
  const double period = settings.number("period");
  steps_ = std::max(1, static_cast<int>(std::lround(period / context.timestep)));

  growing_.min_spacing = kMinSpacing;
  growing_.max_spacing = std::numeric_limits<double>::infinity();
  growing_.max_turn = std::acos(0.0);
  curvature_limit_ = std::numeric_limits<double>::infinity();  // at any roll
  for (int j = 1; j <= chain_.joint_count(); ++j)
    curvature_limit_ = std::min(curvature_limit_, chain_.curvature_limit(j));
  feed_end_ = context.feed_limit;
  straight_ = chain_.length() + trail_spacing_;  // ahead of the start's feed
  read_waypoints(settings);
  if (waypoints_.empty() && !has_target_)
    throw ModelError("waypoints: missing: mode = path needs waypoints, target or both");
  read_head_orientation(settings);
  if (is_fixed_) read_fold(settings);
  if (!is_fixed_ && settings.has("fold")) throw ModelError("fold: needs base.kind = \"fixed\"");
  if (!waypoints_.empty() || is_fixed_) check_waypoints();
  const double trail = has_target_ ? (chain_.length() + feed_end_ + look_ahead_) : 0.0;
  points_.resize(static_cast<std::size_t>(chain_.joint_count()) + 1);
  commanded_.resize(points_.size());
  frames_.resize(points_.size());
  capacity_ = static_cast<int>(waypoints_.size()) + 4 + static_cast<int>(trail / trail_spacing_);

  const auto joints = static_cast<std::size_t>(chain_.joint_count());
  step_ = memory_.index(0, steps_ - 1);
  waypoint_ = memory_.index(0, std::max(1, static_cast<int>(waypoints_.size())));
  for (Block* const block : {&start_angles_, &from_angles_, &to_angles_})
    *block = memory_.numbers(joints);
  parameters_ = memory_.numbers(static_cast<std::size_t>(chain_.module_count()) + 1);
  path_ = memory_.part(GrowingPath::layout(capacity_));
}

/// Checks the first waypoint, which the path reaches straight from the base.
void SnakePathController::check_first_waypoint() const {
  const Vector3d& first = waypoints_.front();
  const double least = is_fixed_ ? -kOffAxis : kMinSpacing;
  if (hypotenuse(first.y(), first.z()) <= kOffAxis && first.x() >= least) return;
  throw ModelError(fmt::format("waypoints: point 1 ({:g} {:g} {:g}): must be (x 0 0) with {}",
                               first.x(), first.y(), first.z(),
                               is_fixed_ ? "x >= 0: the path begins at the fixed base"
                                         : "x > 0: the carriage needs a straight path"));
}

/// Replaces the waypoints by points on arcs of this radius.
void SnakePathController::round_corners(double radius) {
  try {
    const Path rounded = rounded_path(waypoints_, radius, kCornerSpacing);
    waypoints_.clear();
    for (const Vector3d& point : rounded.points()) {
      if (waypoints_.empty() || (point - waypoints_.back()).norm() > kMinSpacing)
        waypoints_.push_back(point);
    }
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("waypoints: {}", error.what()));
  }
}

void SnakePathController::read_waypoints(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.empty()) return;
  if (numbers.size() % 3 != 0 || numbers.size() < 6) {
    throw ModelError(
        fmt::format("waypoints: {} numbers: must be x y z of at least two points", numbers.size()));
  }
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    waypoints_.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  check_first_waypoint();
  const double radius = settings.number("corner_radius");
  if (radius > 0.0) round_corners(radius);
  // From the fixed base itself the path is straight to the second waypoint.
  if (waypoints_.front().x() < kMinSpacing) {
    waypoints_.erase(waypoints_.begin());
    direction_ = waypoints_.front().normalized();
  }
  const auto is_ahead = [this](const Vector3d& p) {
    return direction_.cross(p).norm() <= kOffAxis && direction_.dot(p - waypoints_.front()) > 0.0;
  };
  // The straight piece extends to the last point on the axis.
  while (waypoints_.size() > 2 && is_ahead(waypoints_[1]) && radius > 0.0)
    waypoints_.erase(waypoints_.begin());
  straight_ = waypoints_.front().norm();
}

/// Reads how much of the body is folded, and over which length.
void SnakePathController::read_fold(const Settings& settings) {
  const double length = chain_.length();
  for (std::size_t i = 0; i < waypoints_.size(); ++i) {
    if (waypoints_[i].norm() <= length) continue;
    throw ModelError(fmt::format(
        "waypoints: point ({:g} {:g} {:g}): leaves the reach of the fixed "
        "base: {:.3g} m from it, the body is {:.3g} m long",
        waypoints_[i].x(), waypoints_[i].y(), waypoints_[i].z(), waypoints_[i].norm(), length));
  }
  const std::optional<double> given = settings.optional_number("fold");
  if (waypoints_.empty()) {
    if (!given.has_value()) throw ModelError("fold: missing: a fixed base needs it to advance");
    straight_ = std::max(length - *given, 0.0) + trail_spacing_;
  }
  double path_length = straight_;
  for (std::size_t i = 1; i < waypoints_.size(); ++i)
    path_length += (waypoints_[i] - waypoints_[i - 1]).norm();
  fold_ = given.value_or(std::max(0.0, (1.0 + kFoldMargin) * length - path_length));
  aside_ = Eigen::AngleAxisd(settings.number("fold_angle"), Vector3d::UnitX()) * Vector3d::UnitY();
  if (direction_.cross(aside_).norm() < kOffAxis)
    throw ModelError("fold_angle: must not be along the straight beginning of the path");
  chooses_fold_ = !given.has_value() && fold_ > 0.0;
  fold(fold_);
}

/// Folds this length of the body [m].
void SnakePathController::fold(double length) {
  fold_ = length;
  folding_ = std::min(straight_, chain_.length() - fold_);
  if (folding_ > 0.0 && fold_ <= FoldedPath::largest(folding_)) return;
  throw ModelError(
      fmt::format("fold: {:.3g} m: does not fit on the path's straight beginning of "
                  "{:.3g} m, must be <= {:.3g} m",
                  fold_, straight_, FoldedPath::largest(std::max(folding_, 0.0))));
}

void SnakePathController::read_head_orientation(const Settings& settings) {
  const std::vector<double> angles = settings.numbers("head_orientation");
  if (angles.empty()) return;
  if (angles.size() != 3) {
    throw ModelError(
        fmt::format("head_orientation: {} numbers: must be roll, pitch and yaw", angles.size()));
  }
  for (const char* const other : {"target", "back"}) {
    if (other == std::string_view("back") ? back_ : has_target_)
      throw ModelError(fmt::format("head_orientation: must not be given together with {}", other));
  }
  turns_head_ = true;
  R_BG_ = head_orientation(angles[0], angles[1], angles[2]);
}

FoldedPath SnakePathController::body_path(const PathView& path, double feed) const noexcept {
  return {path, folding_, stored(feed), aside_};
}

MarchResult SnakePathController::march(const PathView& path, double feed,
                                       MarchMemory out) const noexcept {
  const FoldedPath body = body_path(path, feed);
  return march_from_base(chain_, body, is_fixed_ ? 0.0 : feed, Matrix3d::Identity(), out, march_);
}

double SnakePathController::head(std::span<double> next) const noexcept {
  return parameters_(next).back() - stored(next_feed_(next));
}

/// Appends all waypoints; refuses one that the path cannot reach.
void SnakePathController::append_waypoints(GrowingPath& path) const {
  for (std::size_t i = 1; i < waypoints_.size(); ++i) {
    const GrowResult grown = path.append(waypoints_[i]);
    if (grown.status == GrowStatus::TooNear) {
      throw ModelError(
          fmt::format("waypoints: point {} repeats point {}: {:g} m apart, must be >= {:g} m",
                      i + 1, i, grown.value, grown.limit));
    }
    if (grown.status == GrowStatus::Behind) {
      throw ModelError(fmt::format(
          "waypoints: point {} lies behind the head: the path would turn by {:.3g} rad, "
          "must be <= {:.3g} rad",
          i + 1, grown.value, grown.limit));
    }
    if (!grown.ok())
      throw ModelError(fmt::format("waypoints: point {}: {}", i + 1, to_string(grown.status)));
  }
  path.finish();
}

/// Builds the whole path and marches along it.
void SnakePathController::check_waypoints() {
  std::vector<double> memory(
      static_cast<std::size_t>(GrowingPath::memory_size(static_cast<int>(waypoints_.size()) + 2)));
  GrowingPath path(memory, growing_);
  path.start(Vector3d::Zero(), direction_, straight_);
  append_waypoints(path);
  const PathView view = path.view();
  const CurveReport report = check_curve(chain_, view, 0.0);
  if (!report.ok() && !(is_fixed_ && report.fault == CurveFault::TooShort))
    throw ModelError("waypoints: " + describe(report));

  std::vector<double> angles(static_cast<std::size_t>(chain_.joint_count())),
      parameters(static_cast<std::size_t>(chain_.module_count()) + 1);
  const auto march_at = [&](double feed) { return march(view, feed, {angles, parameters}); };
  // The chords of a chain are shorter than the arcs of its fold.
  while (chooses_fold_ && march_at(0.0).status == MarchStatus::PathTooShort)
    fold(fold_ + kFoldMargin * chain_.length());
  const double end = is_fixed_ ? fold_ : std::min(feed_end_, straight_);
  double reached = 0.0, missed = end;
  bool short_path = false, at_end = false;
  for (int i = 0; !short_path && !at_end; ++i) {
    const double feed = std::min(i * kCheckStep, end);
    const MarchResult result = march_at(feed);
    short_path = result.status == MarchStatus::PathTooShort;
    if (!result.ok() && !(short_path && i > 0)) {
      throw ModelError(fmt::format("waypoints: at a feed of {:.3g} m{}: {}", feed,
                                   is_fixed_ ? " from the fold" : "", describe(result)));
    }
    (short_path ? missed : reached) = feed;
    at_end = reached >= end;
  }
  for (int i = 0; short_path && i < kBisections; ++i) {
    const double middle = 0.5 * (reached + missed);
    (march_at(middle).ok() ? reached : missed) = middle;
  }
  feed_end_ = has_target_ ? end : reached;
}

void SnakePathController::begin(const SnakeMeasurement& measurement,
                                std::span<double> next) const noexcept {
  started_(next) = true;
  start_time_(next) = measurement.time;
  sensed_time_(next) = measurement.time;
  start_center_(next) = measurement.center_of_mass;
  const double straight =
      waypoints_.empty() ? std::max(measurement.feed, 0.0) + straight_ : straight_;
  path_feed_end_(next) = is_fixed_ ? feed_end_ : std::min(feed_end_, straight);
  const double feed = std::clamp<double>(measurement.feed, 0.0, path_feed_end_(next));
  feed_(next) = feed;
  next_feed_(next) = feed;
  start_feed_(next) = feed;
  sensed_feed_(next) = feed;
  waypoint_(next) = 1;
  target_(next) = straight * direction_;
  along_(next) = direction_;

  GrowingPath path(path_(next), growing_);
  path.start(Vector3d::Zero(), direction_, straight);
  parameters_(next).back() = (is_fixed_ ? 0.0 : feed) + chain_.length();
  extend_path(measurement, next);
  for (const Block& set : {start_angles_, from_angles_, to_angles_})
    std::copy_n(measurement.q.data(), measurement.q.size(), set(next).begin());
  if (!march(path.view(), feed, {to_angles_(next), parameters_(next)}).ok())
    std::copy_n(measurement.q.data(), measurement.q.size(), to_angles_(next).begin());
}

/// Extends the path ahead of the head.
void SnakePathController::extend_path(const SnakeMeasurement& measurement,
                                      std::span<double> next) const noexcept {
  GrowingPath path(path_(next), growing_);
  const double desired = head(next) + look_ahead_;
  const int count = static_cast<int>(waypoints_.size());
  while (path.view().end() < desired && waypoint_(next) < count) {
    const Vector3d& point = waypoints_[waypoint_(next)];
    if (!path.append(point).ok()) return;  // cannot happen: all have been checked
    waypoint_(next) += 1;
    auto last = target_(next), along = along_(next), bend = bend_(next);
    const Vector3d direction = (point - last).normalized();
    bend = direction - along;
    along = direction;
    last = point;
  }
  if (waypoint_(next) < count) return;
  if (has_target_) {
    follow_target(measurement, next);
  } else if (path.pending()) {
    path.finish();
    complete_(next) = true;
  }
}

/// The trail: equidistant points towards the present target, with a curvature that the body can
/// follow. A target within the circle of that curvature cannot be reached.
void SnakePathController::follow_target(const SnakeMeasurement& measurement,
                                        std::span<double> next) const noexcept {
  GrowingPathOptions options = growing_;
  options.max_curvature = kTrailFraction * curvature_limit_;
  GrowingPath path(path_(next), options);
  const auto report_status = [&](ControllerStatus status) { status_(next) = status; };
  const Vector3d p_BG = base_pose(measurement).inverse() * measurement.p_WG;
  if (!p_BG.allFinite()) return report_status(ControllerStatus::InvalidTarget);
  auto last = target_(next), along = along_(next), bend = bend_(next);
  const double radius = 1.0 / (kBendFraction * curvature_limit_);
  const double largest_rotation = trail_spacing_ / radius;
  const double head = this->head(next);
  complete_(next) = false;
  for (int i = 0; i < kTargetsPerPeriod && path.view().end() < head + look_ahead_; ++i) {
    const Vector3d to_target = p_BG - last;
    const double distance = to_target.norm();
    if (distance < trail_spacing_) {
      // The target is at rest: once the head is there, the newest point is added too.
      if (path.pending() && path.view().end() - head <= kArrived && path.finish().ok()) {
        along = path.view().at(path.view().end()).first.normalized();
        bend.setZero();
      }
      complete_(next) = !path.pending();
      return;
    }
    const double ahead = along.dot(to_target);
    if (ahead < 0.0) return report_status(ControllerStatus::TargetBehind);
    const Vector3d aside = to_target - ahead * along;
    const double off = aside.norm();
    // No point within the circle of largest curvature can be reached.
    if (std::atan2(off, ahead) > largest_rotation && hypotenuse(ahead, off - radius) < radius)
      return report_status(ControllerStatus::PathTooTight);
    // The change of direction varies from point to point by at most its largest value; after a
    // complete piece the path continues straight.
    Vector3d desired = to_target / distance - along;
    if (desired.norm() > largest_rotation) desired *= largest_rotation / desired.norm();
    Vector3d change = desired - bend;
    if (change.norm() > largest_rotation) change *= largest_rotation / change.norm();
    const Vector3d next_bend = path.pending() ? Vector3d(bend + change) : Vector3d::Zero();
    const Vector3d direction = (along + next_bend).normalized();
    const Vector3d point = last + trail_spacing_ * direction;
    const GrowResult grown = path.append(point);
    if (grown.status == GrowStatus::TooTight) return report_status(ControllerStatus::PathTooTight);
    if (!grown.ok()) return;  // no room: past the travel of the carriage
    last = point;
    along = direction;
    bend = next_bend;
  }
}

/// What remains to be done at the end of the path.
void SnakePathController::stop(std::span<double> next, double dt, bool is_back) noexcept {
  if (back_ && !is_back)
    returning_(next) = true;
  else if (turns_head_ && turned_(next) < 1.0)
    turn_head(next, dt);
  else
    status_(next) = ControllerStatus::Finished;
}

/// Turns the head further from its orientation on the path to the desired one.
void SnakePathController::turn_head(std::span<double> next, double dt) noexcept {
  const PathView path(path_(next));
  const MarchResult at_end = march(path, next_feed_(next), {to_angles_(next), parameters_(next)});
  snake_frames(chain_, at_end.X_WB, to_angles_(next), frames_);
  const Isometry3d X_BH = frames_.back();
  const Eigen::AngleAxisd turn(Matrix3d(X_BH.linear().transpose() * R_BG_));
  const std::span<const double> from = from_angles_(next);
  const std::span<double> to = to_angles_(next);
  const auto reach = [&](double fraction, int /*trial*/) noexcept {
    Isometry3d X = X_BH;
    X.rotate(Eigen::AngleAxisd(fraction * turn.angle(), turn.axis()));
    std::copy(from.begin(), from.end(), to.begin());
    MarchResult result;
    result.status =
        head_pose_.reach(at_end.X_WB, X, to).converged ? MarchStatus::Ok : MarchStatus::JointLimit;
    return result;
  };
  const double desired =
      std::min(1.0, turned_(next) + kHeadRate * dt / std::max(turn.angle(), kLeastTurn));
  const FollowStep step = follow_marches(reach, turned_(next), desired, rate_limit_ * dt, from, to);
  if (step.s == turned_(next)) status_(next) = ControllerStatus::NotReached;
  turned_(next) = step.s;
}

/// The next setpoint of feed and joints, within the limits of speed, acceleration and joint rates.
void SnakePathController::move(std::span<double> next, double dt) noexcept {
  const PathView path(path_(next));
  const double feed_left = path_feed_end_(next) - next_feed_(next);
  const bool is_back = returning_(next);
  const double to_go =
      is_back ? next_feed_(next) - start_feed_(next) : std::min(path.end() - head(next), feed_left);
  if (to_go <= kArrived) {
    planned_speed_(next) = 0.0;
    const bool at_end = is_back || complete_(next) || feed_left <= kArrived;
    if (at_end && status_(next) == ControllerStatus::Working) stop(next, dt, is_back);
    return;
  }
  const double speed = std::min({speed_, planned_speed_(next) + acceleration_ * dt,
                                 std::sqrt(2.0 * acceleration_ * to_go), 0.5 * to_go / dt});
  const double desired = feed_(next) + (is_back ? -speed : speed) * dt;
  const auto march_at = [&](double feed, int /*trial*/) noexcept {
    return march(path, feed, {to_angles_(next), parameters_(next)});
  };
  const FollowStep step = follow_marches(march_at, feed_(next), desired, rate_limit_ * dt,
                                         from_angles_(next), to_angles_(next));
  next_feed_(next) = step.s;
  planned_speed_(next) = std::abs(step.s - feed_(next)) / dt;
  const MarchStatus status = step.march.status;
  if (status == MarchStatus::JointLimit || status == MarchStatus::TooTight)
    status_(next) = ControllerStatus::PathTooTight;
}

/// Measures the speed and the distance of the joints from the path.
void SnakePathController::watch(const SnakeMeasurement& measurement,
                                std::span<double> next) noexcept {
  const double feed = is_fixed_ ? next_feed_(next) : measurement.feed;
  if (measurement.time > sensed_time_(next)) {
    sensed_speed_(next) = (feed - sensed_feed_(next)) / (measurement.time - sensed_time_(next));
  }
  sensed_time_(next) = measurement.time;
  sensed_feed_(next) = feed;
  snake_points(chain_, carriage(measurement.feed),
               {measurement.q.data(), static_cast<std::size_t>(measurement.q.size())}, points_);
  double largest = 0.0;
  visit_references(measurement.feed, next, [&](const CurvePoint& reference, std::size_t j) {
    largest = std::max(largest, distance(reference, points_[j]));
  });
  path_error_(next) = largest;
}

template <class Visit>
void SnakePathController::visit_references(double feed, std::span<const double> memory,
                                           const Visit& visit) noexcept {
  if (turned_(memory) > 0.0) {  // off the path on purpose
    snake_points(chain_, carriage(feed), to_angles_(memory), commanded_);
    for (std::size_t j = 0; j < commanded_.size(); ++j)
      visit(CurvePoint{.position = commanded_[j], .first = Vector3d::Zero()}, j);
    return;
  }
  const PathView view(path_(memory));
  const FoldedPath path = body_path(view, next_feed_(memory));
  const std::span<const double> s = parameters_(memory);
  for (std::size_t j = 0; j < points_.size(); ++j) {
    const double guess = j % 2 == 0 ? s[j / 2] : 0.5 * (s[j / 2] + s[j / 2 + 1]);
    visit(path.at(guess), j);
  }
}

double SnakePathController::progress(double feed, std::span<const double> memory) const noexcept {
  const double whole = path_feed_end_(memory) - start_feed_(memory);
  const double passed =
      whole > 0.0 ? std::clamp((feed - start_feed_(memory)) / whole, 0.0, 1.0) : 1.0;
  return !back_ ? passed : 0.5 * (returning_(memory) ? 2.0 - passed : passed);
}

std::vector<SnakePathController::Period> SnakePathController::motion(double feed, double timestep) {
  std::vector<double> numbers(static_cast<std::size_t>(memory_size()));
  const std::span<double> memory(numbers);
  reset(memory);
  SnakeMeasurement measurement(chain_.joint_count());
  measurement.timestep = timestep;
  measurement.feed = feed;
  begin(measurement, memory);
  std::vector<Period> periods;
  int resting = 0;  // periods in a row
  const auto add = [&] {
    const std::span<const double> angles = to_angles_(memory);
    Period period{.angles = {angles.begin(), angles.end()},
                  .feed = next_feed_(memory),
                  .progress = progress(next_feed_(memory), memory),
                  .status = status_(memory),
                  .references = {}};
    visit_references(is_fixed_ ? feed : period.feed, memory,
                     [&](const CurvePoint& reference, std::size_t /*j*/) {
                       period.references.push_back(reference);
                     });
    const bool rests = !periods.empty() && period.feed == periods.back().feed &&
                       period.angles == periods.back().angles;
    resting = rests && measurement.time > start_delay_ ? resting + 1 : 0;
    periods.push_back(std::move(period));
  };
  add();
  while (resting < kRestingPeriods && periods.back().status != ControllerStatus::Finished) {
    std::copy(periods.back().angles.begin(), periods.back().angles.end(), measurement.q.data());
    measurement.feed = is_fixed_ ? feed : periods.back().feed;
    plan(measurement, memory);
    add();
    for (int i = 0; i < steps_; ++i) measurement.time += timestep;
  }
  return periods;
}

/// Called once per period.
void SnakePathController::plan(const SnakeMeasurement& measurement,
                               std::span<double> next) noexcept {
  watch(measurement, next);
  feed_(next) = next_feed_(next);
  std::copy_n(to_angles_(next).begin(), chain_.joint_count(), from_angles_(next).begin());
  if (status_(next) == ControllerStatus::Jammed) return;
  status_(next) = ControllerStatus::Working;
  if (!returning_(next)) extend_path(measurement, next);
  if (measurement.time < start_time_(next) + start_delay_) return;
  if (path_error_(next) > jam_path_error_) {
    status_(next) = ControllerStatus::Jammed;
    planned_speed_(next) = 0.0;
    return;
  }
  move(next, steps_ * measurement.timestep);
}

void SnakePathController::update(const SnakeMeasurement& measurement,
                                 std::span<const double> memory, std::span<double> next_memory,
                                 SnakeCommand& command, ControllerReport& report) noexcept {
  const std::span<double> next = next_memory;
  if (!started_(memory)) begin(measurement, next);
  int step = step_(next);
  if (step == 0) plan(measurement, next);
  ++step;

  // Interpolate between the last setpoint and the next; initially from the measured pose.
  const double fraction = static_cast<double>(step) / steps_, dt = steps_ * measurement.timestep;
  const double since = measurement.time - start_time_(next);
  const double fade = since < start_delay_ ? smooth_step(since / start_delay_).value : 1.0;
  const std::span<const double> start = start_angles_(next), from = from_angles_(next),
                                to = to_angles_(next);
  for (int j = 0; j < chain_.joint_count(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    const double planned = from[i] + fraction * (to[i] - from[i]);
    command.q[j] = start[i] + fade * (planned - start[i]);
    command.q_rate[j] = fade * (to[i] - from[i]) / dt;
  }
  const double feed_step = next_feed_(next) - feed_(next);
  const double feed = feed_(next) + fraction * feed_step;
  if (!is_fixed_) {
    command.feed = feed;
    command.feed_rate = feed_step / dt;
  }
  command.gravity_factor = gravity_factor_;
  step_(next) = step < steps_ ? step : 0;

  report.status = status_(next);
  report.progress = progress(feed, next);
  own(report, "path_error") = path_error_(next);
  if (since >= start_delay_) report.path_excess = path_error_(next) / path_tolerance_;
  own(report, "speed") = sensed_speed_(next);
  if (turns_head_) {
    const Matrix3d R_BH = measurement.X_WT.linear().transpose() * measurement.X_WE.linear();
    own(report, "head_angle_error") = Eigen::AngleAxisd(Matrix3d(R_BH.transpose() * R_BG_)).angle();
  }
  const Vector3d along = measurement.X_WE.translation() - measurement.X_WT.translation();
  own(report, "heading") = std::atan2(along.y(), along.x());
  own(report, "advance") = measurement.center_of_mass.x() - start_center_(next).x();
  own(report, "rise") = measurement.center_of_mass.z() - start_center_(next).z();
  const PathView path(path_(next));
  report.target = base_pose(measurement) * path.at(head(next)).position;
}

int SnakePathController::path(const SnakeMeasurement& measurement, std::span<const double> memory,
                              std::span<Vector3d> points) const noexcept {
  if (!started_(memory) || points.size() < 2) return 0;
  const PathView view(path_(memory));
  const FoldedPath path = body_path(view, feed_(memory));
  const Isometry3d X_WB = base_pose(measurement);
  const double begin = measurement.feed, end = path.end();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double fraction = static_cast<double>(i) / static_cast<double>(points.size() - 1);
    points[i] = X_WB * path.at(begin + fraction * (end - begin)).position;
  }
  return static_cast<int>(points.size());
}

}  // namespace tendril
