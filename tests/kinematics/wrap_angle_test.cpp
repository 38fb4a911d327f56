#include "tendril/kinematics/wrap_angle.hpp"

#include <catch2/catch.hpp>

#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("wrap angle: is the same direction, in (-pi, pi]", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const double angle = random.uniform(-50.0, 50.0), wrapped = wrap_angle(angle);
  CHECK(wrapped > -std::numbers::pi);
  CHECK(wrapped <= std::numbers::pi);
  CHECK(std::cos(wrapped) == Approx(std::cos(angle)).margin(100.0 * kAlgebraTolerance));
  CHECK(std::sin(wrapped) == Approx(std::sin(angle)).margin(100.0 * kAlgebraTolerance));
}

TEST_CASE("wrap angle: half a turn either way is pi", "[kinematics]") {
  CHECK(wrap_angle(std::numbers::pi) == std::numbers::pi);
  CHECK(wrap_angle(-std::numbers::pi) == std::numbers::pi);
  CHECK(wrap_angle(0.5) == 0.5);
}
