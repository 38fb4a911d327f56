#pragma once

#include <Eigen/Core>

#include "tendril/path/path.hpp"

namespace tendril {

/// A cylinder and how an arm that is fed along +z from the origin winds around it.
struct Winding {
  Eigen::Vector3d cylinder_point = Eigen::Vector3d::Zero();  ///< any point of its axis [m]
  Eigen::Vector3d cylinder_axis = Eigen::Vector3d::UnitX();  ///< along which the winding rises
  double cylinder_radius = 0.03;                             ///< [m], > 0
  /// Radius of the loose helix [m], > cylinder_radius; 0: the distance of the two axes.
  double radius = 0.0;
  double angle = 5.0;        ///< of the winding [rad], > 0
  double exit_length = 0.1;  ///< straight end of the path [m], > 0
};

/// The path that leaves the feed axis at its point nearest to the cylinder's axis, runs on a helix
/// around the cylinder and ends straight. The helix begins in the direction of the feed axis, which
/// fixes its pitch angle, 90 deg less the angle between the two axes:
///
///     c(phi) = o + a (r cos phi + t sin phi) + d a phi tan(pitch)
///
/// with o and d a point and the direction of the cylinder's axis, r from there to the feed axis and
/// t = d x r (or its opposite, so that the path continues forwards). Where the radius a is not the
/// distance of the two axes, the path shifts from the feed axis to the helix over `transition` [m]
/// before it.
/// @param radius  of the helix [m]; 0: that of the loose one. A smaller one draws the winding
/// tight;
///                its pitch is unchanged.
/// Throws ModelError when a field is out of range, the axes are nearly parallel, the nearest point
/// lies behind the origin, or the loose helix enters the cylinder.
[[nodiscard]] Path winding_path(const Winding& winding, double radius = 0.0,
                                double transition = 0.1);

/// Location of a cylinder next to the feed axis.
struct WindingPlace {
  double distance;  ///< of the two axes [m]
  double lead_in;   ///< from the origin to the point of the feed axis nearest to the cylinder's [m]
  double radius;    ///< of the loose helix [m]
  double pitch;     ///< of the helix [rad]
};
[[nodiscard]] WindingPlace winding_place(const Winding& winding);

}  // namespace tendril
