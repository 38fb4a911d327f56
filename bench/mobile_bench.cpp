// Times and success rates of the solvers for arms on a mobile platform. `forward_kinematics`, one
// tool pose of the youBot, is the unit of the other times of the youBot.
//
//   build/bench/bin/mobile_bench

#include <benchmark/benchmark.h>

#include <numbers>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/fabrik_solver.hpp"
#include "tendril/mobile/youbot_targets.hpp"

namespace {

using namespace tendril;

constexpr std::uint64_t kTargets = 1024, kSeed = 1;

std::vector<ToolTarget> targets_of(const MobileRobot& robot) {
  std::vector<ToolTarget> targets;
  for (std::uint64_t k = 0; k < kTargets; ++k)
    targets.push_back(random_youbot_target(robot, kSeed, k));
  return targets;
}

template <class Solve>
void run(benchmark::State& state, const MobileRobot& robot, Solve&& solve) {
  const std::vector<ToolTarget> targets = targets_of(robot);
  std::size_t k = 0;
  double converged = 0.0, iterations = 0.0, solved = 0.0;
  for (auto _ : state) {
    const MobileResult result = solve(targets[k++ % kTargets]);
    converged += result.converged() ? 1.0 : 0.0;
    iterations += result.iterations;
    solved += 1.0;
  }
  state.counters["success"] = converged / solved;
  state.counters["iterations"] = iterations / solved;
}

void forward_kinematics(benchmark::State& state) {
  const MobileRobot robot(youbot());
  std::array<double, 5> joints = youbot_start_joints();
  for (auto _ : state) {
    joints[0] += 1e-6;
    benchmark::DoNotOptimize(tool_pose(robot, {.x = 0.1, .y = 0.2, .heading = 0.3}, joints));
  }
}
BENCHMARK(forward_kinematics);

void fabrik(benchmark::State& state, const MobileFabrikOptions& options) {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, options);
  run(state, robot,
      [&](const ToolTarget& target) { return solver.solve(target, {}, youbot_start_joints()); });
}
BENCHMARK_CAPTURE(fabrik, default, MobileFabrikOptions{});
BENCHMARK_CAPTURE(fabrik, alone, MobileFabrikOptions{.fallback = false});
BENCHMARK_CAPTURE(fabrik, polished, MobileFabrikOptions{.polish = true});

void closed_form(benchmark::State& state, double step) {
  const MobileRobot robot(youbot());
  MobileClosedForm solver(robot, {.step = step});
  run(state, robot,
      [&](const ToolTarget& target) { return solver.solve(target, {}, youbot_start_joints()); });
}
BENCHMARK_CAPTURE(closed_form, millimeter, 1e-3);
BENCHMARK_CAPTURE(closed_form, coarse, 1.0);

/// A tool on a circle of 0.2 m in steps of 1 mm, warm-started at the previous solution.
void tracking(benchmark::State& state) {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, {.planes = PlaneOrder::NearestOnly});
  PlatformPose base;
  std::vector<double> joints(youbot_start_joints().begin(), youbot_start_joints().end());
  double angle = 0.0, converged = 0.0, solved = 0.0, attempts = 0.0;
  for (auto _ : state) {
    angle += 0.005;
    const ToolTarget target =
        tool_target({0.6 + 0.2 * std::cos(angle), 0.2 * std::sin(angle), 0.25}, 0.0, -0.5, 0.2);
    const MobileResult result = solver.solve(target, base, joints);
    base = result.base;
    std::copy(result.joints.begin(), result.joints.end(), joints.begin());
    converged += result.converged() ? 1.0 : 0.0;
    attempts += result.attempts;
    solved += 1.0;
  }
  state.counters["success"] = converged / solved;
  state.counters["attempts"] = attempts / solved;
}
BENCHMARK(tracking);

/// Arms of more links, 0.5 m in all, limits of 100 degrees; argument: links.
void longer_arm(benchmark::State& state) {
  MobileRobotParameters parameters = youbot();
  const auto links = static_cast<std::size_t>(state.range(0));
  parameters.links.assign(
      links, {.length = 0.5 / static_cast<double>(links), .limits = {.min = -1.75, .max = 1.75}});
  const MobileRobot robot(parameters);
  MobileFabrikSolver solver(robot);
  const std::vector<double> start(links + 2, 0.2);
  run(state, robot, [&](const ToolTarget& target) { return solver.solve(target, {}, start); });
}
BENCHMARK(longer_arm)->Arg(2)->Arg(4)->Arg(6)->Arg(10);

/// Three sections of 100 mm on the platform, targets within a meter; argument: upright or inclined.
void continuum(benchmark::State& state) {
  const SectionParameters section{.length = 0.1,
                                  .bend_angle_limit = 100.0 * std::numbers::pi / 180.0};
  MobileContinuum robot{.arm = ContinuumRobot{section, section, section},
                        .X_PB = Eigen::Isometry3d::Identity()};
  robot.X_PB.translation() << 0.1, 0.0, 0.2;
  if (state.range(0) == 1) {
    robot.X_PB.linear() =
        Eigen::AngleAxisd(0.5 * std::numbers::pi, Eigen::Vector3d::UnitY()).toRotationMatrix();
  }
  MobileContinuumSolver solver(robot);
  SplitMix64 random(kSeed);
  std::vector<TipTarget> targets;
  std::vector<SectionState> states(3);
  while (targets.size() < kTargets) {
    const PlatformPose base{.x = random.uniform(-1.0, 1.0),
                            .y = random.uniform(-1.0, 1.0),
                            .heading = random.uniform(-std::numbers::pi, std::numbers::pi)};
    random_states(robot.arm, random, states);
    const TipTarget target{.X_BG = arm_base_pose(robot, base) * tip_pose(robot.arm, states),
                           .task = TipTask::PositionAndDirection};
    if (target.position().z() > 0.0) targets.push_back(target);
  }
  std::size_t k = 0;
  double converged = 0.0, base_poses = 0.0, travel = 0.0, solved = 0.0;
  for (auto _ : state) {
    const MobileContinuumResult result =
        solver.solve(targets[k++ % kTargets], {}, robot.arm.straight());
    converged += result.converged() ? 1.0 : 0.0;
    base_poses += result.base_poses;
    travel += result.base_travel;
    solved += 1.0;
  }
  state.counters["success"] = converged / solved;
  state.counters["base_poses"] = base_poses / solved;
  state.counters["travel"] = travel / solved;
}
BENCHMARK(continuum)->Arg(0)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
