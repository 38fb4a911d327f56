#include "tendril/standard_arithmetic.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("hypotenuse: within two units of the last place at every size", "[arithmetic]") {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const double scale = std::pow(10.0, random.uniform(-280.0, 280.0));
    const double x = scale * random.uniform(-1.0, 1.0);
    const double y = scale * random.uniform(-1.0, 1.0) * std::pow(10.0, random.uniform(-20.0, 0.0));
    const double expected = std::hypot(x, y);
    const double unit =
        std::nextafter(expected, std::numeric_limits<double>::infinity()) - expected;
    CAPTURE(x, y);
    REQUIRE(std::abs(hypotenuse(x, y) - expected) <= 2.0 * unit);
    REQUIRE(hypotenuse(x, y) == hypotenuse(-y, x));
  }
}

TEST_CASE("hypotenuse: exact where it can be, and of what is not finite", "[arithmetic]") {
  CHECK(hypotenuse(3.0, -4.0) == 5.0);
  CHECK(hypotenuse(-0.1, 0.0) == 0.1);
  CHECK(hypotenuse(0.0, -0.0) == 0.0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  CHECK(hypotenuse(kInfinity, 1.0) == kInfinity);
  CHECK(std::isnan(hypotenuse(kNaN, 1.0)));
  CHECK(std::isnan(hypotenuse(1.0, kNaN)));
  CHECK(std::isnan(hypotenuse(kNaN, 0.0)));
}
