// A base that feeds, as a first section of a robot on its rail.
#include <catch2/catch.hpp>
#include <vector>

#include "tendril/avoidance/arm_path_planner.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kFeed = 0.3, kRadius = 0.006, kMargin = 0.002;  // [m]

ContinuumRobot fed_robot(bool spin = false) {
  const SectionParameters section{.length = 0.05, .bend_angle_limit = 2.0};
  return ContinuumRobot({section, section, section}, {.feed_limit = kFeed, .spin = spin});
}

std::vector<SectionState> on_rail(SectionStates states, double feed) {
  std::vector<SectionState> all{{.extension = feed}};
  all.insert(all.end(), states.begin(), states.end());
  return all;
}

/// Posts on both sides of the axis, the arm's width apart and more.
Obstacles posts() {
  std::vector<Obstacle> all;
  for (int k = 0; k < 6; ++k) {
    const Vector3d at((k % 2 == 0 ? 1.0 : -1.0) * 0.03, 0.0, 0.08 + 0.06 * k);
    all.push_back({sphere(0.012), Eigen::Isometry3d(Eigen::Translation3d(at))});
  }
  return Obstacles(all);
}

}  // namespace

TEST_CASE("rail: the same poses as with a feed of the base", "[kinematics]") {
  Random random(1);
  const ContinuumRobot robot = fed_robot(true), rail = robot.on_rail();
  CHECK(rail.section_count() == robot.section_count() + 1);
  CHECK(rail.base().feed_limit == 0.0);
  for (int k = 0; k < 100; ++k) {
    const std::vector<SectionState> states = random_states(random, robot);
    const BaseState base{.feed = random.uniform(0.0, kFeed), .spin = random.angle()};
    const Eigen::Isometry3d X =
        oracle_tip_pose(rail, on_rail(states, base.feed), {.spin = base.spin});
    CHECK((X.matrix() - oracle_tip_pose(robot, states, base).matrix()).cwiseAbs().maxCoeff() <
          kAlgebraTolerance);
  }
  CHECK(rail.on_rail().section_count() == rail.section_count());
}

TEST_CASE("rail: reaches among obstacles by the feed, the body free", "[avoidance]") {
  const ContinuumRobot robot = fed_robot(), rail = robot.on_rail();
  ObstacleSolver solver(rail, {.body_radius = kRadius, .margin = kMargin});
  const Obstacles obstacles = posts();
  BodyArcs body(robot);
  Random random(2);
  int posed = 0, reached = 0;
  for (int k = 0; k < 400 && posed < 60; ++k) {
    const std::vector<SectionState> states = random_states(random, robot);
    const BaseState base{.feed = random.uniform(0.0, kFeed)};
    if (body_clearance(body, states, base, obstacles, kRadius).distance < kMargin) continue;
    ++posed;
    const TipTarget target{oracle_tip_pose(robot, states, base)};
    const ObstacleResult found = solver.solve(target, rail.straight(), obstacles);
    if (!found.reached()) continue;
    ++reached;
    const double feed = found.states.front().extension;
    CHECK(feed >= 0.0);
    CHECK(feed <= kFeed);
    CHECK(found.states.front().theta <= ContinuumRobot::kRailBend);
    const SectionStates own = found.states.subspan(1);
    CHECK((oracle_tip_pose(robot, own, {.feed = feed}).translation() - target.position()).norm() <
          1.001e-5);
    CHECK(body_clearance(body, own, {.feed = feed}, obstacles, kRadius).distance >=
          kMargin - 2.0 * kTouchDistance);
  }
  CHECK(posed == 60);
  CHECK(reached >= 59);
}

TEST_CASE("rail: what is behind the base is no body", "[avoidance]") {
  // An obstacle round the place where the base began.
  const Obstacles around({{sphere(0.02), Eigen::Isometry3d::Identity()}});
  const ContinuumRobot rail = fed_robot().on_rail();
  ArmPathPlanner planner(rail, {.safety_distance = kRadius});
  Eigen::VectorXd q = Eigen::VectorXd::Zero(rail.coordinate_count());
  CHECK_FALSE(planner.is_free(q, around));
  q[2] = 0.1;
  CHECK(planner.is_free(q, around));
}
