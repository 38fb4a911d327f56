#include "controllers/arm/tendon_friction.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tendril;

namespace {

constexpr double kMu = 0.3, kTension = 20.0;  // [N]
constexpr std::array<double, 3> kBends{0.4, 0.0, 1.5};

/// Friction that has grown to its limits in a tendon that slides one way.
std::array<double, 3> sliding(double direction) {
  std::array<double, 3> friction{}, limits{};
  friction.fill(direction * 1e-9);
  for (int i = 0; i < 10; ++i) {
    tendon_friction_limits(kMu, kTension, kBends, friction, limits);
    for (std::size_t k = 0; k < 3; ++k) friction[k] = direction * limits[k];
  }
  return friction;
}

}  // namespace

TEST_CASE("tendon friction: the tension falls by exp(-mu theta) where the tendon is drawn in",
          "[controllers][tendons]") {
  const auto friction = sliding(1.0);
  CHECK(friction[0] == Approx(kTension * (1.0 - std::exp(-kMu * 0.4))));
  CHECK(friction[1] == 0.0);  // a straight section
  CHECK(kTension - friction[0] - friction[2] == Approx(kTension * std::exp(-kMu * 1.9)));
}

TEST_CASE("tendon friction: and rises by exp(mu theta) where it is let out",
          "[controllers][tendons]") {
  const auto friction = sliding(-1.0);
  CHECK(kTension - friction[0] - friction[2] == Approx(kTension * std::exp(kMu * 1.9)));
}

TEST_CASE("tendon friction: a slack tendon has none", "[controllers][tendons]") {
  std::array<double, 3> friction{1.0, 0.5, -0.2}, limits{};
  tendon_friction_limits(kMu, 0.0, kBends, friction, limits);
  for (const double limit : limits) CHECK(limit == 0.0);
}
