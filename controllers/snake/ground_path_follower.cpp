#include "controllers/snake/ground_path_follower.hpp"

#include <fmt/core.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "controllers/interface/obstacle_settings.hpp"
#include "controllers/snake/snake_settings.hpp"
#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/path.hpp"
#include "tendril/snake/cubic_spline.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Matrix2Xd;
using Eigen::Vector2d;
using Eigen::Vector3d;

// Lengths in fractions of the body's length, clearance, radius of the links or edge of a cell.
constexpr double kLookAheadFraction = 0.35;   // of the body: from the snake to where it aims
constexpr double kUsableBendFraction = 0.85;  // of the sharpest turn, that paths may need
constexpr double kCellPerClearance = 0.08;    // edge of the map's cells
constexpr double kMaxCellPerClearance = 0.2;  // of a large map
constexpr double kMinCellPerRadius = 0.8, kMaxCellPerRadius = 1.6;
constexpr double kMinHeightPerCell = 0.6;  // of the map above the ground, which is no obstacle
constexpr double kSpacingPerCell = 3.0;    // between points of a path
constexpr double kRetraceFraction = 0.1;   // of the body: motion after which a path is sought again

constexpr double kPathSpacing = 0.02;  // between points of a path that is given [m]
constexpr int kSamples = 9;            // of the segment on which the body lies
constexpr double kMaxStep = 0.02;      // of the position along the path [m]
constexpr double kDrawnHeight = 0.02;  // of the points that are drawn [m]
constexpr int kMaxPathPoints = 2000;   // of a path that is only checked for existence

SnakeChain chain_of(const SnakeContext& context) {
  return SnakeChain({.link_lengths = {context.link_lengths.begin() + 1, context.link_lengths.end()},
                     .joint_limit = context.joint_limit,
                     .joint_limits = {},
                     .rear_length = context.link_lengths.front()});
}

/// Returns the weights of the joint angles in the heading of the body's middle, relative to that of
/// link 0: headings of the links = heading + bend x + a cos(lag j) + b sin(lag j), x from -1 to 1.
Eigen::VectorXd heading_weights(const Gait& gait, Eigen::Index joints) {
  Eigen::MatrixXd basis(joints + 1, gait.yaw_amplitude > 0.0 ? 4 : 2);
  for (Eigen::Index j = 0; j <= joints; ++j) {
    const auto x = static_cast<double>(j);
    basis(j, 0) = 1.0;
    basis(j, 1) = 2.0 * x / static_cast<double>(joints) - 1.0;
    if (basis.cols() < 4) continue;
    basis(j, 2) = std::cos(gait.lag * x);
    basis(j, 3) = std::sin(gait.lag * x);
  }
  const Eigen::VectorXd links =
      basis.completeOrthogonalDecomposition().pseudoInverse().row(0).transpose();
  // The heading of a link is the sum of the yaw angles before it.
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(joints);
  for (Eigen::Index i = 0; i < joints; i += 2) weights[i] = links.tail(joints - i).sum();
  return weights;
}

}  // namespace

std::span<const SettingInfo> GroundPathFollower::settings() {
  static constexpr SettingInfo kAll[] = {
      setting::text("ground_path", "",
                    "path on the ground that a free snake follows from where it is: x y of each "
                    "point, m, world frame; in a robot file a list or { file = \"path.csv\" }"),
      snake_setting::kCornerRadius,
      setting::number("ground_tolerance", "m", "0.2", kPositive,
                      "ground_path, avoidance: status 8 when the middle of the snake has been "
                      "farther from its path for longer than `following_time`"),
      setting::flag(
          "avoidance", false,
          "find paths to goals or target among the scene's obstacles that are stationary"),
      setting::obstacles(
          "avoidance: names of geoms or bodies, separated by spaces; default: every geom that the "
          "snake can touch"),
      setting::obstacle_margin("0.05",
                               "avoidance: least clearance between the ground that the gait needs "
                               "and obstacles"),
  };
  return kAll;
}

bool GroundPathFollower::is_requested(const Settings& settings) {
  return settings.has("ground_path") || settings.flag("avoidance");
}

GroundPathFollower::GroundPathFollower(const SnakeContext& context, const Gait& gait,
                                       std::vector<Vector2d> goals, double largest_yaw_offset)
    : lengths_(context.link_lengths.begin(), context.link_lengths.end()),
      footprint_(gait_footprint(gait, chain_of(context))),
      heading_weights_(heading_weights(gait, context.joints())),
      head_first_(gait.kind != GaitKind::Sidewinding),
      goal_tolerance_(context.settings.number("goal_tolerance")),
      tolerance_(context.settings.number("ground_tolerance")) {
  const Settings& settings = context.settings;
  const char* const requested = settings.has("ground_path") ? "ground_path" : "avoidance";
  if (!context.is_free) throw ModelError(fmt::format("{}: needs base.kind = \"free\"", requested));
  // The wave must run so that the snake moves forward.
  const double wave = gait.frequency * gait.lag;
  const bool forward = gait.kind == GaitKind::Sidewinding    ? wave > 0.0
                       : gait.kind == GaitKind::VerticalWave ? wave > 0.0
                       : gait.kind == GaitKind::Serpenoid    ? wave < 0.0
                                                             : false;
  if (!forward) {
    throw ModelError(fmt::format(
        "{}: needs gait = sidewinding, vertical_wave or serpenoid, forwards", requested));
  }
  if (settings.has("ground_path") && settings.flag("avoidance"))
    throw ModelError("avoidance: must not be given together with ground_path");
  body_length_ = head_first_ ? footprint_.length : 0.0;
  look_ahead_ = kLookAheadFraction * footprint_.length;
  const double contraction =
      footprint_.length / std::accumulate(lengths_.begin(), lengths_.end(), 0.0);
  const double module = lengths_[1] + lengths_[2];
  max_curvature_ = kUsableBendFraction * largest_yaw_offset / (module * contraction);
  clearance_ = (head_first_ ? footprint_.width : footprint_.reach) + context.radius +
               settings.number("obstacle_margin");
  if (settings.has("ground_path")) {
    if (!goals.empty() || settings.has("target"))
      throw ModelError("ground_path: must not be given together with goals or target");
    read_path(settings);
  } else {
    plan(context, std::move(goals));
  }
  goal_ = layout_.index(0, goal_count());
}

void GroundPathFollower::read_path(const Settings& settings) {
  std::string table(settings.text("ground_path"));
  std::replace(table.begin(), table.end(), ',', ' ');
  static constexpr SettingInfo kRow[] = {setting::numbers("ground_path", "m", "")};
  const std::vector<double> numbers =
      Settings(kRow, {{"ground_path", std::move(table)}}).numbers("ground_path");
  if (numbers.size() % 2 != 0 || numbers.size() < 4)
    throw ModelError(fmt::format("ground_path: {} numbers: must be x and y of at least two points",
                                 numbers.size()));
  std::vector<Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    points.emplace_back(numbers[i], numbers[i + 1], 0.0);
  const double radius = settings.number("corner_radius");
  const auto sample = [&](double length, auto&& at) {
    const int segments = static_cast<int>(std::clamp(std::ceil(length / kPathSpacing), 1.0, 1e6));
    spacing_ = length / segments;
    path_.resize(2, segments + 1);
    for (int i = 0; i <= segments; ++i) path_.col(i) = at(spacing_ * i).template head<2>();
  };
  try {
    Path path;
    if (radius > 0.0) {
      path = rounded_path(points, radius, kPathSpacing / 4.0);
    } else {
      const CubicSpline spline(points);
      std::vector<Vector3d> fine;
      const int count =
          static_cast<int>(std::clamp(4.0 * std::ceil(spline.end() / kPathSpacing), 1.0, 1e6));
      for (int i = 0; i <= count; ++i) fine.push_back(spline.at(spline.end() * i / count).position);
      path = Path(std::move(fine));
    }
    sample(path.length(), [&](double s) { return path.position(s); });
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("ground_path: {}", error.what()));
  }
}

void GroundPathFollower::plan(const SnakeContext& context, std::vector<Vector2d> goals) {
  const bool has_goals = !goals.empty();
  if (context.settings.has("target")) {
    const Vector2d target = context.scene.standing_target("target").head<2>();
    if (!has_goals) goals.push_back(target);
  }
  if (goals.empty()) throw ModelError("avoidance: needs a target: target or goals must be given");
  make_map(context, goals);
  spacing_ = kSpacingPerCell * map_->cell();
  Matrix2Xd points(2, kMaxPathPoints);
  Vector2d from = context.start_center;
  paths_.reserve(goals.size());
  for (std::size_t i = 0; i < goals.size(); ++i) {
    const std::string name = has_goals
                                 ? fmt::format("goals: goal {}", i + 1)
                                 : fmt::format("target = {}", context.settings.text("target"));
    require_room(goals[i], name);
    paths_.emplace_back(*map_, goals[i], clearance_);
    const GroundPaths::Start start{.position = from, .arrival = 0.5 * goal_tolerance_};
    if (paths_.back().trace(start, spacing_, points) == 0) {
      throw ModelError(fmt::format(
          "{}: there is no path that is {:.3g} m wide, which the gait needs, obstacle_margin "
          "included",
          name, 2.0 * clearance_));
    }
    from = goals[i];
  }
  point_count_ = layout_.index(2, kPathPoints);
  points_ = layout_.matrix<Matrix2Xd>(2, kPathPoints);
}

/// Makes the map of a rectangle as far around start and goals as a detour may lead, but no farther
/// than the obstacles do.
void GroundPathFollower::make_map(const SnakeContext& context, const std::vector<Vector2d>& goals) {
  const double radius = context.radius;
  Eigen::AlignedBox2d ends(context.start_center), wide, solid;
  for (const Vector2d& goal : goals) ends.extend(goal);
  const double detour = ends.sizes().sum() + 4.0 * clearance_;
  wide = Eigen::AlignedBox2d(ends.min().array() - detour, ends.max().array() + detour);
  solid = ends;
  const Obstacles obstacles = context.scene.standing_obstacles("obstacles");
  for (int i = 0; i < obstacles.count(); ++i) {
    const double extent = obstacles.extent(i);
    if (!std::isfinite(extent)) continue;
    const Vector2d at = obstacles.pose(i).translation().head<2>();
    solid.extend(Vector2d(at.array() - extent)).extend(Vector2d(at.array() + extent));
  }
  const double around = 3.0 * clearance_ + (head_first_ ? 2.0 / max_curvature_ : 0.0);
  const Eigen::AlignedBox2d all = wide.intersection(
      Eigen::AlignedBox2d(solid.min().array() - around, solid.max().array() + around));
  const double fit = std::sqrt(all.sizes().prod() / GroundMap::kMaxCells) * 1.01;
  const double cell = std::max(std::clamp(kCellPerClearance * clearance_,
                                          kMinCellPerRadius * radius, kMaxCellPerRadius * radius),
                               fit);
  if (cell > kMaxCellPerClearance * clearance_) {
    throw ModelError(
        fmt::format("avoidance: the path lies in {:.3g} m x {:.3g} m: must be at most {:.3g} m^2",
                    all.sizes().x(), all.sizes().y(),
                    GroundMap::kMaxCells * std::pow(kMaxCellPerClearance * clearance_, 2)));
  }
  const double height = context.ground_height;
  const double lowest = std::max(radius, kMinHeightPerCell * cell);
  map_ = std::make_unique<GroundMap>(
      obstacles,
      GroundMapOptions{.low = all.min(),
                       .high = all.max(),
                       .cell = cell,
                       .heights = {height + lowest, height + std::max(lowest, 2.0 * radius),
                                   height + std::max(lowest, 3.0 * radius)}});
}

/// Throws ModelError unless the gait has room at a goal.
void GroundPathFollower::require_room(const Vector2d& goal, const std::string& name) const {
  const double room = map_->clearance(goal);
  if (room <= map_->cell()) throw ModelError(fmt::format("{}: must not be in an obstacle", name));
  if (room < clearance_) {
    throw ModelError(fmt::format(
        "{}: is {:.3g} m from an obstacle: the gait needs {:.3g} m, obstacle_margin included", name,
        room, clearance_));
  }
}

Vector2d GroundPathFollower::Line::at(double s) const noexcept {
  const double x = s / spacing;
  const auto last = points.cols() - 2;
  const auto i = static_cast<Eigen::Index>(to_index(std::floor(x), 0, static_cast<int>(last)));
  return points.col(i) + (x - static_cast<double>(i)) * (points.col(i + 1) - points.col(i));
}

double GroundPathFollower::Line::direction(double s, double ds) const noexcept {
  const Vector2d d = at(s + ds) - at(s);
  return std::atan2(d.y(), d.x());
}

GroundPathFollower::Line GroundPathFollower::line(std::span<const double> memory) const noexcept {
  if (!is_planned()) return {{path_.data(), 2, path_.cols()}, spacing_};
  return {{points_(memory).data(), 2, point_count_(memory)}, spacing_};
}

Vector2d GroundPathFollower::goal(int i) const noexcept {
  if (!is_planned()) return path_.col(path_.cols() - 1);
  return paths_[static_cast<std::size_t>(std::min(i, goal_count() - 1))].goal();
}

/// Traces the path to the present goal from where the snake is.
void GroundPathFollower::trace(const Vector2d& center, double heading,
                               std::span<double> memory) const noexcept {
  const GroundPaths& paths = paths_[static_cast<std::size_t>(goal_(memory))];
  const Vector2d along(std::cos(heading), std::sin(heading));
  GroundPaths::Start start{.position = center + 0.5 * body_length_ * along,
                           .heading = heading,
                           .arrival = 0.5 * goal_tolerance_};
  if (head_first_) start.max_curvature = max_curvature_;
  int count = paths.trace(start, spacing_, points_(memory));
  if (count < 2 && head_first_) {  // rather a path that it cannot quite follow than no path
    start.max_curvature = std::numeric_limits<double>::infinity();
    count = paths.trace(start, spacing_, points_(memory));
  }
  has_path_(memory) = count >= 2;
  traced_at_(memory) = center;
  point_count_(memory) = std::max(count, 2);
  s_(memory) = 0.0;
  // A new path may be longer, but not again and again.
  if (retries_(memory) < kRetries) {
    retries_(memory) += 1;
    nearest_(memory) = line(memory).length();
  }
}

double GroundPathFollower::heading(const SnakeMeasurement& measurement) const noexcept {
  const Vector3d along = measurement.X_WT.linear().col(0);
  return std::atan2(along.y(), along.x()) + heading_weights_.dot(measurement.q);
}

GroundPathFollower::Guidance GroundPathFollower::step(const Vector2d& center, double heading,
                                                      std::span<double> memory) const noexcept {
  if (!begun_(memory)) begin(center, heading, memory);
  Guidance guidance;
  guidance.goals = is_planned() ? goal_(memory) : 0;
  guidance.goal = goal(guidance.goals);
  if (finished_(memory)) return stay(center, heading, guidance);
  if (is_planned() && !find_path(center, heading, memory)) {
    guidance.has_path = false;
    guidance.direction = heading;
    guidance.remaining = (guidance.goal - center).norm();
    return guidance;
  }
  const Line path = line(memory);
  const Location location = locate(path, center, memory);
  guide(path, location, memory, guidance);
  if (is_at_goal(path, location, guidance.goal, memory)) {
    guidance.new_goal = next_goal(center, heading, memory);
  } else if (is_planned()) {
    retrace_if_left(path, location, center, heading, memory);
  }
  guidance.finished = finished_(memory);
  guidance.goals = is_planned() ? goal_(memory) : 0;
  guidance.progress = guidance.finished ? 1.0 : std::clamp(s_(memory) / path.length(), 0.0, 1.0);
  if (is_planned() && !guidance.finished)
    guidance.progress = (guidance.goals + guidance.progress) / static_cast<double>(goal_count());
  return guidance;
}

/// Finds the first path, or where the snake is on the one that is given.
void GroundPathFollower::begin(const Vector2d& center, double heading,
                               std::span<double> memory) const noexcept {
  begun_(memory) = true;
  if (is_planned()) {
    trace(center, heading, memory);
    return;
  }
  const Line path = line(memory);
  const double direction = path.direction(0.0, path.spacing);
  const Vector2d along(std::cos(direction), std::sin(direction));
  s_(memory) = std::min(body_length_, (center - path.at(0.0)).dot(along) + 0.5 * body_length_);
  nearest_(memory) = path.length() - s_(memory);
}

/// Guides nowhere: the last goal, or the end of the path, was reached.
GroundPathFollower::Guidance GroundPathFollower::stay(const Vector2d& center, double heading,
                                                      Guidance guidance) const noexcept {
  const Vector2d along(std::cos(heading), std::sin(heading));
  guidance.finished = guidance.on_path = true;
  guidance.progress = 1.0;
  guidance.path_error = (guidance.goal - center - 0.5 * body_length_ * along).norm();
  guidance.direction = heading;
  return guidance;
}

/// Returns whether there is a path. If not, it is sought again once the snake has moved.
bool GroundPathFollower::find_path(const Vector2d& center, double heading,
                                   std::span<double> memory) const noexcept {
  if (has_path_(memory)) return true;
  const bool elsewhere =
      (center - traced_at_(memory)).norm() > kRetraceFraction * footprint_.length;
  if (elsewhere) trace(center, heading, memory);
  return has_path_(memory);
}

/// Locates the snake: it is next to the mean of the segment on which its body lies.
GroundPathFollower::Location GroundPathFollower::locate(const Line& path, const Vector2d& center,
                                                        std::span<double> memory) const noexcept {
  const double s = s_(memory);
  Vector2d mean = Vector2d::Zero();
  for (int i = 0; i < kSamples; ++i)
    mean += path.at(s - body_length_ * i / (kSamples - 1)) / kSamples;
  const double tangent =
      head_first_ ? path.direction(s - body_length_, body_length_) : path.direction(s, look_ahead_);
  const Vector2d along(std::cos(tangent), std::sin(tangent));
  const Vector2d off = center - mean;
  s_(memory) = s + std::clamp(off.dot(along), -kMaxStep, kMaxStep);
  return {.tangent = tangent, .along = along, .aside = along.x() * off.y() - along.y() * off.x()};
}

/// Computes the guidance along the path.
void GroundPathFollower::guide(const Line& path, const Location& location, std::span<double> memory,
                               Guidance& guidance) const noexcept {
  const double remaining = path.length() - s_(memory);
  guidance.gained = std::max(0.0, nearest_(memory) - remaining);
  if (guidance.gained > 0.0) nearest_(memory) = remaining;
  guidance.path_error = hypotenuse(location.aside, std::min(0.0, remaining));
  guidance.direction = location.tangent - std::atan2(location.aside, look_ahead_);
  guidance.remaining = std::max(0.0, remaining);
  if (s_(memory) >= 0.0 && std::abs(location.aside) < tolerance_) on_path_(memory) = true;
  guidance.on_path = on_path_(memory);
}

bool GroundPathFollower::is_at_goal(const Line& path, const Location& location,
                                    const Vector2d& goal,
                                    std::span<const double> memory) const noexcept {
  const Vector2d guided =
      path.at(s_(memory)) + location.aside * Vector2d(-location.along.y(), location.along.x());
  return (guided - goal).norm() <= goal_tolerance_;
}

/// Begins the path to the next goal, or finishes. Returns whether a goal was reached.
bool GroundPathFollower::next_goal(const Vector2d& center, double heading,
                                   std::span<double> memory) const noexcept {
  if (!is_planned()) {
    finished_(memory) = true;
    return false;
  }
  if (goal_(memory) >= goal_count()) return false;
  goal_(memory) += 1;
  retries_(memory) = 0;
  if (goal_(memory) < goal_count()) {
    trace(center, heading, memory);
  } else {
    finished_(memory) = true;
  }
  return true;
}

/// Traces a new path if the snake has passed the end of the present one, or left it.
void GroundPathFollower::retrace_if_left(const Line& path, const Location& location,
                                         const Vector2d& center, double heading,
                                         std::span<double> memory) const noexcept {
  const bool passed = s_(memory) > path.length() + 0.5 * goal_tolerance_;
  if (!passed && std::abs(location.aside) <= tolerance_) return;
  const bool is_whole = (path.at(path.length()) - goal(goal_(memory))).norm() <= goal_tolerance_;
  if (!is_whole) retries_(memory) = 0;  // the memory had no room for the rest
  trace(center, heading, memory);
}

void GroundPathFollower::bends(std::span<const double> memory,
                               std::span<double> offsets) const noexcept {
  std::fill(offsets.begin(), offsets.end(), 0.0);
  if (!head_first_ || !begun_(memory) || !has_path_(memory)) return;
  const Line path = line(memory);
  double total = 0.0;
  for (const double length : lengths_) total += length;
  const double contraction = body_length_ / total;
  // From the head on; joint i is between links i and i + 1.
  double from_head = 0.0;
  for (std::size_t i = offsets.size(); i-- > 0;) {
    from_head += lengths_[i + 1];
    if (i % 2 != 0) continue;
    const double s = s_(memory) - contraction * from_head;
    const double module = contraction * (lengths_[i] + lengths_[i + 1]);
    offsets[i] = wrap_angle(path.direction(s, module) - path.direction(s - module, module));
  }
}

int GroundPathFollower::points(std::span<const double> memory,
                               std::span<Vector3d> points) const noexcept {
  if (!begun_(memory) || (is_planned() && !has_path_(memory)) || points.size() < 2) return 0;
  const Line path = line(memory);
  const auto count = static_cast<int>(points.size());
  for (int i = 0; i < count; ++i)
    points[static_cast<std::size_t>(i)] << path.at(path.length() * i / (count - 1)), kDrawnHeight;
  return count;
}

}  // namespace tendril
