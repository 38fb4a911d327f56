#include "tendril/ik/published/section_solver.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/ik/reaching_support.hpp"
#include "tendril/ik/solver_support.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

const SectionSolverOptions& checked(const ContinuumRobot& robot,
                                    const SectionSolverOptions& options) {
  constexpr const char* kObject = "section solver";
  require_solver_options(kObject, options);
  if (robot.section_count() != 1)
    refuse(kObject, "number of the robot's sections", robot.section_count(), "1");
  return options;
}

SectionReach section_of(const ContinuumRobot& robot, const SectionSolverOptions& options) {
  return {robot.section(0),
          options.method,
          {.max_iterations = options.max_iterations,
           .position_tolerance = options.position_tolerance,
           .angle_tolerance = options.angle_tolerance,
           .feed_limit = options.feed_base ? robot.base().feed_limit : 0.0},
          {},
          1};
}

}  // namespace

SectionSolver::SectionSolver(const ContinuumRobot& robot, const SectionSolverOptions& options)
    : robot_(robot), options_(checked(robot, options)), section_(section_of(robot, options)) {}

IkResult SectionSolver::solve(const TipTarget& target, SectionStates start,
                              const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  const auto judged_pose = [&](const SectionState& state, const BaseState& pose_base,
                               int iterations) {
    states_ = {state};
    const IkStatus otherwise =
        iterations >= options_.max_iterations ? IkStatus::MaxIterations : IkStatus::Stalled;
    return judged(robot_, target, pose_base, states_, options_.position_tolerance,
                  options_.angle_tolerance, otherwise, iterations);
  };
  const SectionState from = robot_.clamped(0, start.front());
  BaseState from_base = base;
  if (options_.feed_base) from_base.feed = std::clamp(base.feed, 0.0, robot_.base().feed_limit);
  IkResult at_start = judged_pose(from, from_base, 0);
  if (at_start.converged()) return at_start;

  const Eigen::Vector3d p = target.position();
  const double rho = hypotenuse(p.x(), p.y());
  const double phi = rho > kOnBaseAxis ? std::atan2(p.y(), p.x()) - base.spin : from.phi;
  const double z = options_.feed_base ? p.z() : p.z() - base.feed;
  const SectionIkResult found = section_.solve(rho, z, from.theta);
  const BaseState found_base{options_.feed_base ? found.feed : base.feed, base.spin};
  const int iterations = std::max(1, found.iterations);  // a closed form counts
  const IkResult result = judged_pose({found.theta, phi, found.extension}, found_base, iterations);
  if (result.converged() || error_ratio(result, options_) <= error_ratio(at_start, options_))
    return result;
  return judged_pose(from, from_base, iterations);
}

}  // namespace tendril
