#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// Chord angle alpha [rad] of the section bent by `theta`, followed from theta = 0 without jumps:
/// unlike `Chord::angle` it may exceed pi. `theta` in [0, 2 pi]. [FABRIKx] sec. 2.3.1, figure 2.3
[[nodiscard]] double followed_chord_angle(const Section& section, double theta) noexcept;

/// Ratio k = theta / alpha of bend and chord angle: 2 for constant curvature, 1 / kappa0 at
/// theta = 0, infinite where the chord angle vanishes. [FABRIKx] (2.13), figure 2.2
[[nodiscard]] double bend_ratio(const Section& section, double theta) noexcept;

/// Critical bend [rad]: the first one at which the chord angle stops growing, so that a smaller
/// bend has the chord angle of a larger one. Nothing if there is none below the bend limit, or none
/// before the chord angle reaches pi. [FABRIKx] sec. 2.3.1, figure 2.3
[[nodiscard]] std::optional<double> critical_bend_angle(const Section& section) noexcept;

/// End of a section at one bend, in the bend plane.
struct BentSection {
  double theta = 0.0;             ///< bend angle [rad]
  double chord_angle = 0.0;       ///< `followed_chord_angle` [rad]
  double ratio = 2.0;             ///< `bend_ratio`
  Eigen::Vector2d end{0.0, 0.0};  ///< x towards the bend and z along the base tangent at the
                                  ///< largest length [m]
};

/// Points that the end of a section reaches: a body or surface of revolution about the z axis of
/// its base, since the bend direction is free. Its half-plane has the distance |x| from that axis,
/// and z. [FABRIKx] figures 1.3 and 3.14
struct SectionWorkspace {
  std::vector<BentSection> bends;        ///< from 0 to the bend limit, at equal distances
  std::vector<Eigen::Vector2d> outline;  ///< boundary x, z of the set in the bend plane [m]: the
                                         ///< curve of `bends`; if extensible closed by the curve of
                                         ///< the largest bend at each length, and the axis
  double surface = 0.0;  ///< area of the surface of revolution of a fixed length [m^2]; else 0
  double area = 0.0;     ///< of the set in the half-plane [m^2]; 0 for a fixed length
  double volume = 0.0;   ///< of the body of revolution [m^3]; 0 for a fixed length
};

/// Reachable points of a section alone.
///
///     x = (SC + s) X(theta),  z = (SC + s) Z(theta),  0 <= s <= SD,  0 <= theta <= thetaLim(s)
///
/// `area` and `volume` count points reached by two bends once. [FABRIKx] (1.4)-(1.11), (2.1)-(2.5)
/// @param count  number of bends, >= 2; throws ModelError
[[nodiscard]] SectionWorkspace section_workspace(const Section& section, int count = 181);

}  // namespace tendril
