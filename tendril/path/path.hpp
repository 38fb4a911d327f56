#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

namespace tendril {

/// A curve in space given by closely spaced points, parametrized by arc length s in [0, length()].
/// Between the points it is linear; sampled at spacing d on an arc of radius R it is d^2/(8R) off.
/// Past its ends it continues straight along the end tangents.
/// A default-constructed path is empty: of length 0, at the origin, along z.
class Path {
 public:
  Path() = default;

  /// Takes at least two points, all finite, neighbors apart (> 1e-9 m); throws ModelError naming
  /// the point (from 1).
  explicit Path(std::vector<Eigen::Vector3d> points);

  [[nodiscard]] double length() const noexcept {
    return arc_length_.empty() ? 0.0 : arc_length_.back();
  }
  [[nodiscard]] Eigen::Vector3d position(double s) const noexcept;
  /// Unit; constant between two points, that of the segment behind at a point itself.
  [[nodiscard]] Eigen::Vector3d tangent(double s) const noexcept;
  [[nodiscard]] std::span<const Eigen::Vector3d> points() const noexcept { return points_; }

 private:
  /// Index of the point at which the segment that holds s begins.
  [[nodiscard]] std::size_t segment_at(double s) const noexcept;

  std::vector<Eigen::Vector3d> points_;
  std::vector<double> arc_length_;
};

/// The polyline through `waypoints` with every corner replaced by an arc of `corner_radius` [m]
/// tangent to both segments, sampled at most `spacing` [m] apart, with samples on the exact curve
/// and at both ends of every arc. Corners that turn by less than 1e-9 rad stay as they are.
///
///     trim = R tan(angle/2)   from the corner to each end of its arc,   arc length = R angle
///
/// Throws ModelError naming the waypoint (from 1) when: fewer than two, repeated, not finite, the
/// path turns back on itself, or the arcs of neighboring corners do not fit on the segment between
/// them; or when `corner_radius` or `spacing` is not positive.
[[nodiscard]] Path rounded_path(std::span<const Eigen::Vector3d> waypoints, double corner_radius,
                                double spacing = 1e-3);

}  // namespace tendril
