#pragma once

#include <algorithm>

namespace tendril {

/// A transition from 0 to 1 at some point x of [0, 1].
struct SmoothStep {
  double value = 0.0;
  double rate = 0.0;  ///< d value/dx
};

/// The polynomial of degree five with first and second derivatives 0 at both ends, stationary
/// past them:
///
///     value = x^3 (10 - x (15 - 6 x)),   rate = 30 x^2 (1 - x)^2
[[nodiscard]] inline SmoothStep smooth_step(double x) noexcept {
  x = std::clamp(x, 0.0, 1.0);
  return {x * x * x * (10.0 - x * (15.0 - 6.0 * x)), 30.0 * x * x * (1.0 - x) * (1.0 - x)};
}

/// Its largest rate, at x = 1/2.
inline constexpr double kSmoothPeakRate = 1.875;

}  // namespace tendril
