#pragma once

#include <optional>
#include <span>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/section.hpp"

namespace tendril {

/// A disc relative to the start of an arc, in the arc's bend plane: x along the side that the
/// section bends to, z along the tangent, and the inflated radius c = R + body radius + margin.
struct PlaneDisc {
  double x = 0.0, z = 0.0, radius = 0.0;  ///< [m]
};

/// The disc that a sphere of radius `inflated_radius` [m] cuts from the bend plane of an arc;
/// nothing where it does not reach the plane. The distance of the arc from the sphere's center is
/// hypot(distance in the plane, offset from the plane), so an arc clear of the disc is clear of the
/// sphere.
[[nodiscard]] std::optional<PlaneDisc> disc_in_plane(const BodyArc& arc,
                                                     const Eigen::Vector3d& center,
                                                     double inflated_radius) noexcept;

/// Start of a section and the plane that it bends in; unit vectors.
struct SectionFrame {
  Eigen::Vector3d start = Eigen::Vector3d::Zero();
  Eigen::Vector3d tangent = Eigen::Vector3d::UnitZ();
  Eigen::Vector3d side = Eigen::Vector3d::UnitX();
};

enum class AvoidStatus : std::uint8_t {
  Free,       ///< the desired bend is free
  Corrected,  ///< another bend is free
  Blocked,    ///< no bend inside the limits is; the desired one is returned
};

/// A section's bend in its plane: `theta` < 0 bends to the other side.
struct PlaneBend {
  double theta = 0.0;      ///< [rad], |theta| within the limit
  double extension = 0.0;  ///< [m]
  AvoidStatus status = AvoidStatus::Free;
};

/// The bend of one section that clears the obstacles by `safety_distance`, nearest to the one
/// desired, in the same plane and with the same start.
///
/// In both directions from the desired curvature: the obstacle that the section overlaps most is
/// passed by the least change that clears it, then the next one, until the section is free or its
/// limit is reached. Spheres are passed with the tangency as the far end of a bisection; other
/// shapes and sections of several arcs by a sweep in steps of 0.02 rad and bisection. The length is
/// fitted again to `goal` where that is free too (single arcs). Of two solutions the one whose end
/// is nearer to `goal` is taken, then the smaller change, the smaller bend, the positive side.
///
/// Source: [FABRIKx] sec. 2.4. Differs: docs/theory/obstacles.md, "Correction of a section".
/// Tested by: avoidance_test.
/// @param arcs  room for one arc per sub-section
[[nodiscard]] PlaneBend avoid(const Section& section, const SectionFrame& frame,
                              const PlaneBend& desired, const Eigen::Vector3d& goal,
                              const Obstacles& obstacles, double safety_distance,
                              std::span<BodyArc> arcs) noexcept;

/// An overlap up to this counts as touching, which is free. [m]
inline constexpr double kTouchDistance = 1e-7;

}  // namespace tendril
