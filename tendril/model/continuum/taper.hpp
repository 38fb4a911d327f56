#pragma once

#include <algorithm>

namespace tendril {

/// A quantity that changes evenly along a section, from its start to its end.
struct Taper {
  double start = 0.0, end = 0.0;
  /// @param x  of the section's length, in [0, 1]
  [[nodiscard]] double at(double x) const noexcept { return start + (end - start) * x; }
  [[nodiscard]] double largest() const noexcept { return std::max(start, end); }
  [[nodiscard]] bool is_even() const noexcept { return start == end; }
};

}  // namespace tendril
