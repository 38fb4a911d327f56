#pragma once

#include <algorithm>

namespace tendril {

/// A root of f between a and b, where it is f_a and f_b of opposite signs: false position with the
/// Illinois rule, until f is 0 or the next point would be an end. Allocates nothing. For the
/// sources of solvers.
template <class F>
[[nodiscard]] double false_position(const F& f, double a, double f_a, double b,
                                    double f_b) noexcept {
  constexpr int kIterations = 100;
  for (int i = 0; i < kIterations && f_b != 0.0; ++i) {
    const double c = b - f_b * (b - a) / (f_b - f_a);
    if (!(c > std::min(a, b) && c < std::max(a, b))) break;
    const double f_c = f(c);
    if ((f_c < 0.0) != (f_b < 0.0)) {
      a = b;
      f_a = f_b;
    } else {
      f_a *= 0.5;
    }
    b = c;
    f_b = f_c;
  }
  return b;
}

}  // namespace tendril
