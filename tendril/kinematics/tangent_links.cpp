#include "tendril/kinematics/tangent_links.hpp"

#include <cmath>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kStraight = 1e-12;  // [rad], below it the links are their limits

}  // namespace

TangentLinks tangent_links(const Section& section, double theta, double length,
                           const PlanarPoint& end) noexcept {
  if (theta < kStraight) {
    const double kappa0 = section.small_bend_chord_ratio();
    return {length * (1.0 - kappa0), length * kappa0};
  }
  if (theta <= kLargestLinkBend) {
    // c sin(alpha) = X and c sin(theta - alpha) = Z sin(theta) - X cos(theta), so that alpha itself
    // is not needed.
    const double second = end.x / std::sin(theta);
    return {length * (end.z - second * std::cos(theta)), length * second};
  }
  const double C = length * hypotenuse(end.x, end.z);
  const double alpha = chord(section, theta).angle * (kLargestLinkBend / theta);
  return {C * std::sin(kLargestLinkBend - alpha) / std::sin(kLargestLinkBend),
          C * std::sin(alpha) / std::sin(kLargestLinkBend)};
}

}  // namespace tendril
