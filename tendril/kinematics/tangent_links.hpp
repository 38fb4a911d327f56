#pragma once

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// Above this bend [rad] the tangent links are those of this bend: they grow without bound towards
/// pi.
inline constexpr double kLargestLinkBend = 3.0;

/// The two straight links that represent a bent section: from its base along the first tangent to
/// the point where the end tangents meet, and from there along the last tangent to its end.
struct TangentLinks {
  double first = 0.0;   ///< [m]
  double second = 0.0;  ///< [m]
};

/// Tangent links of a section of current length `length` bent by theta >= 0, whose unit-length
/// shape ends at `end`.
///
///     first = C sin(theta - alpha) / sin(theta),  second = C sin(alpha) / sin(theta)
///     theta -> 0:  first = C (1 - kappa0),  second = C kappa0
///
/// C is the chord, alpha its angle. Above kLargestLinkBend theta and alpha are scaled down to it.
/// Differs: (2.33) prints C/2 for both limits, right for constant curvature only.
/// Source: [FABRIKx] (2.31)-(2.33); docs/theory/kinematics.md, "Tangent links". Tested by:
/// tangent_links_test.
[[nodiscard]] TangentLinks tangent_links(const Section& section, double theta, double length,
                                         const PlanarPoint& end) noexcept;

}  // namespace tendril
