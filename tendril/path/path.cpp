#include "tendril/path/path.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>

#include "tendril/curve_points.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kApart = 1e-9;           // [m], nearer points count as one
constexpr double kStraightCorner = 1e-9;  // [rad], a smaller angle needs no arc
constexpr double kLargestSampleCount = 1e7;

std::string text(double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", value);
  return number;
}

/// The rounding of one corner: the arc starts and ends `trim` away from the corner, `angle` is
/// between its ends.
struct Corner {
  double angle = 0.0;  // [rad]
  double trim = 0.0;   // [m]
};

Corner corner_at(std::size_t index, const Vector3d& t_in, const Vector3d& t_out, double radius) {
  const double angle = std::atan2(t_in.cross(t_out).norm(), t_in.dot(t_out));
  if (angle < kStraightCorner) return {};
  if (angle > std::numbers::pi - kStraightCorner)
    throw ModelError("path: waypoint " + std::to_string(index + 1) +
                     ": the path turns back on itself here, must turn by less than pi");
  return {angle, radius * std::tan(angle / 2.0)};
}

/// Collects the samples; a point that coincides with the last one is left out.
class Samples {
 public:
  explicit Samples(double spacing) : spacing_(spacing) {}

  void add(const Vector3d& p) {
    if (points_.empty() || (p - points_.back()).norm() > kApart) points_.push_back(p);
  }

  /// Adds a line from the last point straight on to `end`.
  void add_line(const Vector3d& end) {
    const Vector3d start = points_.back();
    const int count = steps((end - start).norm());
    for (int k = 1; k < count; ++k) add(start + (end - start) * (double(k) / count));
    add(end);
  }

  /// Adds an arc from the last point, leaving along t_in, to the segment along t_out.
  void add_arc(const Vector3d& t_in, const Vector3d& t_out, double angle, double radius) {
    const Vector3d start = points_.back();
    const Vector3d inward = (t_out - t_out.dot(t_in) * t_in).normalized();
    const int count = steps(angle * radius);
    for (int k = 1; k <= count; ++k) {
      const double a = angle * k / count;
      add(start + radius * (std::sin(a) * t_in + (1.0 - std::cos(a)) * inward));
    }
  }

  [[nodiscard]] std::vector<Vector3d> take() { return std::move(points_); }

 private:
  [[nodiscard]] int steps(double length) const {
    return std::max(1, static_cast<int>(std::ceil(length / spacing_)));
  }

  double spacing_;
  std::vector<Vector3d> points_;
};

}  // namespace

Path::Path(std::vector<Vector3d> points) : points_(std::move(points)) {
  check_curve_points(points_, "path");
  arc_length_.reserve(points_.size());
  arc_length_.push_back(0.0);
  for (std::size_t i = 1; i < points_.size(); ++i)
    arc_length_.push_back(arc_length_.back() + (points_[i] - points_[i - 1]).norm());
}

std::size_t Path::segment_at(double s) const noexcept {
  const auto above = std::upper_bound(arc_length_.begin() + 1, arc_length_.end() - 1, s);
  return static_cast<std::size_t>(above - arc_length_.begin()) - 1;
}

Vector3d Path::position(double s) const noexcept {
  if (points_.empty()) return Vector3d::Zero();
  const std::size_t i = segment_at(s);
  const double fraction = (s - arc_length_[i]) / (arc_length_[i + 1] - arc_length_[i]);
  return points_[i] + fraction * (points_[i + 1] - points_[i]);
}

Vector3d Path::tangent(double s) const noexcept {
  if (points_.empty()) return Vector3d::UnitZ();
  const std::size_t i = segment_at(s);
  return (points_[i + 1] - points_[i]) / (arc_length_[i + 1] - arc_length_[i]);
}

Path rounded_path(std::span<const Vector3d> waypoints, double corner_radius, double spacing) {
  check_curve_points(waypoints, "path", "waypoint");
  require("path", "corner_radius", corner_radius, kPositive, "m");
  require("path", "spacing", spacing, kPositive, "m");

  const std::size_t segments = waypoints.size() - 1;
  std::vector<Vector3d> tangents(segments);
  std::vector<double> lengths(segments);
  double total = 0.0;
  for (std::size_t i = 0; i < segments; ++i) {
    const Vector3d segment = waypoints[i + 1] - waypoints[i];
    lengths[i] = segment.norm();
    tangents[i] = segment / lengths[i];
    total += lengths[i];
  }
  if (total / spacing > kLargestSampleCount)
    refuse("path", "spacing", spacing,
           ">= " + text(total / kLargestSampleCount) + " m on a path of " + text(total) + " m",
           "m");

  std::vector<Corner> corners(waypoints.size());  // none at the ends
  for (std::size_t i = 1; i < segments; ++i)
    corners[i] = corner_at(i, tangents[i - 1], tangents[i], corner_radius);
  for (std::size_t i = 0; i < segments; ++i) {
    const double needed = corners[i].trim + corners[i + 1].trim;
    if (needed > lengths[i] + kApart) {
      const std::size_t named = corners[i].trim > corners[i + 1].trim ? i : i + 1;
      throw ModelError("path: waypoint " + std::to_string(named + 1) +
                       ": corner_radius = " + text(corner_radius) + " m needs " + text(needed) +
                       " m of the segment from waypoint " + std::to_string(i + 1) + " to " +
                       std::to_string(i + 2) + ", must be at most its length " + text(lengths[i]) +
                       " m");
    }
  }

  Samples samples(spacing);
  samples.add(waypoints.front());
  for (std::size_t i = 0; i < segments; ++i) {
    samples.add_line(waypoints[i + 1] - corners[i + 1].trim * tangents[i]);
    if (corners[i + 1].angle > 0.0)
      samples.add_arc(tangents[i], tangents[i + 1], corners[i + 1].angle, corner_radius);
  }
  return Path(samples.take());
}

}  // namespace tendril
