#include "tendril/ik/levenberg_solver.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

static_assert(IkSolver<LevenbergSolver>);

namespace {

TipTarget reachable_target(Random& random, const ContinuumRobot& robot, TipTask task,
                           const BaseState& base = {}) {
  return {.X_BG = oracle_tip_pose(robot, random_states(random, robot), base), .task = task};
}

double percent_reached(const ContinuumRobot& robot, TipTask task, int count) {
  Random random(2024);
  LevenbergSolver solver(robot, {.max_iterations = 1000, .max_restarts = 50});
  int reached = 0;
  for (int i = 0; i < count; ++i)
    reached += solver.solve(reachable_target(random, robot, task), robot.straight()).converged();
  return 100.0 * reached / count;
}

}  // namespace

TEST_CASE("levenberg: every solution is honest and inside the limits", "[ik]") {
  const auto seed = GENERATE(range(0u, 60u));
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 1 + static_cast<int>(seed) % 5);
  LevenbergSolver solver(robot, {.max_iterations = 200, .max_restarts = 3});
  const BaseState base{.feed = 0.02, .spin = 0.4};
  TipTarget target = reachable_target(random, robot, task, base);
  if (seed % 3 == 0) target.X_BG.translation() *= 3.0;  // out of reach
  const IkResult result = solver.solve(target, random_states(random, robot), base);
  CHECK(robot.within_limits(result.states));
  CHECK(result.iterations <= solver.options().max_iterations);
  const Isometry3d X_BE = oracle_tip_pose(robot, result.states, base);
  CHECK(result.position_error == Approx(position_error(X_BE, target)).margin(kAlgebraTolerance));
  CHECK(result.angle_error == Approx(angle_error(X_BE, target)).margin(kAlgebraTolerance));
  const bool within = result.position_error <= solver.options().position_tolerance &&
                      result.angle_error <= solver.options().angle_tolerance;
  CHECK(result.converged() == within);
}

TEST_CASE("levenberg: with restarts reachable targets are reached", "[ik][slow]") {
  // 1000 targets each; measured: all of them.
  constexpr double kFloor = 99.5;
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  CHECK(percent_reached(plain_robot(), task, 1000) >= kFloor);
  CHECK(percent_reached(mixed_robot(), task, 1000) >= kFloor);
  CHECK(percent_reached(table_robot(), task, 1000) >= kFloor);
}

TEST_CASE("levenberg: a small move of the target is a small move of the arm", "[ik]") {
  constexpr double kMove = 2e-4;          // [m]: one step of 2 ms at 0.1 m/s
  constexpr double kLargestChange = 0.1;  // [rad] of a section's bend
  Random random(3);
  const ContinuumRobot robot = plain_robot();
  LevenbergSolver solver(robot, {.max_iterations = 50, .position_tolerance = 1e-6});
  int solved = 0, count = 0;
  for (; count < 300; ++count) {
    const std::vector<SectionState> start = random_states(random, robot);
    TipTarget target{.X_BG = oracle_tip_pose(robot, start, {})};
    target.X_BG.translation() += kMove * random.unit_vector();
    const IkResult result = solver.solve(target, start);
    if (!result.converged()) continue;  // moved out of reach
    ++solved;
    for (std::size_t i = 0; i < start.size(); ++i) {
      CHECK((bend_vector(result.states[i]) - bend_vector(start[i])).norm() < kLargestChange);
    }
  }
  CHECK(solved > 0.95 * count);
}

TEST_CASE("levenberg: the solution depends on the arguments only", "[ik]") {
  Random random(8);
  const ContinuumRobot robot = mixed_robot();
  const LevenbergOptions options{.max_iterations = 300, .max_restarts = 10};
  LevenbergSolver used(robot, options);
  for (int i = 0; i < 20; ++i) {
    const TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
    LevenbergSolver fresh(robot, options);
    const IkResult a = used.solve(target, robot.straight());
    const IkResult b = fresh.solve(target, robot.straight());
    CHECK(a.iterations == b.iterations);
    for (std::size_t k = 0; k < a.states.size(); ++k) {
      CHECK(a.states[k].theta == b.states[k].theta);
      CHECK(a.states[k].phi == b.states[k].phi);
      CHECK(a.states[k].extension == b.states[k].extension);
    }
  }
}

TEST_CASE("levenberg: a rotated world turns the solution", "[ik]") {
  constexpr double kTurnTolerance = 1e-6;
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 3);
  LevenbergSolver solver(robot, {.max_iterations = 200});
  const double angle = random.angle();
  std::vector<SectionState> start = random_states(random, robot);
  TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
  const IkResult plain = solver.solve(target, start);
  const std::vector<SectionState> plain_states(plain.states.begin(), plain.states.end());
  const bool converged = plain.converged();
  target.X_BG = Eigen::AngleAxisd(angle, Vector3d::UnitZ()) * target.X_BG;
  for (SectionState& state : start) state.phi += angle;
  const IkResult rotated = solver.solve(target, start);
  CHECK(rotated.converged() == converged);
  if (!converged) return;
  for (std::size_t i = 0; i < plain_states.size(); ++i) {
    SectionState expected = plain_states[i];
    expected.phi += angle;
    CHECK((bend_vector(rotated.states[i]) - bend_vector(expected)).norm() < kTurnTolerance);
    CHECK(rotated.states[i].extension == Approx(expected.extension).margin(kTurnTolerance));
  }
}

TEST_CASE("levenberg: a target out of reach gets the nearest pose", "[ik]") {
  // Straight ahead, farther than the arm's length: the straight arm is nearest.
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}});
  LevenbergSolver solver(robot, {.max_iterations = 500});
  TipTarget target;
  target.X_BG.translation() = Vector3d(0, 0, 0.5);
  const std::vector<SectionState> start{{0.4, 0.3, 0.0}, {0.5, -1.0, 0.0}};
  const IkResult result = solver.solve(target, start);
  CHECK_FALSE(result.converged());
  CHECK(result.position_error == Approx(0.3).margin(1e-4));
}

TEST_CASE("levenberg: degenerate targets give finite solutions inside the limits", "[ik]") {
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  const double limit = GENERATE(100 * kDegree, pi, 2 * pi);
  const SectionParameters arc{.length = 0.1, .bend_angle_limit = limit};
  const SectionParameters telescopic{.variable_length = 0.1, .bend_angle_limit = limit};
  const std::vector<ContinuumRobot> robots{
      {arc, arc, arc}, {telescopic, telescopic}, {arc, telescopic}, ContinuumRobot({arc})};
  const std::vector<Vector3d> points{{0, 0, 0},   {0, 0, 0.1}, {0, 0, -0.3},
                                     {5e6, 0, 0}, {0, 0, 9},   {1e-14, 0, 0}};
  for (const ContinuumRobot& robot : robots) {
    LevenbergSolver solver(robot, {.max_iterations = 60, .max_restarts = 2});
    const auto count = static_cast<std::size_t>(robot.section_count());
    const std::vector<SectionState> shortest(count), folded(count, {limit, 0.0, 0.1});
    for (const Vector3d& point : points) {
      for (const SectionStates start :
           {robot.straight(), SectionStates(shortest), SectionStates(folded)}) {
        CAPTURE(point.transpose(), limit);
        TipTarget target;
        target.task = task;
        target.X_BG.translation() = point;
        const IkResult result = solver.solve(target, start);
        CHECK(std::isfinite(result.position_error));
        CHECK(std::isfinite(result.angle_error));
        CHECK(robot.within_limits(result.states));
        CHECK(result.iterations <= 60);
      }
    }
  }
}

TEST_CASE("levenberg: bad targets, starts and options are refused", "[ik]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ContinuumRobot robot = plain_robot();
  LevenbergSolver solver(robot);
  TipTarget target;
  const std::vector<SectionState> start(3);
  CHECK(solver.solve(target, SectionStates(start).first(2)).status == IkStatus::InvalidStart);
  CHECK(solver.solve(target, start, {.feed = nan}).status == IkStatus::InvalidStart);
  target.X_BG.translation().y() = nan;
  const IkResult refused = solver.solve(target, start);
  CHECK(refused.status == IkStatus::InvalidTarget);
  CHECK(refused.position_error == std::numeric_limits<double>::infinity());
  CHECK(robot.within_limits(refused.states));
  CHECK_THROWS_WITH(LevenbergSolver(robot, {.max_iterations = 0}),
                    "levenberg options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_WITH(LevenbergSolver(robot, {.max_restarts = -1}),
                    "levenberg options: max_restarts = -1, must be >= 0");
  CHECK_THROWS_AS(LevenbergSolver(robot, {.position_tolerance = nan}), ModelError);
  CHECK_THROWS_AS(LevenbergSolver(robot, {.angle_tolerance = 0.0}), ModelError);
}

TEST_CASE("levenberg: solve takes nothing from the heap", "[ik]") {
  Random random(5);
  for (const ContinuumRobot& robot : {plain_robot(), mixed_robot(), table_robot()}) {
    LevenbergSolver solver(robot, {.max_iterations = 300, .max_restarts = 5});
    const TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
    AllocationCounter counter;
    const IkResult result = solver.solve(target, robot.straight());
    const IkResult again = solver.solve(target, result.states);
    CHECK(counter.count() == 0);
    CHECK(again.position_error <= result.position_error + kAlgebraTolerance);
  }
}
