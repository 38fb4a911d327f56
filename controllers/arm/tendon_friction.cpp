#include "controllers/arm/tendon_friction.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {

void tendon_friction_limits(double coefficient, double tension, std::span<const double> bends,
                            std::span<const double> friction, std::span<double> limits) noexcept {
  for (std::size_t i = 0; i < bends.size(); ++i) {
    const double grip = coefficient * bends[i];
    tension = std::max(tension, 0.0);
    limits[i] = tension * (friction[i] >= 0.0 ? -std::expm1(-grip) : std::expm1(grip));
    tension -= friction[i];
  }
}

}  // namespace tendril
