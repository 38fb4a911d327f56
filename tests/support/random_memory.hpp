#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "tests/support/random.hpp"

namespace tendril::test {

/// A number that may be in a damaged or foreign array: of any size, an index, none at all.
inline double random_number(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double sign = random.integer(0, 1) == 0 ? -1.0 : 1.0;
  switch (random.integer(0, 7)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return sign * kInfinity;
    case 2:
      return sign * std::pow(10.0, random.uniform(-320.0, 308.0));
    case 3:
      return sign * std::numeric_limits<double>::max();
    case 4:
      return random.integer(-3, 200);
    case 5:
      return random.uniform(-3.0, 200.0);
    case 6:
      return 0.0;
    default:
      return random.uniform(-1.0, 1.0);
  }
}

/// Replaces about `fraction` of the numbers.
inline void damage(Random& random, std::span<double> memory, double fraction = 1.0) {
  for (double& number : memory)
    if (random.uniform(0.0, 1.0) < fraction) number = random_number(random);
}

}  // namespace tendril::test
