// Times of the kinematics and the inverse kinematics, success beside them, in microseconds and in
// units: one unit is one 6x6 LLT factorisation and solve by Eigen, measured in the same run.
//
//   build/bench/bin/core_bench

#include <benchmark/benchmark.h>

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <random>
#include <vector>

#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/ik/levenberg_solver.hpp"
#include "tendril/ik/section_ik.hpp"
#include "tendril/ik/section_polynomial.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/random_states.hpp"

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
  Eigen::Matrix<double, 6, 6> A = Eigen::Matrix<double, 6, 6>::Random();
  A = A * A.transpose() + Eigen::Matrix<double, 6, 6>::Identity();
  Eigen::Matrix<double, 6, 1> b = Eigen::Matrix<double, 6, 1>::Random();
  for (auto _ : state) {
    benchmark::DoNotOptimize(A);
    Eigen::Matrix<double, 6, 1> x = A.llt().solve(b);
    benchmark::DoNotOptimize(x);
  }
}
BENCHMARK(unit_llt_6x6);

void tip_pose_with_jacobian(benchmark::State& state) {
  const ContinuumRobot robot = three_sections();
  const auto poses = random_poses(256);
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, robot.coordinate_count());
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tip_jacobian(robot, poses[i++ % poses.size()], {}, jacobian));
    benchmark::DoNotOptimize(jacobian.data());
  }
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
BENCHMARK_CAPTURE(solve, fabrikx_position_cold, kFabrikx, TipTask::Position, false);
BENCHMARK_CAPTURE(solve, fabrikx_direction_cold, kFabrikx, TipTask::PositionAndDirection, false);
BENCHMARK_CAPTURE(solve, fabrikx_position_warm, kFabrikx, TipTask::Position, true);
BENCHMARK_CAPTURE(solve, levenberg_position_cold, kLevenberg, TipTask::Position, false);
BENCHMARK_CAPTURE(solve, levenberg_direction_cold, kLevenberg, TipTask::PositionAndDirection,
                  false);
BENCHMARK_CAPTURE(solve, levenberg_position_warm, kLevenberg, TipTask::Position, true);

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
