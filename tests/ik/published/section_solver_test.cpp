#include "tendril/ik/published/section_solver.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tendril/ik/any_solver.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

static_assert(IkSolver<SectionSolver>);

namespace {

SectionSolve any_method() {
  return GENERATE(SectionSolve::Iterative, SectionSolve::Newton, SectionSolve::Polynomial);
}

/// Inside the bends that the chord angle determines.
SectionState random_goal(Random& random, const Section& section) {
  SectionState goal = random_section_state(random, section);
  goal.theta = std::min(goal.theta, 0.99 * section.invertible_bend_angle());
  return goal;
}

}  // namespace

TEST_CASE("section solver: every point that a section reaches is met", "[ik]") {
  const SectionSolve method = any_method();
  constexpr int kSections = 300;
  int converged = 0;
  for (unsigned seed = 0; seed < kSections; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const ContinuumRobot robot({random_section_parameters(random)});
    const SectionState goal = random_goal(random, robot.section(0));
    const BaseState base{.feed = random.uniform(-0.1, 0.1), .spin = random.angle()};
    const TipTarget target{.X_BG = oracle_tip_pose(robot, {&goal, 1}, base)};
    SectionSolver solver(robot, {.max_iterations = 1000, .method = method});
    const IkResult result = solver.solve(target, robot.straight(), base);
    converged += result.converged();
    const double error = position_error(oracle_tip_pose(robot, result.states, result.base), target);
    CHECK(result.position_error == Approx(error).margin(kAlgebraTolerance));
    CHECK(robot.within_limits(result.states));
    CHECK(result.base.spin == base.spin);
  }
  CHECK(converged == kSections);
}

TEST_CASE("section solver: targets past the section's length are met by the feed of the base",
          "[ik]") {
  const SectionSolve method = any_method();
  const ContinuumRobot robot({{.length = 0.05,
                               .variable_length = 0.03,
                               .bend_angle_limit = 90 * kDegree,
                               .length_weights = {1, 2},
                               .angle_weights = {2, 1}}},
                             {.feed_limit = 0.2});
  SectionSolver fed(robot, {.max_iterations = 500, .method = method, .feed_base = true});
  SectionSolver fixed(robot, {.max_iterations = 500, .method = method});
  constexpr int kTargets = 200;
  int met = 0, met_without = 0;
  for (unsigned seed = 0; seed < kTargets; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const SectionState goal = random_goal(random, robot.section(0));
    const BaseState base{.feed = random.uniform(0.0, 0.2)};
    const TipTarget target{.X_BG = oracle_tip_pose(robot, {&goal, 1}, base)};
    const IkResult result = fed.solve(target, robot.straight());
    CHECK((result.base.feed >= 0.0 && result.base.feed <= 0.2));
    CHECK(robot.within_limits(result.states));
    met += result.converged();
    if (result.converged()) {
      const Eigen::Isometry3d X_BE = oracle_tip_pose(robot, result.states, result.base);
      CHECK(position_error(X_BE, target) <= 1e-5 + kAlgebraTolerance);
      // No more than that of the pose that the target was taken from.
      if (method != SectionSolve::Iterative) CHECK(result.base.feed <= base.feed + 1e-5);
    }
    met_without += fixed.solve(target, robot.straight()).converged();
  }
  CHECK(met == kTargets);
  CHECK(met_without < kTargets / 10);  // measured 9
}

TEST_CASE("section solver: what it cannot meet has a status and the better pose", "[ik]") {
  const SectionSolve method = any_method();
  const ContinuumRobot robot = one_arc_robot();
  SectionSolver solver(robot, {.method = method});
  const SectionState goal{1.0, 0.5, 0.0};
  TipTarget target{.X_BG = oracle_tip_pose(robot, {&goal, 1}),
                   .task = TipTask::PositionAndDirection};
  SECTION("a direction follows from the position") {
    CHECK(solver.solve(target, robot.straight()).converged());
    target.X_BG.rotate(Eigen::AngleAxisd(0.2, Eigen::Vector3d::UnitY()));
    const IkResult result = solver.solve(target, robot.straight());
    CHECK(result.status == IkStatus::Stalled);
    CHECK(result.position_error < 1e-5);
    CHECK(result.angle_error == Approx(0.2).margin(1e-6));
  }
  SECTION("a section of fixed length points at the target") {
    target.task = TipTask::Position;
    target.X_BG.translation() *= 2.0;
    const IkResult result = solver.solve(target, robot.straight());
    CHECK_FALSE(result.converged());
    CHECK(result.states[0].theta == Approx(1.0).margin(1e-6));
    CHECK(result.states[0].phi == Approx(0.5).margin(1e-6));
  }
  SECTION("the start where it is nearer") {
    target.task = TipTask::Position;
    target.X_BG.translation() = Eigen::Vector3d(0.0, 0.0, -0.1);  // behind the base
    const SectionState start{100 * kDegree, 2.0, 0.0};
    const IkResult result = solver.solve(target, {&start, 1});
    CHECK_FALSE(result.converged());
    CHECK(result.states[0].phi == 2.0);
  }
}

TEST_CASE("section solver: a robot of several sections is refused in one line", "[ik]") {
  for (const char* name : {"section-iterative", "section-newton", "section-polynomial"})
    CHECK_THROWS_WITH(make_solver(name, plain_robot()),
                      "section solver: number of the robot's sections = 3, must be 1");
}
