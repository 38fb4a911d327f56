// Times of the planners with contact on their worked cases, with the numbers of solutions and of
// arcs tried.
//
//   build/bench/bin/planning_bench

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/grasp.hpp"
#include "tendril/rod/elastic_replanner.hpp"
#include "tests/rod/elastic_cases.hpp"
#include "tests/support/random.hpp"
#include "tests/support/wrap_cases.hpp"

namespace {

using namespace tendril;

/// Argument 0: case; 1: whether refused arcs are listed with their reasons.
void wrapping(benchmark::State& state) {
  const auto c = test::wrap_cases()[static_cast<std::size_t>(state.range(0))];
  ContactPlannerOptions options;
  if (state.range(1) == 0) options.max_refusals = 0;
  ContactPlanner planner(options);
  const PlanarScene scene = c.scene();
  const auto contacts = c.contact_points();
  std::size_t solutions = 0;
  long arcs = 0;
  for (auto _ : state) {
    const ContactPlannerResult& result = planner.plan(scene, contacts, {}, c.target);
    solutions = result.solutions.size();
    arcs = result.arcs_tried;
    benchmark::DoNotOptimize(result);
  }
  state.SetLabel(c.name);
  state.counters["solutions"] = static_cast<double>(solutions);
  state.counters["arcs"] = static_cast<double>(arcs);
}
BENCHMARK(wrapping)->ArgsProduct({{0, 1, 2, 3}, {0, 1}})->Unit(benchmark::kMicrosecond);

/// Case 1 with more contact points at random. Argument 0: points; 1: 0 exhaustive, 1 pruned.
void many_points(benchmark::State& state) {
  const auto c = test::wrap_cases()[0];
  auto contacts = c.contact_points();
  test::Random random(1);
  while (contacts.size() < static_cast<std::size_t>(state.range(0))) {
    const double x = random.uniform(-0.5, 0.5), z = random.uniform(0.0, 1.0);
    contacts.push_back({.disc = {{x, z}, 0.0}});
  }
  ContactPlanner planner(
      {.search = state.range(1) == 0 ? ContactSearch::Exhaustive : ContactSearch::Pruned,
       .max_refusals = 0});
  const PlanarScene scene = c.scene();
  std::size_t solutions = 0;
  double shortest = 0.0;
  long arcs = 0;
  bool partial = false;
  for (auto _ : state) {
    const ContactPlannerResult& result = planner.plan(scene, contacts, {}, c.target);
    solutions = result.solutions.size();
    shortest = std::numeric_limits<double>::infinity();
    for (const ContactSolution& s : result.solutions) shortest = std::min(shortest, s.length);
    arcs = result.arcs_tried;
    partial = result.status == ContactPlannerStatus::Partial;
  }
  state.counters["solutions"] = static_cast<double>(solutions);
  state.counters["shortest"] = shortest;
  state.counters["arcs"] = static_cast<double>(arcs);
  state.counters["partial"] = partial ? 1.0 : 0.0;
}
BENCHMARK(many_points)
    ->ArgsProduct({{8, 100, 1000, 10'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

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

constexpr double kClearance = 5e-4;  // of the guide [m]

/// Times the steps from a contact plan to corrected commands. Argument 0: plan; 1: 0 clamped, 1
/// guide with clearance.
void elastic_plan(benchmark::State& state) {
  const auto c = test::elastic_cases()[static_cast<std::size_t>(state.range(0))];
  const ElasticRodOptions rod{.guide_clearance = state.range(1) == 0 ? 0.0 : kClearance};
  CorrectedState end;
  for (auto _ : state) {
    ElasticCorrection correction(c.scene, {}, rod, {.path_step = 0.012});
    end = correction.follow(c.plan(), c.contacts).back();
  }
  state.SetLabel(c.name);
  state.counters["corrected"] = end.corrected() ? 1.0 : 0.0;
  state.counters["k"] = end.curvatures[0];
  state.counters["L"] = end.length;
  state.counters["force"] = end.contact_force;
  state.counters["exit_angle"] = end.shape.exit_angle;
}
BENCHMARK(elastic_plan)->ArgsProduct({{0, 1, 2, 3, 4}, {0, 1}})->Unit(benchmark::kMillisecond);

/// CPU time of this thread [us]: a step is shorter than a scheduler's time slice.
double thread_time_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

/// Steps of the replanner after an obstacle has moved by 3 mm and the target by up to 30 mm, each
/// step timed. Argument 0: plan, 1: element length [mm].
void replanning(benchmark::State& state) {
  constexpr int kSeeds = 200, kMaxSteps = 30;
  const auto c = test::elastic_cases()[static_cast<std::size_t>(state.range(0))];
  const ElasticRodOptions rod{.element_length = 1e-3 * static_cast<double>(state.range(1)),
                              .guide_clearance = kClearance};
  ElasticCorrection correction(c.scene, {}, rod, {.path_step = 0.012});
  const CorrectedState end = correction.solve(c.plan(), c.contacts);
  ElasticReplanner replanner(c.scene, {}, c.contacts, rod);
  std::vector<double> memory(replanner.memory_size()), times;
  int reached = 0, runs = 0, most = 0;
  for (auto _ : state) {
    test::Random random(1);
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto away = [&](double size) {
        const double angle = random.angle();
        return Eigen::Vector2d(size * std::cos(angle), size * std::sin(angle));
      };
      replanner.reset(end, memory);
      replanner.set_obstacle_shift(seed % c.scene.size(), away(3e-3), memory);
      const Eigen::Vector2d target = c.target + away(random.uniform(0.0, 0.03));
      Replan result;
      int steps = 0;
      for (; steps < kMaxSteps && result.status != ReplanStatus::AtTarget; ++steps) {
        const double begin = thread_time_us();
        result = replanner.step(memory, target, memory);
        times.push_back(thread_time_us() - begin);
      }
      most = std::max(most, steps);
      reached += result.status == ReplanStatus::AtTarget ? 1 : 0;
      ++runs;
    }
  }
  std::sort(times.begin(), times.end());
  state.SetLabel(c.name);
  state.counters["p50_us"] = times[times.size() / 2];
  state.counters["p99_us"] = times[times.size() * 99 / 100];
  state.counters["max_us"] = times.back();
  state.counters["success"] = static_cast<double>(reached) / runs;
  state.counters["steps"] = static_cast<double>(times.size()) / runs;
  state.counters["most_steps"] = most;
}
BENCHMARK(replanning)->ArgsProduct({{0, 1, 2, 3, 4}, {5, 10}})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
