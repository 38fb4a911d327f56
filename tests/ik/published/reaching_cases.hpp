#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

// Robots and the experiment of the published solvers that reach forward and backward.
namespace tendril::test {

inline TipTarget target_at(const Eigen::Isometry3d& X_BG, TipTask task) {
  return {.X_BG = X_BG, .task = task};
}

inline TipTarget target_of(const ContinuumRobot& robot, SectionStates states, TipTask task,
                           const BaseState& base = {}) {
  return target_at(oracle_tip_pose(robot, states, base), task);
}

/// Uniform robot of the published experiment: sections of 100 mm, one arc each.
inline ContinuumRobot arc_robot(int section_count, double bend_angle_limit) {
  const SectionParameters arc{.length = 0.1, .bend_angle_limit = bend_angle_limit};
  return ContinuumRobot(
      std::vector<SectionParameters>(static_cast<std::size_t>(section_count), arc));
}

/// Five sections with rigid links before their arcs, unequal lengths and a tool behind the last
/// one, as sub-sections without bend; `kLinks`, `kArcs` and `kTool` are the same robot in pieces.
inline constexpr double kLinks[] = {0.01, 0.02, 0.0, 0.03, 0.015};
inline constexpr double kArcs[] = {0.1, 0.08, 0.12, 0.09, 0.1};
inline constexpr double kTool = 0.04;

inline ContinuumRobot linked_robot(double bend_angle_limit) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < 5; ++i) {
    SectionParameters section{.length = kLinks[i] + kArcs[i], .bend_angle_limit = bend_angle_limit};
    if (kLinks[i] > 0.0) {
      section.length_weights.push_back(kLinks[i]);
      section.angle_weights.push_back(0.0);
    }
    section.length_weights.push_back(kArcs[i]);
    section.angle_weights.push_back(1.0);
    if (i == 4) {
      section.length += kTool;
      section.length_weights.push_back(kTool);
      section.angle_weights.push_back(0.0);
    }
    sections.push_back(section);
  }
  return ContinuumRobot(sections);
}

/// Tip pose of `linked_robot` as rigid links, plain arcs and a tool.
inline Eigen::Isometry3d linked_tip_pose(SectionStates states) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  for (int i = 0; i < 5; ++i) {
    const auto k = static_cast<std::size_t>(i);
    X.translate(Eigen::Vector3d(0.0, 0.0, kLinks[k]));
    X = X * oracle_section_pose(Section({.length = kArcs[k]}), states[k]);
  }
  X.translate(Eigen::Vector3d(0.0, 0.0, kTool));
  return X;
}

/// Random bends up to `largest`, as the published experiment draws them; lengths anywhere.
inline std::vector<SectionState> random_bends(Random& random, const ContinuumRobot& robot,
                                              double largest) {
  std::vector<SectionState> states;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double extension = random.uniform(0.0, robot.section(i).variable_length());
    const double limit = robot.section(i).bend_angle_limit_at(extension);
    const double theta = random.uniform(0.0, std::min(largest, limit));
    states.push_back({theta, random.angle(), extension});
  }
  return states;
}

/// The solution checked from its states alone: limits, errors and status.
template <class Solver>
void check_honest(const Solver& solver, const TipTarget& target, const IkResult& result) {
  CHECK(solver.robot().within_limits(result.states));
  const Eigen::Isometry3d X_BE = oracle_tip_pose(solver.robot(), result.states, result.base);
  CHECK(result.position_error == Approx(position_error(X_BE, target)).margin(kAlgebraTolerance));
  CHECK(result.angle_error == Approx(angle_error(X_BE, target)).margin(kAlgebraTolerance));
  const bool within = result.position_error <= solver.options().position_tolerance &&
                      result.angle_error <= solver.options().angle_tolerance;
  CHECK(result.converged() == within);
  CHECK(result.iterations <= solver.options().max_iterations);
}

struct Outcome {
  double success_percent = 0.0;
  double mean_iterations = 0.0;  ///< of the successes
};

/// One cell of the published experiment: bends uniform up to `largest`, straight start, errors
/// recomputed with matrices.
template <class Solver>
Outcome published_experiment(Solver solver, double largest, int count) {
  Random random(2022);
  const ContinuumRobot& robot = solver.robot();
  int converged = 0;
  long iterations = 0;
  for (int k = 0; k < count; ++k) {
    const TipTarget target =
        target_of(robot, random_bends(random, robot, largest), TipTask::PositionAndDirection);
    const IkResult result = solver.solve(target, robot.straight());
    if (!result.converged()) continue;
    const Eigen::Isometry3d X_BE = oracle_tip_pose(robot, result.states);
    const bool met =
        position_error(X_BE, target) <= solver.options().position_tolerance + kAlgebraTolerance &&
        angle_error(X_BE, target) <= solver.options().angle_tolerance + kAlgebraTolerance &&
        robot.within_limits(result.states);
    REQUIRE(met);
    ++converged;
    iterations += result.iterations;
  }
  return {100.0 * converged / count, converged > 0 ? double(iterations) / converged : 0.0};
}

}  // namespace tendril::test
