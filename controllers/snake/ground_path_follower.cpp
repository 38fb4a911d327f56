#include "controllers/snake/ground_path_follower.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/path/path.hpp"
#include "tendril/snake/cubic_spline.hpp"

namespace tendril {
namespace {

using Eigen::Matrix2Xd;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kLookAhead = 0.35;             // of the body's length: where the snake aims at
constexpr double kUsableBend = 0.85;            // part of the sharpest turn that ways may need
constexpr double kPathSpacing = 0.02;           // [m], of a path that is given
constexpr int kSamples = 9;                     // of the part of the way on which the body lies
constexpr double kLargestStep = 0.02;           // of the place on the way in one step [m]
constexpr int kPathPoints = 160;                // kept in the memory; what is longer is found later
constexpr int kLongestWay = 2000;               // points, to see that there is one
constexpr double kCellOfClearance = 0.08;       // edge of the map's cells
constexpr double kLargestOfClearance = 0.2;     // of a large map
constexpr double kCellOfRadius[] = {0.8, 1.6};  // no smaller, no larger in radii of the links
constexpr double kLowestOfCell = 0.6;  // height of the map: the ground, half a cell below, is none
constexpr double kSpacingOfCell = 3.0;

double wrapped(double angle) noexcept { return std::remainder(angle, 2.0 * std::numbers::pi); }

SnakeChain chain_of(const SnakeContext& context) {
  return SnakeChain({.link_lengths = {context.link_lengths.begin() + 1, context.link_lengths.end()},
                     .joint_limit = context.joint_limit,
                     .joint_limits = {},
                     .rear_length = context.link_lengths.front()});
}

template <class... Args>
std::string text(const char* format, Args... args) {
  std::array<char, 300> line;
  std::snprintf(line.data(), line.size(), format, args...);
  return line.data();
}

/// Weights of the joint angles in the heading of the body's middle, relative to that of link 0:
/// headings of the links = heading + bend x + a cos(lag j) + b sin(lag j), x from -1 to 1.
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
      setting::number(
          "corner_radius", "m", "0", {0.0, 1e3},
          "path, ground_path: the corners of the points' polyline are rounded with arcs "
          "of this radius; 0: smooth through all points"),
      setting::number("ground_tolerance", "m", "0.2", kPositive,
                      "ground_path, avoidance: status 8 when the middle of the snake has been "
                      "farther from its way for longer than `following_time`"),
      setting::flag("avoidance", false,
                    "find ways to goals or target among the scene's obstacles that stand still"),
      setting::obstacle_names(
          "obstacles",
          "avoidance: names of geoms or bodies, separated by spaces; default: every geom "
          "that the snake can touch"),
      setting::number("obstacle_margin", "m", "0.05", {0.0, 1.0},
                      "avoidance: least clearance between the ground that the gait needs and "
                      "obstacles"),
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
  const char* const wanted = settings.has("ground_path") ? "ground_path" : "avoidance";
  if (!context.is_free) throw ModelError(std::string(wanted) + ": needs base.kind = \"free\"");
  // The wave must run so that the snake moves forward.
  const double wave = gait.frequency * gait.lag;
  const bool forward = gait.kind == GaitKind::Sidewinding    ? wave > 0.0
                       : gait.kind == GaitKind::VerticalWave ? wave > 0.0
                       : gait.kind == GaitKind::Serpenoid    ? wave < 0.0
                                                             : false;
  if (!forward) {
    throw ModelError(std::string(wanted) +
                     ": needs gait = sidewinding, vertical_wave or serpenoid, forwards");
  }
  if (settings.has("ground_path") && settings.flag("avoidance"))
    throw ModelError("avoidance: must not be given together with ground_path");
  body_ = head_first_ ? footprint_.length : 0.0;
  look_ahead_ = kLookAhead * footprint_.length;
  const double contraction =
      footprint_.length / std::accumulate(lengths_.begin(), lengths_.end(), 0.0);
  const double module = lengths_[1] + lengths_[2];
  max_curvature_ = kUsableBend * largest_yaw_offset / (module * contraction);
  clearance_ = (head_first_ ? footprint_.width : footprint_.reach) + context.radius +
               settings.number("obstacle_margin");
  if (settings.has("ground_path")) {
    if (!goals.empty() || settings.has("target"))
      throw ModelError("ground_path: must not be given together with goals or target");
    read_path(settings);
  } else {
    plan(context, std::move(goals));
  }
  goal_ = layout_.index(0, static_cast<int>(ways_.size()));
}

void GroundPathFollower::read_path(const Settings& settings) {
  std::string table(settings.text("ground_path"));
  std::replace(table.begin(), table.end(), ',', ' ');
  static constexpr SettingInfo kRow[] = {setting::numbers("ground_path", "m", "")};
  const std::vector<double> numbers =
      Settings(kRow, {{"ground_path", std::move(table)}}).numbers("ground_path");
  if (numbers.size() % 2 != 0 || numbers.size() < 4)
    throw ModelError(
        text("ground_path: %zu numbers: must be x and y of at least two points", numbers.size()));
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
    throw ModelError(std::string("ground_path: ") + error.what());
  }
}

void GroundPathFollower::plan(const SnakeContext& context, std::vector<Vector2d> goals) {
  const bool has_goals = !goals.empty();
  if (context.settings.has("target")) {
    const Vector2d target = context.scene.standing_target("target").head<2>();
    if (!has_goals) goals.push_back(target);
  }
  if (goals.empty()) throw ModelError("avoidance: needs a target: target or goals must be given");

  // The rectangle: as far around start and goals as a detour may lead, but no farther than the
  // obstacles do.
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
  const double cell =
      std::max(std::clamp(kCellOfClearance * clearance_, kCellOfRadius[0] * context.radius,
                          kCellOfRadius[1] * context.radius),
               fit);
  if (cell > kLargestOfClearance * clearance_) {
    throw ModelError(text("avoidance: the way lies in %.3g m x %.3g m: must be at most %.3g m^2",
                          all.sizes().x(), all.sizes().y(),
                          GroundMap::kMaxCells * std::pow(kLargestOfClearance * clearance_, 2)));
  }
  const double r = context.radius, height = context.ground_height,
               lowest = std::max(r, kLowestOfCell * cell);
  map_ = std::make_unique<GroundMap>(
      obstacles, GroundMapOptions{.low = all.min(),
                                  .high = all.max(),
                                  .cell = cell,
                                  .heights = {height + lowest, height + std::max(lowest, 2.0 * r),
                                              height + std::max(lowest, 3.0 * r)}});
  spacing_ = kSpacingOfCell * cell;
  Matrix2Xd points(2, kLongestWay);
  Vector2d from = context.start_center;
  ways_.reserve(goals.size());
  for (std::size_t i = 0; i < goals.size(); ++i) {
    const std::string name = has_goals ? text("goals: goal %zu", i + 1)
                                       : "target = " + std::string(context.settings.text("target"));
    const double room = map_->clearance(goals[i]);
    if (room <= cell) throw ModelError(name + ": must not be in an obstacle");
    if (room < clearance_) {
      throw ModelError(name + text(": is %.3g m from an obstacle: the gait needs %.3g m, "
                                   "obstacle_margin included",
                                   room, clearance_));
    }
    ways_.emplace_back(*map_, goals[i], clearance_);
    const int count =
        ways_.back().trace({.position = from, .arrival = 0.5 * goal_tolerance_}, spacing_, points);
    if (count == 0) {
      throw ModelError(name + text(": there is no way that is %.3g m wide, which the gait needs, "
                                   "obstacle_margin included",
                                   2.0 * clearance_));
    }
    from = goals[i];
  }
  count_ = layout_.index(2, kPathPoints);
  way_ = layout_.matrix<Matrix2Xd>(2, kPathPoints);
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
  if (path_.cols() > 0) return {{path_.data(), 2, path_.cols()}, spacing_};
  return {{way_(memory).data(), 2, count_(memory)}, spacing_};
}

Vector2d GroundPathFollower::goal(int i) const noexcept {
  if (path_.cols() > 0) return path_.col(path_.cols() - 1);
  return ways_[static_cast<std::size_t>(std::min(i, static_cast<int>(ways_.size()) - 1))].goal();
}

/// Begins the way to the present goal where the snake is.
void GroundPathFollower::trace(const Vector2d& center, double heading,
                               std::span<double> memory) const noexcept {
  const GroundPaths& ways = ways_[static_cast<std::size_t>(goal_(memory))];
  const Vector2d along(std::cos(heading), std::sin(heading));
  GroundPaths::Start start{.position = center + 0.5 * body_ * along,
                           .heading = heading,
                           .arrival = 0.5 * goal_tolerance_};
  if (head_first_) start.max_curvature = max_curvature_;
  int count = ways.trace(start, spacing_, way_(memory));
  if (count < 2 && head_first_) {  // better one that it cannot quite follow than none
    start.max_curvature = std::numeric_limits<double>::infinity();
    count = ways.trace(start, spacing_, way_(memory));
  }
  has_path_(memory) = count >= 2;
  tried_(memory) = center;
  count_(memory) = std::max(count, 2);
  s_(memory) = 0.0;
  // A new way may be longer, but not again and again.
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
  Guidance made;
  const bool planned = path_.cols() == 0;
  const bool begins = !begun_(memory);
  if (begins) {
    begun_(memory) = true;
    if (planned) {
      trace(center, heading, memory);
    } else {
      const Line way = line(memory);
      const double direction = way.direction(0.0, way.spacing);
      const Vector2d along(std::cos(direction), std::sin(direction));
      s_(memory) = std::min(body_, (center - way.at(0.0)).dot(along) + 0.5 * body_);
      nearest_(memory) = way.length() - s_(memory);
    }
  }
  made.goals = planned ? goal_(memory) : 0;
  made.goal = goal(made.goals);
  if (finished_(memory)) {
    const Vector2d along(std::cos(heading), std::sin(heading));
    made.finished = made.on_path = true;
    made.progress = 1.0;
    made.path_error = (made.goal - center - 0.5 * body_ * along).norm();
    made.direction = heading;
    return made;
  }
  if (planned && !has_path_(memory)) {
    const bool elsewhere = (center - tried_(memory)).norm() > 0.1 * footprint_.length;
    if (elsewhere) trace(center, heading, memory);
    if (!has_path_(memory)) {
      made.has_path = false;
      made.direction = heading;
      made.remaining = (made.goal - center).norm();
      return made;
    }
  }

  const Line way = line(memory);
  // Where it is: the mean of the body's part of the way lies beside it.
  const double s = s_(memory);
  Vector2d mean = Vector2d::Zero();
  for (int i = 0; i < kSamples; ++i) mean += way.at(s - body_ * i / (kSamples - 1)) / kSamples;
  const double ahead = head_first_ ? body_ : look_ahead_;
  const double tangent = head_first_ ? way.direction(s - body_, body_) : way.direction(s, ahead);
  const Vector2d along(std::cos(tangent), std::sin(tangent));
  const Vector2d off = center - mean;
  const double moved = std::clamp(off.dot(along), -kLargestStep, kLargestStep);
  const double aside = along.x() * off.y() - along.y() * off.x();
  s_(memory) = s + moved;
  const double remains = way.length() - s_(memory);
  made.gained = std::max(0.0, nearest_(memory) - remains);
  if (made.gained > 0.0) nearest_(memory) = remains;
  made.path_error = std::hypot(aside, std::min(0.0, remains));
  made.direction = tangent - std::atan2(aside, look_ahead_);
  made.remaining = std::max(0.0, way.length() - s_(memory));
  if (s_(memory) >= 0.0 && std::abs(aside) < tolerance_) on_path_(memory) = true;
  made.on_path = on_path_(memory);
  const Vector2d guided = way.at(s_(memory)) + aside * Vector2d(-along.y(), along.x());
  const bool passed = s_(memory) > way.length() + 0.5 * goal_tolerance_;
  if ((guided - made.goal).norm() <= goal_tolerance_) {
    if (!planned) {
      finished_(memory) = true;
    } else if (goal_(memory) < static_cast<int>(ways_.size())) {
      const int next = goal_(memory) + 1;
      goal_(memory) = next;
      made.new_goal = true;
      retries_(memory) = 0;
      if (next < static_cast<int>(ways_.size()))
        trace(center, heading, memory);
      else
        finished_(memory) = true;
    }
  } else if (planned && (passed || std::abs(aside) > tolerance_)) {
    const bool whole = (way.at(way.length()) - made.goal).norm() <= goal_tolerance_;
    if (!whole) retries_(memory) = 0;  // it had no room in the memory
    trace(center, heading, memory);
  }
  made.finished = finished_(memory);
  made.goals = planned ? goal_(memory) : 0;
  made.progress = made.finished ? 1.0 : std::clamp(s_(memory) / way.length(), 0.0, 1.0);
  if (planned && !made.finished)
    made.progress = (made.goals + made.progress) / static_cast<double>(ways_.size());
  return made;
}

void GroundPathFollower::bends(std::span<const double> memory,
                               std::span<double> offsets) const noexcept {
  std::fill(offsets.begin(), offsets.end(), 0.0);
  if (!head_first_ || !begun_(memory) || !has_path_(memory)) return;
  const Line way = line(memory);
  double total = 0.0;
  for (const double length : lengths_) total += length;
  const double contraction = body_ / total;
  // From the head on; joint i stands between links i and i + 1.
  double from_head = 0.0;
  for (std::size_t i = offsets.size(); i-- > 0;) {
    from_head += lengths_[i + 1];
    if (i % 2 != 0) continue;
    const double s = s_(memory) - contraction * from_head;
    const double module = contraction * (lengths_[i] + lengths_[i + 1]);
    offsets[i] = wrapped(way.direction(s, module) - way.direction(s - module, module));
  }
}

int GroundPathFollower::points(std::span<const double> memory,
                               std::span<Vector3d> points) const noexcept {
  if (!begun_(memory) || (path_.cols() == 0 && !has_path_(memory)) || points.size() < 2) return 0;
  const Line way = line(memory);
  const auto count = static_cast<int>(points.size());
  for (int i = 0; i < count; ++i)
    points[static_cast<std::size_t>(i)] << way.at(way.length() * i / (count - 1)), 0.02;
  return count;
}

}  // namespace tendril
