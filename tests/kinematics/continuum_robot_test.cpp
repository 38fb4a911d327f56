#include "tendril/kinematics/continuum_robot.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("robot: smooth coordinates are counted section by section", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  CHECK(robot.section_count() == 3);
  CHECK(robot.coordinate_count() == 8);
  CHECK(robot.coordinate_index(0) == 0);
  CHECK(robot.coordinate_index(1) == 2);
  CHECK(robot.coordinate_index(2) == 5);
  CHECK(robot.max_length() == Approx(0.170));
}

TEST_CASE("robot: the straight pose has half the variable length and is inside the limits",
          "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  REQUIRE(robot.straight().size() == 3);
  CHECK(robot.straight()[0].extension == 0.0);
  CHECK(robot.straight()[1].extension == Approx(0.0125));
  CHECK(robot.straight()[2].extension == Approx(0.025));
  CHECK(robot.within_limits(robot.straight()));
}

TEST_CASE("robot: clamping brings any state inside the limits and leaves inner states alone",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 3);
  std::vector<SectionState> states = random_states(random, robot);
  for (int i = 0; i < 3; ++i) {
    const SectionState& inner = states[std::size_t(i)];
    const SectionState same = robot.clamped(i, inner);
    CHECK(same.theta == inner.theta);
    CHECK(same.phi == inner.phi);
    CHECK(same.extension == inner.extension);
    states[std::size_t(i)] =
        robot.clamped(i, {random.uniform(-5, 5), random.uniform(-9, 9), random.uniform(-0.1, 0.2)});
  }
  CHECK(robot.within_limits(states, 0.0));
}

TEST_CASE("robot: a section that bends in one plane keeps the part of a bend that lies in it",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 20u));
  Random random(seed);
  const ContinuumRobot robot = random_robot_with_planes(random, 4);
  CHECK_FALSE(robot.bends_in_any_plane());
  CHECK_FALSE(robot.is_planar());
  SplitMix64 draws(seed);
  std::vector<SectionState> drawn(4);
  tendril::random_states(robot, draws, drawn);
  CHECK(robot.within_limits(drawn));
  for (int i = 0; i < 4; ++i) {
    const Section& section = robot.section(i);
    const SectionState any = random_section_state(random, section);
    const Eigen::Vector2d bend = bend_vector(any), kept = bend_vector(robot.clamped(i, any));
    CHECK(kept.x() == Approx(section.bends_u() ? bend.x() : 0.0).margin(1e-12));
    CHECK(kept.y() == Approx(section.bends_v() ? bend.y() : 0.0).margin(1e-12));
    std::vector<SectionState> states = drawn;
    states[std::size_t(i)] = any;
    CHECK(robot.within_limits(states) == (section.bend_plane() == BendPlane::Any));
  }
}

TEST_CASE("robot: limits are violated by count, bend, length or NaN", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  CHECK(robot.within_limits(states));
  SECTION("too few") { states.pop_back(); }
  SECTION("too much bend") { states[0].theta = 1.8; }
  SECTION("too much bend for the current length") { states[1].theta = 1.0; }
  SECTION("negative bend") { states[0].theta = -0.1; }
  SECTION("too long") { states[1].extension = 0.026; }
  SECTION("too short") { states[1].extension = -0.001; }
  SECTION("a fixed section that grows") { states[0].extension = 0.001; }
  SECTION("bend not a number") { states[0].theta = std::numeric_limits<double>::quiet_NaN(); }
  SECTION("direction not a number") { states[0].phi = std::numeric_limits<double>::quiet_NaN(); }
  SECTION("length not a number") { states[1].extension = std::numeric_limits<double>::quiet_NaN(); }
  CHECK_FALSE(robot.within_limits(states));
}

TEST_CASE("robot: refuses no section and more than a thousand", "[kinematics]") {
  CHECK_THROWS_AS(ContinuumRobot(std::vector<SectionParameters>{}), ModelError);
  CHECK_THROWS_WITH(ContinuumRobot(std::vector<SectionParameters>{}),
                    "robot: number of sections = 0, must be in [1, 1000]");
  CHECK_THROWS_WITH(ContinuumRobot(std::vector<SectionParameters>(1001, {.length = 0.01})),
                    "robot: number of sections = 1001, must be in [1, 1000]");
  CHECK(ContinuumRobot(std::vector<SectionParameters>(1000, {.length = 0.01})).section_count() ==
        1000);
}

TEST_CASE("robot: messages count sections from one", "[kinematics]") {
  CHECK_THROWS_WITH(ContinuumRobot({{.length = 0.1}, {.length = 0.1, .bend_angle_limit = -0.4}}),
                    "section 2: bend_angle_limit = -0.4 rad, must be in (0, 2 pi]");
}

TEST_CASE("robot: refuses a bad feed limit", "[kinematics]") {
  const std::vector<SectionParameters> sections{{.length = 0.1}};
  CHECK_THROWS_WITH(ContinuumRobot(sections, {.feed_limit = -1.0}),
                    "base: feed_limit = -1 m, must be finite and >= 0");
  CHECK_THROWS_AS(
      ContinuumRobot(sections, {.feed_limit = std::numeric_limits<double>::quiet_NaN()}),
      ModelError);
}
