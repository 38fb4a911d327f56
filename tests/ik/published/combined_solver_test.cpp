#include "tendril/ik/published/combined_solver.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

static_assert(IkSolver<CombinedSolver>);

namespace {

TipTarget reachable_target(Random& random, const ContinuumRobot& robot) {
  return {.X_BG = oracle_tip_pose(robot, random_states(random, robot)),
          .task = TipTask::PositionAndDirection};
}

double score(const IkResult& result, const CombinedOptions& options) {
  return std::max(result.position_error / options.position_tolerance,
                  result.angle_error / options.angle_tolerance);
}

bool same_states(const IkResult& a, const IkResult& b) {
  return std::equal(a.states.begin(), a.states.end(), b.states.begin(), b.states.end(),
                    [](const SectionState& s, const SectionState& t) {
                      return s.theta == t.theta && s.phi == t.phi && s.extension == t.extension;
                    });
}

}  // namespace

TEST_CASE("combined: takes FABRIKx's solution, or the Jacobian's where FABRIKx gives up", "[ik]") {
  const SecondStart second_start = GENERATE(SecondStart::GivenStart, SecondStart::FabrikxPose);
  constexpr int kEach = 30;  // few, so that all four outcomes occur
  const CombinedOptions options{.max_iterations = 2 * kEach, .second_start = second_start};
  int outcomes[2][2] = {};
  for (const ContinuumRobot& robot : {plain_robot(), mixed_robot()}) {
    CombinedSolver combined(robot, options);
    FabrikxSolver fabrikx(robot, {.max_iterations = kEach});
    JacobianSolver jacobian(robot, {.max_iterations = kEach});
    for (unsigned seed = 0; seed < 50; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const TipTarget target = reachable_target(random, robot);
      const IkResult both = combined.solve(target, robot.straight());
      const IkResult first = fabrikx.solve(target, robot.straight());
      const IkResult second = jacobian.solve(
          target, second_start == SecondStart::GivenStart ? robot.straight() : first.states);
      ++outcomes[first.converged()][second.converged()];
      CHECK(both.converged() == (first.converged() || second.converged()));
      if (first.converged()) {
        CHECK(both.iterations == first.iterations);
        CHECK(same_states(both, first));
        continue;
      }
      CHECK(both.iterations == first.iterations + second.iterations);
      const IkResult& better = score(second, options) < score(first, options) ? second : first;
      CHECK(same_states(both, better));
      CHECK(both.position_error == better.position_error);
      const bool both_stalled =
          first.status == IkStatus::Stalled && second.status == IkStatus::Stalled;
      if (!second.converged())
        CHECK(both.status == (both_stalled ? IkStatus::Stalled : IkStatus::MaxIterations));
    }
  }
  CHECK(outcomes[0][0] > 0);
  CHECK(outcomes[0][1] > 0);
  CHECK(outcomes[1][1] > 0);
  if (second_start == SecondStart::GivenStart) CHECK(outcomes[1][0] > 0);
}

TEST_CASE("combined: the budget covers both", "[ik]") {
  Random random(4);
  const ContinuumRobot robot = plain_robot();
  for (int budget = 1; budget < 8; ++budget) {
    CAPTURE(budget);
    CombinedSolver solver(
        robot, {.max_iterations = budget, .position_tolerance = 1e-12, .angle_tolerance = 1e-12});
    const IkResult result = solver.solve(reachable_target(random, robot), robot.straight());
    CHECK(result.status == IkStatus::MaxIterations);
    CHECK(result.iterations == budget);
  }
}

TEST_CASE("combined: bad options are refused", "[ik]") {
  const ContinuumRobot robot = plain_robot();
  CHECK_THROWS_WITH(CombinedSolver(robot, {.max_iterations = 0}),
                    "fabrikx-jacobian options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_WITH(CombinedSolver(robot, {.position_tolerance = -1.0}),
                    "fabrikx-jacobian options: position_tolerance = -1 m, must be > 0");
  CHECK_THROWS_AS(CombinedSolver(robot, {.angle_tolerance = 0.0}), ModelError);
}
