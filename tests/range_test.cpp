#include "tendril/range.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

TEST_CASE("range: ends count as they are declared, NaN and infinity never", "[range]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Range closed{.low = 1.0, .high = 2.0}, open{1.0, 2.0, true, true};
  CHECK(closed.contains(1.0));
  CHECK(closed.contains(2.0));
  CHECK_FALSE(open.contains(1.0));
  CHECK_FALSE(open.contains(2.0));
  CHECK(open.contains(1.5));
  for (const Range& range : {closed, open, kFinite, kPositive, kNotNegative}) {
    CHECK_FALSE(range.contains(std::numeric_limits<double>::quiet_NaN()));
    CHECK_FALSE(range.contains(kInfinity));
    CHECK_FALSE(range.contains(-kInfinity));
  }
}

TEST_CASE("range: in words", "[range]") {
  constexpr double pi = std::numbers::pi;
  CHECK(to_string(kFinite) == "finite");
  CHECK(to_string(kPositive) == "> 0");
  CHECK(to_string(kNotNegative) == ">= 0");
  CHECK(to_string(Range{.high = 3.0, .open_high = true}) == "< 3");
  CHECK(to_string(Range{0.0, 2.0 * pi, true}) == "in (0, 2 pi]");
  CHECK(to_string(Range{-pi, pi / 2.0, false, true}) == "in [-pi, pi/2)");
  CHECK(to_string(Range{1e-12, 1e12}) == "in [1e-12, 1e12]");
  CHECK(to_string(Range{0.25, 1e9}) == "in [0.25, 1e9]");
}

TEST_CASE("range: a refusal names object, field, value, unit and what is allowed", "[range]") {
  CHECK_NOTHROW(require("section 2", "length", 0.1, kPositive, "m"));
  CHECK_THROWS_WITH(
      require("section 2", "bend_angle_limit", -0.4, {0.0, 2.0 * std::numbers::pi, true}, "rad"),
      "section 2: bend_angle_limit = -0.4 rad, must be in (0, 2 pi]");
  CHECK_THROWS_AS(require("planner options", "max_nodes", 0, {.low = 1}), ModelError);
}

}  // namespace
}  // namespace tendril
