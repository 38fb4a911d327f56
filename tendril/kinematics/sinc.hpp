#pragma once

#include <cmath>

namespace tendril {

/// Below this |y| [rad] `sinc` and its derivative use their series; the truncation is below 1e-18
/// there, and above it the closed forms lose less than 1e-13.
inline constexpr double kSincSeriesLimit = 0.02;

/// sin(y)/y and its derivative at one y.
struct Sinc {
  double value = 1.0;
  double derivative = 0.0;
};

/// sinc(y) = sin(y)/y and sinc'(y) = (cos(y) - sinc(y))/y from y [rad] and its sine and cosine;
/// smooth through y = 0.
///
///     sinc(y) = 1 - y^2/6 + y^4/120 - y^6/5040,   sinc'(y) = -y/3 + y^3/30 - y^5/840   for small
///     |y|
///
/// Tested by: section_test "sinc: series and closed form meet at the switch".
[[nodiscard]] inline Sinc sinc(double y, double sin_y, double cos_y) noexcept {
  if (std::abs(y) < kSincSeriesLimit) {
    const double y2 = y * y;
    return {1.0 - y2 / 6.0 * (1.0 - y2 / 20.0 * (1.0 - y2 / 42.0)),
            -y / 3.0 * (1.0 - y2 / 10.0 * (1.0 - y2 / 28.0))};
  }
  const double value = sin_y / y;
  return {value, (cos_y - value) / y};
}

}  // namespace tendril
