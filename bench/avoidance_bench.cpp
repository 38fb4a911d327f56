// Times and success rates of reaching among obstacles.
//
//   build/bench/bin/avoidance_bench

#include <benchmark/benchmark.h>

#include <vector>

#include "tendril/avoidance/clutter.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"
#include "tests/avoidance/obstacle_scenes.hpp"

namespace {

using namespace tendril;

/// One tip target in a cluttered scene; arguments: sections, spheres, body radius [mm].
void clutter_solve(benchmark::State& state) {
  constexpr std::uint64_t kProblems = 64;
  const ClutterClass kind{.sections = static_cast<int>(state.range(0)),
                          .spheres = static_cast<int>(state.range(1)),
                          .body_radius = 1e-3 * static_cast<double>(state.range(2))};
  const ContinuumRobot robot = clutter_robot(kind.sections);
  std::vector<ClutterProblem> problems;
  for (std::uint64_t i = 0; i < kProblems; ++i) problems.push_back(clutter_problem(robot, kind, i));
  ObstacleSolver solver(robot, {.body_radius = kind.body_radius});
  std::size_t i = 0;
  double reached = 0.0, solved = 0.0;
  for (auto _ : state) {
    const ClutterProblem& problem = problems[i++ % kProblems];
    const ObstacleResult result = solver.solve(problem.target, robot.straight(), problem.obstacles);
    reached += result.reached() ? 1.0 : 0.0;
    solved += 1.0;
  }
  state.counters["reached"] = reached / solved;
}
BENCHMARK(clutter_solve)->ArgsProduct({{3, 6}, {5, 40}, {0, 20}});

/// The path through tube A, B or C with the collision checks between its points; argument: 0, 1, 2.
void tube_path_free(benchmark::State& state) {
  const test::PlanarTube tubes[] = {
      {0.050, 0.200, 0.020}, {0.040, 0.220, 0.011}, {0.080, 0.200, 0.011}};
  const test::PlanarTube& tube = tubes[state.range(0)];
  ObstacleSolver solver(
      test::tube_robot(BendPlane::XZ),
      {.position_tolerance = 1e-4, .body_radius = test::kTubeBodyRadius, .margin = 1e-3});
  const Obstacles walls(test::tube_walls(tube));
  const auto waypoints = test::tube_path(tube, TipTask::Position);
  int reached = 0;
  for (auto _ : state) reached = path_through(solver, waypoints, test::tube_start(), walls).reached;
  state.counters["reached"] = reached;
}
BENCHMARK(tube_path_free)->DenseRange(0, 2);

}  // namespace

BENCHMARK_MAIN();
