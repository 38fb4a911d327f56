#include "simulation/engine/angle_units.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tendril::simulation {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kPart = kTurn / 24.0;
constexpr double kRounding = 2e-3;  // relative, of three digits
constexpr double kLeast = 0.1;

bool looks_like_radians(double size) {
  const double parts = std::round(size / kPart);
  const bool is_round = std::abs(2.0 * size - std::round(2.0 * size)) < 1e-9;
  return size >= kLeast && size <= kTurn * (1.0 + kRounding) && !is_round &&
         std::abs(size / kPart - parts) <= kRounding * parts;
}

}  // namespace

bool look_like_radians(std::span<const double> degrees) noexcept {
  bool any = false;
  for (const double angle : degrees) {
    if (angle == 0.0) continue;
    if (!looks_like_radians(std::abs(angle))) return false;
    any = true;
  }
  return any;
}

}  // namespace tendril::simulation
