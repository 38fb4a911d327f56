#include "tendril/rod/guide_clearance.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

/// b/l where the second contact is made: 12 = 18 x^2 + 12 x^3 with x = b/(l - b).
constexpr double kSecondContact = 0.4039283620166785;
constexpr int kMaxSteps = 60;

}  // namespace

GuideClearance::Response GuideClearance::at(double angle) const noexcept {
  if (clearance == 0.0) return {};
  const double l = length;
  // In units of c/l and l: angle y, distance b.
  const double y = std::abs(angle) * l / clearance;
  double moment = 0.0, energy = 0.0, stiffness = 0.0;  // in c/l^2, c^2/l^3, 1/l
  const auto second = [](double b) { return 6.0 / b - 3.0 * b / ((1.0 - b) * (1.0 - b)); };
  if (y <= 2.0) {
    moment = y;
    energy = 0.5 * y * y;
    stiffness = 1.0;
  } else if (y <= second(kSecondContact)) {
    moment = 4.0 * y - 6.0;
    const double held = moment - 3.0 * (0.5 * moment - 1.0);  // at the far end
    energy = (held * held + held * moment + moment * moment) / 6.0;
    stiffness = 4.0;
  } else {
    // Newton's method from below: the angle is convex and falls with b.
    double b = std::min(kSecondContact, 6.0 / (y + 12.0));
    for (int i = 0; i < kMaxSteps; ++i) {
      const double rest = 1.0 - b;
      const double slope = -6.0 / (b * b) - 3.0 * (1.0 + b) / (rest * rest * rest);
      const double step = (y - second(b)) / slope;
      b += step;
      if (std::abs(step) < 1e-15) break;
    }
    const double rest = 1.0 - b;
    const double at_contact = 6.0 / (rest * rest);
    moment = 12.0 / (b * b) - 12.0 / (rest * rest);
    energy = 6.0 / (rest * rest * rest) +
             b / 6.0 * (at_contact * at_contact + at_contact * moment + moment * moment);
    stiffness = (-24.0 / (b * b * b) - 24.0 / (rest * rest * rest)) /
                (-6.0 / (b * b) - 3.0 * (1.0 + b) / (rest * rest * rest));
  }
  return {.energy = energy * clearance * clearance / (l * l * l),
          .moment = std::copysign(moment * clearance / (l * l), angle),
          .stiffness = stiffness / l};
}

}  // namespace tendril
