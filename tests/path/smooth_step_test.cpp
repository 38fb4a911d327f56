#include "tendril/path/smooth_step.hpp"

#include <catch2/catch.hpp>

using namespace tendril;

TEST_CASE("smooth step: rises from 0 to 1 and is stationary at and outside both ends",
          "[planning]") {
  for (const double x : {-1e9, -1.0, 0.0}) {
    CHECK(smooth_step(x).value == 0.0);
    CHECK(smooth_step(x).rate == 0.0);
  }
  for (const double x : {1.0, 1.5, 1e9}) {
    CHECK(smooth_step(x).value == 1.0);
    CHECK(smooth_step(x).rate == 0.0);
  }
  constexpr double kStep = 1e-5;  // central differences: its square, times a third derivative of 60
  double before = 0.0, largest = 0.0;
  for (double x = kStep; x < 1.0; x += 0.001) {
    const SmoothStep at = smooth_step(x);
    CHECK(at.value > before);
    CHECK(at.value + smooth_step(1.0 - x).value == Approx(1.0));
    CHECK((smooth_step(x + kStep).value - smooth_step(x - kStep).value) / (2.0 * kStep) ==
          Approx(at.rate).margin(1e-8));
    before = at.value;
    largest = std::max(largest, at.rate);
  }
  CHECK(smooth_step(0.5).rate == kSmoothPeakRate);
  CHECK(largest <= kSmoothPeakRate);
  // The second derivative vanishes at both ends: the rate is of second order there.
  CHECK(smooth_step(1e-4).rate < 1e-6);
  CHECK(smooth_step(1.0 - 1e-4).rate < 1e-6);
}
