#include "tendril/mobile/platform_rule.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("platform rule: a plan allows what a dense sample of points finds free", "[mobile]") {
  constexpr double kLength = 0.58, kWidth = 0.38;
  constexpr int kPoints = 40;  // along each side
  Random random(1);
  int touching = 0, apart = 0;
  for (int k = 0; k < 400; ++k) {
    const FloorBox box{.x = random.uniform(-0.6, 0.6),
                       .y = random.uniform(-0.6, 0.6),
                       .length = random.uniform(0.1, 0.6),
                       .width = random.uniform(0.1, 0.6),
                       .heading = random.angle()};
    const PlatformPose pose{.x = random.uniform(-0.2, 0.2), .y = 0.1, .heading = random.angle()};
    const auto inside = [&](double scale) {
      for (int i = 0; i <= kPoints; ++i) {
        for (int j = 0; j <= kPoints; ++j) {
          const double u = kLength * (static_cast<double>(i) / kPoints - 0.5);
          const double v = kWidth * (static_cast<double>(j) / kPoints - 0.5);
          const double c = std::cos(pose.heading), s = std::sin(pose.heading);
          const double x = pose.x + c * u - s * v - box.x, y = pose.y + s * u + c * v - box.y;
          const double cb = std::cos(box.heading), sb = std::sin(box.heading);
          if (std::abs(cb * x + sb * y) <= 0.5 * scale * box.length &&
              std::abs(-sb * x + cb * y) <= 0.5 * scale * box.width) {
            return true;
          }
        }
      }
      return false;
    };
    const FloorPlan plan(kLength, kWidth, {box});
    const PlatformRule rule = plan.rule();
    // What touches a smaller box touches; what keeps off a larger one does not.
    if (inside(0.9)) {
      CHECK_FALSE(rule(pose));
      ++touching;
    }
    if (rule(pose)) {
      CHECK_FALSE(inside(0.999));
      ++apart;
    }
    if (!inside(1.4)) CHECK(rule(pose));
  }
  CHECK(touching > 50);
  CHECK(apart > 50);
}

TEST_CASE("platform rule: no rule allows every pose", "[mobile]") {
  CHECK(PlatformRule{}({.x = 1e6, .y = -3.0, .heading = 1.0}));
}

TEST_CASE("platform rule: bad plans are refused by name", "[mobile]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(FloorPlan(0.0, 1.0, {}), "floor plan: length = 0 m, must be > 0");
  CHECK_THROWS_WITH(FloorPlan(1.0, nan, {}), "floor plan: width = nan m, must be > 0");
  CHECK_THROWS_WITH(FloorPlan(1.0, 1.0, {{.x = 0.0}, {.width = -1.0}}),
                    "floor box 2: width = -1 m, must be >= 0");
  CHECK_THROWS_AS(FloorPlan(1.0, 1.0, {{.heading = nan}}), ModelError);
}
