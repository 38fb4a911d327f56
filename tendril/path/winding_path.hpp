#pragma once

#include <Eigen/Core>

#include "tendril/path/path.hpp"

namespace tendril {

/// A cylinder and how an arm that is fed along +z from the origin winds round it.
struct Winding {
  Eigen::Vector3d cylinder_point = Eigen::Vector3d::Zero();  ///< any point of its axis [m]
  Eigen::Vector3d cylinder_axis = Eigen::Vector3d::UnitX();  ///< along which the winding rises
  double cylinder_radius = 0.03;                             ///< [m], > 0
  double angle = 5.0;                                        ///< of the winding [rad], > 0
  double exit_length = 0.1;                                  ///< straight end of the path [m], > 0
};

/// The path that leaves the feed axis at its point nearest to the cylinder's axis, runs on a helix
/// round the cylinder and ends straight. The helix is tangent to the feed axis, which fixes its
/// radius, the distance of the two axes, and its pitch angle, 90 deg less the angle between them:
///
///     c(phi) = o + a (r cos phi + t sin phi) + d a phi tan(pitch)
///
/// with o and d a point and the direction of the cylinder's axis, r from there to the feed axis and
/// t = d x r (or its opposite, so that the path continues forwards).
/// @param radius  of the helix [m]; 0: the distance of the axes. A smaller one draws the winding
///                tight: the lead-in leans from the origin of the feed axis to it over `lean` [m]
///                before the helix.
/// Throws ModelError when a field is out of range, the axes meet or are nearly parallel, the
/// nearest point lies behind the origin, or the feed axis enters the cylinder.
[[nodiscard]] Path winding_path(const Winding& winding, double radius = 0.0, double lean = 0.1);

/// Distance of the feed axis from the cylinder's axis [m]: the radius of the loose winding.
[[nodiscard]] double winding_radius(const Winding& winding);

}  // namespace tendril
