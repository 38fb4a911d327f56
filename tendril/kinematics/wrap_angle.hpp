#pragma once

#include <cmath>
#include <numbers>

namespace tendril {

/// Returns the angle in (-pi, pi] that is the same direction [rad].
[[nodiscard]] inline double wrap_angle(double angle) noexcept {
  const double wrapped = std::remainder(angle, 2.0 * std::numbers::pi);
  return wrapped <= -std::numbers::pi ? std::numbers::pi : wrapped;
}

}  // namespace tendril
