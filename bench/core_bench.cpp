// Times and success rates of the kinematics and the inverse kinematics, in microseconds and in
// units: one unit is one 6x6 LLT factorization and solve by Eigen, measured in the same run.
//
//   build/bench/bin/core_bench

#include <benchmark/benchmark.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/ik/batch.hpp"
#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/ik/levenberg_solver.hpp"
#include "tendril/ik/published/section_polynomial.hpp"
#include "tendril/ik/section_ik.hpp"
#include "tendril/ik/start_pose.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "unit.hpp"

namespace {

using namespace tendril;

constexpr double kLimit = 1.745;

ContinuumRobot three_sections() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = kLimit};
  return ContinuumRobot({section, section, section});
}

std::vector<std::vector<SectionState>> random_poses(int count) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> theta(0.0, kLimit), phi(-3.14159, 3.14159);
  std::vector<std::vector<SectionState>> poses;
  for (int i = 0; i < count; ++i) {
    std::vector<SectionState> pose;
    for (int k = 0; k < 3; ++k) pose.push_back({.theta = theta(engine), .phi = phi(engine)});
    poses.push_back(std::move(pose));
  }
  return poses;
}

void unit_llt_6x6(benchmark::State& state) {
  LltUnit unit;
  for (auto _ : state) unit.run();
}
BENCHMARK(unit_llt_6x6);

void tip_pose_with_jacobian(benchmark::State& state) {
  const ContinuumRobot robot = three_sections();
  const auto poses = random_poses(256);
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, robot.coordinate_count());
  std::size_t i = 0;
  const double unit = unit_seconds(), begin = cpu_seconds();
  for (auto _ : state) {
    benchmark::DoNotOptimize(tip_jacobian(robot, poses[i++ % poses.size()], {}, jacobian));
    benchmark::DoNotOptimize(jacobian.data());
  }
  const double each = (cpu_seconds() - begin) / static_cast<double>(state.iterations());
  state.counters["units"] = each / (0.5 * (unit + unit_seconds()));
}
BENCHMARK(tip_pose_with_jacobian);

template <IkSolver Solver>
void solve(benchmark::State& state, Solver solver, TipTask task, bool warm) {
  const ContinuumRobot& robot = solver.robot();
  const auto poses = random_poses(1000);
  std::vector<TipTarget> targets;
  for (const auto& pose : poses) targets.push_back({tip_pose(robot, pose), task});
  std::size_t i = 0;
  std::int64_t solved = 0, iterations = 0, runs = 0;
  for (auto _ : state) {
    TipTarget target = targets[i % targets.size()];
    if (warm)
      target.X_BG.translation().x() +=
          2e-4;  // 0.2 mm from a known pose, as in one step of 2 ms at 0.1 m/s
    const IkResult result =
        solver.solve(target, warm ? SectionStates(poses[i % poses.size()]) : robot.straight());
    benchmark::DoNotOptimize(result.position_error);
    solved += result.converged();
    iterations += result.iterations;
    ++runs;
    ++i;
  }
  state.counters["success"] = static_cast<double>(solved) / static_cast<double>(runs);
  state.counters["iterations"] = static_cast<double>(iterations) / static_cast<double>(runs);
}
const FabrikxSolver kFabrikx(three_sections(), {.max_iterations = 300,
                                                .position_tolerance = 1e-6,
                                                .cap_forward_bend = true});
const LevenbergSolver kLevenberg(three_sections(), {.max_iterations = 400,
                                                    .position_tolerance = 1e-6,
                                                    .max_restarts = 20});
const AutoSolver kAuto(three_sections(), {.position_tolerance = 1e-6});
BENCHMARK_CAPTURE(solve, auto_position_cold, kAuto, TipTask::Position, false);
BENCHMARK_CAPTURE(solve, auto_direction_cold, kAuto, TipTask::PositionAndDirection, false);
BENCHMARK_CAPTURE(solve, auto_position_warm, kAuto, TipTask::Position, true);
BENCHMARK_CAPTURE(solve, fabrikx_position_cold, kFabrikx, TipTask::Position, false);
BENCHMARK_CAPTURE(solve, fabrikx_direction_cold, kFabrikx, TipTask::PositionAndDirection, false);
BENCHMARK_CAPTURE(solve, fabrikx_position_warm, kFabrikx, TipTask::Position, true);
BENCHMARK_CAPTURE(solve, levenberg_position_cold, kLevenberg, TipTask::Position, false);
BENCHMARK_CAPTURE(solve, levenberg_direction_cold, kLevenberg, TipTask::PositionAndDirection,
                  false);
BENCHMARK_CAPTURE(solve, levenberg_position_warm, kLevenberg, TipTask::Position, true);

/// Robots with random reachable targets of position and direction, and a solver for each.
struct Experiment {
  struct Robot {
    AutoSolver solver;
    std::vector<TipTarget> targets;
    std::vector<SectionState> starts;  // section count per target
  };
  std::vector<Robot> robots;

  void add(const ContinuumRobot& robot, const AutoOptions& options, int count) {
    SplitMix64 random(1 + robots.size());
    Robot own{AutoSolver(robot, options), {}, {}};
    std::vector<SectionState> pose(static_cast<std::size_t>(robot.section_count()));
    for (int i = 0; i < count; ++i) {
      random_states(robot, random, pose);
      own.targets.push_back({tip_pose(robot, pose), TipTask::PositionAndDirection});
      straight_start(robot, own.targets.back(), {}, pose);
      own.starts.insert(own.starts.end(), pose.begin(), pose.end());
    }
    robots.push_back(std::move(own));
  }
};

/// The default solver on every target of the experiment: time and success of one solve, and the
/// spread of the times [units].
void experiment(benchmark::State& state, Experiment cases) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  std::int64_t solved = 0;
  std::size_t count = 0;
  for (const auto& robot : cases.robots) count += robot.targets.size();
  const double unit_before = unit_seconds(), begin = cpu_seconds();
  while (state.KeepRunningBatch(static_cast<std::int64_t>(count))) {
    for (auto& [solver, targets, starts] : cases.robots) {
      const auto sections = static_cast<std::size_t>(solver.robot().section_count());
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const Clock::time_point start = Clock::now();
        const IkResult result =
            solver.solve(targets[i], SectionStates(starts).subspan(i * sections, sections));
        times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        solved += result.converged();
      }
    }
  }
  const double cpu = cpu_seconds() - begin;
  const double unit = 0.5 * (unit_before + unit_seconds());
  const auto quantile = [&](double part) {
    const auto it =
        times.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size()));
    std::nth_element(times.begin(), it, times.end());
    return *it / unit;
  };
  const auto runs = static_cast<double>(times.size());
  state.counters["success"] = static_cast<double>(solved) / runs;
  state.counters["mean_units"] = cpu / runs / unit;
  state.counters["median_units"] = quantile(0.5);
  state.counters["p99.9_units"] = quantile(0.999);
}

/// [FABRIKx] tables 3.8, 3.9: three sections of fixed, variable length or telescopic in all 27
/// orders, 20 bend limits from 9 to 180 degrees; 1 um, 0.001 rad. 100 targets a case.
Experiment table_3_9() {
  constexpr std::array<std::array<double, 2>, 3> kLengths{
      {{0.05, 0.0}, {0.025, 0.025}, {0.0, 0.05}}};
  Experiment cases;
  for (int mix = 0; mix < 27; ++mix)
    for (int step = 1; step <= 20; ++step) {
      std::vector<SectionParameters> sections;
      for (const int type : {mix / 9, mix / 3 % 3, mix % 3}) {
        const auto& [length, variable] = kLengths[static_cast<std::size_t>(type)];
        sections.push_back({.length = length,
                            .variable_length = variable,
                            .bend_angle_limit = step * 3.141592653589793 / 20});
      }
      cases.add(ContinuumRobot(sections), {.position_tolerance = 1e-6}, 100);
    }
  return cases;
}
BENCHMARK_CAPTURE(experiment, table_3_9, table_3_9());

/// [FABRIKx] tables 3.10, 3.11: robots 1 to 6 with sub-sections; 10 um, 0.01 degrees. 10 000
/// targets.
Experiment table_3_11(std::size_t robot) {
  struct Shape {
    std::vector<double> lengths_mm, weights;
  };
  static const std::vector<std::vector<Shape>> kRobots = {
      {{{20, 40, 10}, {1, 0.001, 3}}, {{10, 20, 40}, {3, 2, 1}}, {{30, 10, 30}, {1, 7, 1}}},
      {{{20, 20, 40, 10, 10}, {1, 1, 0.001, 3, 4}},
       {{10, 10, 20, 40, 20}, {4, 3, 2, 1, 0.001}},
       {{15, 30, 10, 30, 15}, {0.001, 1, 7, 1, 3}}},
      {{{30, 20, 20, 40, 10, 10, 10}, {4, 1, 1, 0.001, 3, 4, 1}},
       {{30, 10, 10, 20, 40, 20, 10}, {1, 4, 3, 2, 1, 0.001, 4}},
       {{20, 15, 30, 10, 30, 15, 20}, {1, 0.001, 1, 7, 1, 3, 1}}},
      {{{10, 30, 20, 20, 40, 10, 10, 10, 30}, {2, 4, 1, 1, 0.001, 3, 4, 1, 3}},
       {{30, 30, 10, 10, 20, 40, 20, 10, 10}, {4, 1, 4, 3, 2, 1, 0.001, 4, 1}},
       {{20, 20, 15, 30, 10, 30, 15, 20, 20}, {4, 1, 0.001, 1, 7, 1, 3, 1, 4}}},
      {{{20, 40, 10}, {1, 0.001, 3}},
       {{10, 20, 40}, {3, 2, 1}},
       {{30, 10, 30}, {1, 7, 1}},
       {{10, 50, 10}, {0.001, 1, 0.001}},
       {{10, 50, 10}, {3, 1, 3}}},
      {{{20, 40, 10}, {1, 0.001, 3}},
       {{10, 20, 40}, {3, 2, 1}},
       {{30, 10, 30}, {1, 7, 1}},
       {{10, 50, 10}, {0.001, 1, 0.001}},
       {{10, 50, 10}, {3, 1, 3}},
       {{20, 40, 10}, {3, 0.001, 1}},
       {{10, 40, 20}, {3, 0.001, 1}}},
  };
  constexpr double kDegree = 3.141592653589793 / 180.0;
  std::vector<SectionParameters> sections;
  for (const auto& [lengths, weights] : kRobots[robot - 1]) {
    double sum = 0.0;
    for (const double length : lengths) sum += length;
    sections.push_back({.length = 1e-3 * sum,
                        .bend_angle_limit = 100.0 * kDegree,
                        .length_weights = lengths,
                        .angle_weights = weights});
  }
  Experiment cases;
  cases.add(ContinuumRobot(sections),
            {.position_tolerance = 1e-5, .angle_tolerance = 0.01 * kDegree}, 10000);
  return cases;
}
BENCHMARK_CAPTURE(experiment, table_3_11_robot_1, table_3_11(1));
BENCHMARK_CAPTURE(experiment, table_3_11_robot_2, table_3_11(2));
BENCHMARK_CAPTURE(experiment, table_3_11_robot_3, table_3_11(3));
BENCHMARK_CAPTURE(experiment, table_3_11_robot_4, table_3_11(4));
BENCHMARK_CAPTURE(experiment, table_3_11_robot_5, table_3_11(5));
BENCHMARK_CAPTURE(experiment, table_3_11_robot_6, table_3_11(6));

/// Ratio of the wall times of solve_batch on one and on two threads, and of the CPU times on two
/// and on one. The runs are short and alternate, and the best of each is taken, so that the load of
/// the machine affects both equally.
void batch_on_two_threads(benchmark::State& state) {
  const ContinuumRobot robot = three_sections();
  SplitMix64 random(1);
  std::vector<SectionState> pose(3);
  std::vector<TipTarget> targets;
  for (int i = 0; i < 20000; ++i) {
    random_states(robot, random, pose);
    targets.push_back({tip_pose(robot, pose), TipTask::PositionAndDirection});
  }
  std::vector<BatchResult> results(targets.size());
  std::vector<SectionState> states(3 * targets.size());
  const AnySolver solver{AutoSolver(robot)};
  struct Best {
    double wall = 1e9, cpu = 1e9;  // [s]
  } one, two;
  const auto run = [&](int threads, Best& best) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    solve_batch(solver, targets, results, states, {.threads = threads});
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    best = {std::min(best.wall, wall.count()), std::min(best.cpu, cpu_seconds() - cpu)};
  };
  for (auto _ : state) {
    run(1, one);
    run(2, two);
  }
  state.counters["speedup"] = one.wall / two.wall;
  state.counters["cpu_ratio"] = two.cpu / one.cpu;
  state.counters["targets_per_s"] = static_cast<double>(targets.size()) / two.wall;
}
BENCHMARK(batch_on_two_threads)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(60);

/// Generated targets of random sections with `sub_sections` arcs, as in [FABRIKx] table 3.1:
/// weights 1 to 10, limit 180 degrees, 1 um and 0.001 rad. Types: 0 fixed, 1 telescopic, 2 variable
/// length.
struct SectionCases {
  std::vector<SectionPolynomial> sections;
  struct Target {
    double rho, z;
  };
  std::vector<std::vector<Target>> targets;  // per section

  SectionCases(int type, int sub_sections) {
    SplitMix64 random(1000 + static_cast<std::uint64_t>(10 * type + sub_sections));
    for (int k = 0; k < 50; ++k) {
      SectionParameters parameters;
      for (int j = 0; j < sub_sections; ++j) {
        parameters.length_weights.push_back(random.uniform(1.0, 10.0));
        parameters.angle_weights.push_back(random.uniform(1.0, 10.0));
      }
      const double length = random.uniform(1e-3, type == 2 ? 50e-3 : 100e-3);
      parameters.length = type == 1 ? 0.0 : length;
      parameters.variable_length = type == 0 ? 0.0 : type == 1 ? length : 100e-3 - length;
      const ContinuumRobot robot({parameters});
      sections.emplace_back(SectionShape(robot.section(0)));
      std::vector<Target>& own = targets.emplace_back();
      for (int i = 0; i < 100; ++i) {
        std::vector<SectionState> state(1);
        random_states(robot, random, state);
        const Eigen::Vector3d p = tip_pose(robot, state).translation();
        own.push_back({std::hypot(p.x(), p.y()), p.z()});
      }
    }
  }
};

enum class Method { Iterative, Newton, Polynomial };

void section(benchmark::State& state, Method method) {
  const SectionCases cases(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const SectionIkOptions options{
      .max_iterations = 3000, .position_tolerance = 1e-6, .angle_tolerance = 1e-3};
  std::int64_t reached = 0, iterations = 0, runs = 0;
  std::size_t k = 0;
  while (state.KeepRunningBatch(100)) {
    const SectionPolynomial& polynomial = cases.sections[k % cases.sections.size()];
    for (const auto& [rho, z] : cases.targets[k % cases.sections.size()]) {
      const SectionIkResult result =
          method == Method::Iterative ? solve_section_iterative(polynomial.shape(), rho, z, options)
          : method == Method::Newton  ? solve_section_newton(polynomial.shape(), rho, z, options)
                                      : polynomial.solve(rho, z, options);
      reached += result.reached;
      iterations += result.iterations;
      ++runs;
    }
    ++k;
  }
  state.counters["success"] = static_cast<double>(reached) / static_cast<double>(runs);
  state.counters["iterations"] = static_cast<double>(iterations) / static_cast<double>(runs);
}
BENCHMARK_CAPTURE(section, iterative, Method::Iterative)->ArgsProduct({{0, 1, 2}, {3, 6, 9}});
BENCHMARK_CAPTURE(section, newton, Method::Newton)->ArgsProduct({{0, 1, 2}, {3, 6, 9}});
BENCHMARK_CAPTURE(section, polynomial, Method::Polynomial)->ArgsProduct({{0, 1, 2}, {3, 6, 9}});

}  // namespace

BENCHMARK_MAIN();
