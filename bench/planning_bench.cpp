// Times of the planners with contact on their worked cases, solutions and arcs tried beside them.
//
//   build/bench/bin/planning_bench

#include <benchmark/benchmark.h>

#include "tendril/planning/grasp.hpp"
#include "tendril/planning/wrapping.hpp"
#include "tests/support/wrap_cases.hpp"

namespace {

using namespace tendril;

/// Argument 0: case, 1: whether refused arcs are listed with their reasons.
void wrapping(benchmark::State& state) {
  const auto c = test::wrap_cases()[static_cast<std::size_t>(state.range(0))];
  WrapOptions options;
  if (state.range(1) == 0) options.max_refusals = 0;
  WrapPlanner planner(options);
  const PlanarScene scene = c.scene();
  const auto contacts = c.contact_points();
  std::size_t solutions = 0;
  long arcs = 0;
  for (auto _ : state) {
    const WrapResult& result = planner.plan(scene, contacts, {}, c.target);
    solutions = result.solutions.size();
    arcs = result.arcs_tried;
    benchmark::DoNotOptimize(result);
  }
  state.SetLabel(c.name);
  state.counters["solutions"] = static_cast<double>(solutions);
  state.counters["arcs"] = static_cast<double>(arcs);
}
BENCHMARK(wrapping)->ArgsProduct({{0, 1, 2, 3}, {0, 1}})->Unit(benchmark::kMicrosecond);

void grasping(benchmark::State& state) {
  PlanarScene scene;
  scene.add(Disc{{0.12, 0.30}, 0.05});
  GraspPlanner planner({.max_curvature = 20.0});
  std::size_t solutions = 0;
  for (auto _ : state) {
    const GraspResult& result = planner.plan(scene, {}, {}, {.wrap_angle = 4.71238898});
    solutions = result.solutions.size();
    benchmark::DoNotOptimize(result);
  }
  state.counters["solutions"] = static_cast<double>(solutions);
}
BENCHMARK(grasping)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
