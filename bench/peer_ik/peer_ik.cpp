// The default solver on a continuum robot compared with maintained general solvers on the
// equivalent chain of rigid links: time in microseconds and in units, and success rate. Method and
// columns: docs/results/benchmarks.md.
//
//   build/bench/bin/peer_ik [LINKS]     links per section, 10 unless given

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <vector>

#include "../unit.hpp"
#include "link_chain.hpp"
#include "tendril/ik/any_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace {

using namespace tendril;

/// The forward kinematics that generated the peers' targets.
enum class Source { Chain, Continuum };

constexpr int kTargets = 500;
constexpr double kStartAngle = 0.01;  // [rad] of every hinge: a straight chain is singular

std::vector<std::vector<SectionState>> random_poses(const ContinuumRobot& robot) {
  SplitMix64 random(1);
  std::vector<std::vector<SectionState>> poses(
      kTargets, std::vector<SectionState>(static_cast<std::size_t>(robot.section_count())));
  for (auto& pose : poses) random_states(robot, random, pose);
  return poses;
}

bool meets(const Eigen::Isometry3d& X_BE, const TipTarget& target) {
  return position_error(X_BE, target) <= kPositionTolerance * (1.0 + 1e-9) &&
         angle_error(X_BE, target) <= kAngleTolerance * (1.0 + 1e-9);
}

/// Measured time of one solve of each kind by the default solver [units].
double& auto_units(TipTask task) {
  static std::array<double, 2> units{};
  return units[task == TipTask::Position ? 0 : 1];
}

using Clock = std::chrono::steady_clock;

/// Runs `solve(i)` for all targets, repeatedly until the benchmark has enough iterations, and once
/// more for the median; `check(i)` returns whether the target was reached, and whether within the
/// limits. Returns the mean time of one solve [units].
template <class Solve, class Check>
double measure(benchmark::State& state, Solve solve, Check check) {
  const double unit_before = unit_seconds(), begin = cpu_seconds();
  while (state.KeepRunningBatch(kTargets))
    for (std::size_t i = 0; i < kTargets; ++i) solve(i);
  const double mean = (cpu_seconds() - begin) / static_cast<double>(state.iterations());
  const double unit = 0.5 * (unit_before + unit_seconds());

  std::vector<double> times(kTargets);
  int met = 0, allowed = 0;
  for (std::size_t i = 0; i < kTargets; ++i) {
    const Clock::time_point start = Clock::now();
    solve(i);
    times[i] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    const auto [reached, within_limits] = check(i);
    met += reached;
    allowed += reached && within_limits;
  }
  std::nth_element(times.begin(), times.begin() + kTargets / 2, times.end());
  state.counters["met_%"] = 100.0 * met / kTargets;
  state.counters["in_limits_%"] = 100.0 * allowed / kTargets;
  state.counters["median_us"] = times[kTargets / 2];
  state.counters["units"] = mean / unit;
  return mean / unit;
}

void default_solver(benchmark::State& state, const LinkChain& chain, TipTask task) {
  const ContinuumRobot robot = continuum_robot(chain);
  AnySolver solver =
      make_solver("auto", robot,
                  {.position_tolerance = kPositionTolerance, .angle_tolerance = kAngleTolerance});
  std::vector<TipTarget> targets;
  for (const auto& pose : random_poses(robot)) targets.push_back({tip_pose(robot, pose), task});
  std::vector<std::vector<SectionState>> solutions(
      kTargets, std::vector<SectionState>(static_cast<std::size_t>(chain.sections)));
  auto_units(task) = measure(
      state,
      [&](std::size_t i) {
        const IkResult result = solver.solve(targets[i], robot.straight());
        std::copy(result.states.begin(), result.states.end(), solutions[i].begin());
      },
      [&](std::size_t i) {
        return std::pair(meets(tip_pose(robot, solutions[i]), targets[i]),
                         robot.within_limits(solutions[i]));
      });
}

void general_solver(benchmark::State& state, const LinkChain& chain, TipTask task, Source source,
                    const Peer& peer) {
  const ContinuumRobot robot = continuum_robot(chain);
  std::vector<TipTarget> targets;
  for (const auto& pose : random_poses(robot))
    targets.push_back({source == Source::Continuum ? tip_pose(robot, pose)
                                                   : tip_pose(chain, hinge_angles(chain, pose)),
                       task});
  const Eigen::VectorXd start = Eigen::VectorXd::Constant(chain.joints(), kStartAngle);
  std::vector<Eigen::VectorXd> solutions(kTargets, start);
  const double units = measure(
      state,
      [&](std::size_t i) {
        solutions[i] = start;
        peer.solve(targets[i], solutions[i]);
      },
      [&](std::size_t i) {
        return std::pair(meets(tip_pose(chain, solutions[i]), targets[i]),
                         solutions[i].cwiseAbs().maxCoeff() <= chain.hinge_limit() + 1e-9);
      });
  if (auto_units(task) > 0.0) state.counters["times_auto"] = units / auto_units(task);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  LinkChain chain;
  if (argc == 2) chain.links = std::atoi(argv[1]);
  if (argc > 2 || chain.links < 1 || chain.links > 100) {
    std::cerr << "usage: peer_ik [LINKS] [--benchmark_...]   LINKS per section, 1 to 100\n";
    return EXIT_FAILURE;
  }
  for (const TipTask task : {TipTask::PositionAndDirection, TipTask::Position}) {
    const std::string end = task == TipTask::Position ? "/position" : "/direction";
    const auto add = [&](const std::string& name, auto function) {
      benchmark::RegisterBenchmark((name + end).c_str(), function)->Unit(benchmark::kMicrosecond);
    };
    add("auto", [chain, task](benchmark::State& state) { default_solver(state, chain, task); });
    std::vector<Peer> peers;
    const auto join = [&](std::vector<Peer> more) {
      std::move(more.begin(), more.end(), std::back_inserter(peers));
    };
#ifdef TENDRIL_BENCH_KDL
    join(kdl_peers(chain, task));
#endif
#ifdef TENDRIL_BENCH_PINOCCHIO
    join(pinocchio_peers(chain, task));
#endif
    for (const Source source : {Source::Chain, Source::Continuum})
      for (const Peer& peer : peers)
        add(peer.name + (source == Source::Chain ? "/chain" : "/continuum"),
            [=](benchmark::State& state) { general_solver(state, chain, task, source, peer); });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
