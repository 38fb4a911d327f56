#pragma once

#include <Eigen/Core>
#include <optional>

namespace tendril {

/// A position and direction in the bending plane. Plane coordinates are (x, z) [m]; a heading is
/// measured from +z towards +x [rad], any value.
///
///     tangent t(psi) = (sin psi, cos psi),   lateral axis X(psi) = (cos psi, -sin psi)
struct PlanarPose {
  Eigen::Vector2d position{0.0, 0.0};  ///< (x, z) [m]
  double heading = 0.0;                ///< [rad], from +z towards +x

  [[nodiscard]] Eigen::Vector2d tangent() const noexcept;
  [[nodiscard]] Eigen::Vector2d lateral() const noexcept;
  /// `point` relative to the pose: (along the lateral axis, along the tangent) [m].
  [[nodiscard]] Eigen::Vector2d to_local(const Eigen::Vector2d& point) const noexcept;
  /// The inverse of `to_local`.
  [[nodiscard]] Eigen::Vector2d to_world(const Eigen::Vector2d& local) const noexcept;
};

/// A section of constant curvature in its bending plane. Straight for curvature 0; all functions
/// are continuous there.
struct PlanarArc {
  PlanarPose start;
  double curvature = 0.0;  ///< [1/m], signed; > 0 bends to the lateral axis of `start`
  double length = 0.0;     ///< [m], >= 0

  [[nodiscard]] double bend() const noexcept { return curvature * length; }  ///< [rad], signed
  /// Pose at arc length s, also past the arc's ends.
  ///
  ///     u = k s,   local point ((1 - cos u)/k, sin u / k),   heading psi0 + u
  [[nodiscard]] PlanarPose pose_at(double s) const noexcept;
  [[nodiscard]] PlanarPose end() const noexcept { return pose_at(length); }
  /// Arc length in [0, length] of the point nearest to `point`.
  [[nodiscard]] double nearest_parameter(const Eigen::Vector2d& point) const noexcept;
  /// Distance between the backbone and `point` [m], >= 0.
  [[nodiscard]] double distance(const Eigen::Vector2d& point) const noexcept;
};

/// The arc from `start` (position and tangent) to `target`: inverse kinematics of one section.
///
///     k = 2 x/(x^2 + z^2),   theta = 2 atan2(x, z),   S = theta/k
///
/// There is none to a `target` straight behind the start (x = 0, z <= 0), nor to the start itself.
/// The bend is in (-2 pi, 2 pi).
/// Source: [FABRIKx] sec. 2.5. Differs: theta by atan2, which reaches targets behind the start.
[[nodiscard]] std::optional<PlanarArc> chord_arc(const PlanarPose& start,
                                                 const Eigen::Vector2d& target) noexcept;

/// The side of the body that an obstacle lies on.
enum class BodySide { Positive = 1, Negative = -1 };  ///< Positive: on the lateral axis' side

[[nodiscard]] constexpr double sign_of(BodySide side) noexcept {
  return side == BodySide::Positive ? 1.0 : -1.0;
}

/// Curvature [1/m] of the circle through `start`, with its tangent, that touches the disc of
/// `radius` about `center` and has it on `side`:
///
///     k = 2 (x - sigma c) / (x^2 + z^2 - c^2)
///
/// Of one disc, the curvatures between that of Positive and that of Negative (Positive's is the
/// smaller one) are those whose full circle enters it. Nothing when `start` is inside the disc or
/// on its rim.
[[nodiscard]] std::optional<double> tangency_curvature(const PlanarPose& start,
                                                       const Eigen::Vector2d& center, double radius,
                                                       BodySide side) noexcept;

/// Distance and crossing of an arc and a segment.
struct ArcSegmentDistance {
  double distance = 0.0;                 ///< [m]; 0 when they cross
  std::optional<double> first_crossing;  ///< arc length of the first crossing [m]
};

/// Distance between the arc and the segment from `a` to `b`; `a` = `b` is a point.
/// The least of: segment ends to the arc, arc ends to the segment, and the foot of the circle's
/// center on the segment to the circle; 0 where they cross.
[[nodiscard]] ArcSegmentDistance segment_distance(const PlanarArc& arc, const Eigen::Vector2d& a,
                                                  const Eigen::Vector2d& b) noexcept;

/// The point of the segment from `a` to `b` that is nearest to `point`.
[[nodiscard]] Eigen::Vector2d nearest_on_segment(const Eigen::Vector2d& point,
                                                 const Eigen::Vector2d& a,
                                                 const Eigen::Vector2d& b) noexcept;

}  // namespace tendril
