// Processor time of one call of the kinematics in C++, as JSON: what bench/python_cost compares
// with.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <vector>

#include "tendril/ik/batch.hpp"
#include "tendril/ik/start_pose.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace {

using namespace tendril;

constexpr std::size_t kTargets = 20000, kSections = 3;
constexpr int kRepetitions = 7;

/// Best of some repetitions, per item [us].
template <class Work>
double time_us(const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - begin));
  }
  return best / CLOCKS_PER_SEC * 1e6 / static_cast<double>(kTargets);
}

}  // namespace

int main() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 2.0};
  const ContinuumRobot robot(std::vector(kSections, section));
  std::vector<SectionState> states(kTargets * kSections);
  std::vector<TipTarget> targets(kTargets);
  SplitMix64 random(1);
  for (std::size_t k = 0; k < kTargets; ++k) {
    const std::span one(states.data() + k * kSections, kSections);
    random_states(robot, random, one);
    targets[k].X_BG.translation() = tip_pose(robot, one).translation();
  }
  const auto of = [&](std::size_t k) {
    return SectionStates(states).subspan(k * kSections, kSections);
  };
  AnySolver solver = make_solver("auto", robot);
  std::vector<BatchResult> results(kTargets);
  std::vector<SectionState> solutions(states.size()), start(kSections);
  double sum = 0.0;  // printed, so that nothing is left out
  const double tip = time_us([&] {
    for (std::size_t k = 0; k < kTargets; ++k) sum += tip_pose(robot, of(k)).translation().x();
  });
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, robot.coordinate_count());
  const double tip_and_jacobian = time_us([&] {
    for (std::size_t k = 0; k < kTargets; ++k) {
      tip_jacobian(robot, of(k), {}, jacobian);
      sum += jacobian(0, 0);
    }
  });
  const double solve = time_us([&] {
    for (const TipTarget& target : targets) {
      straight_start(robot, target, {}, start);
      sum += solver.solve(target, start).position_error;
    }
  });
  const double batch =
      time_us([&] { solve_batch(solver, targets, results, solutions, {.threads = 1}); });
  std::printf(
      "{\"tip_pose\": %.4f, \"tip_jacobian\": %.4f, \"solve\": %.4f, \"solve_batch\": %.4f, "
      "\"sum\": %.9g}\n",
      tip, tip_and_jacobian, solve, batch, sum);
}
