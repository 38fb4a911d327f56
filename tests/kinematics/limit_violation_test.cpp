#include "tendril/kinematics/limit_violation.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kTolerance = 1e-9;  // rad and m, of limit_violation

std::vector<SectionState> straight(const ContinuumRobot& robot) {
  return {robot.straight().begin(), robot.straight().end()};
}

}  // namespace

TEST_CASE("limit violation: there is one just when a state is not within limits", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 3);
  std::vector<SectionState> states = random_states(random, robot);
  CHECK(limit_violation(robot, states).empty());
  for (SectionState& state : states) {
    state.theta += random.uniform(-1, 1);
    state.extension += random.uniform(-0.02, 0.02);
  }
  CHECK(limit_violation(robot, states).empty() == robot.within_limits(states, kTolerance));
}

TEST_CASE("limit violation: section, value and limit are named", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();  // bends of 100 degrees, 1.74533 rad
  std::vector<SectionState> states = straight(robot);
  SECTION("a section of fixed length") {
    states[0].theta = 1.8;
    CHECK(limit_violation(robot, states) == "section 1: theta = 1.8 rad, must be in [0, 1.74533]");
  }
  SECTION("a section that is not extended does not bend") {
    states[1] = {.theta = 0.3, .phi = 0.0, .extension = 0.0};
    CHECK(limit_violation(robot, states) ==
          "section 2: theta = 0.3 rad, must be in [0, 0] at s = 0 m of 0.025 m");
  }
  SECTION("half extended it bends half as far") {
    states[1] = {.theta = 1.8 / 2, .phi = 0.0, .extension = 0.0125};
    CHECK_THAT(limit_violation(robot, states),
               StartsWith("section 2: theta = 0.9 rad") && Contains("[0, 0.872665]"));
  }
  SECTION("too long") {
    states[2].extension = 0.06;
    CHECK(limit_violation(robot, states) == "section 3: s = 0.06 m, must be in [0, 0.05]");
  }
  SECTION("a base without feed") {
    CHECK(limit_violation(robot, states, {.feed = 0.01}) ==
          "base: feed = 0.01 m, must be in [0, 0]");
  }
}
