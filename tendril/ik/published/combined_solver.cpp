#include "tendril/ik/published/combined_solver.hpp"

#include <algorithm>

#include "tendril/ik/solver_support.hpp"

namespace tendril {
namespace {

CombinedOptions checked(const CombinedOptions& options) {
  require_solver_options("fabrikx-jacobian options", options);
  return options;
}

int fabrikx_budget(const CombinedOptions& options) {
  return options.max_iterations - options.max_iterations / 2;
}
int jacobian_budget(const CombinedOptions& options) { return options.max_iterations / 2; }

}  // namespace

CombinedSolver::CombinedSolver(const ContinuumRobot& robot, const CombinedOptions& options)
    : options_(checked(options)),
      fabrikx_(robot, {.max_iterations = fabrikx_budget(options),
                       .position_tolerance = options.position_tolerance,
                       .angle_tolerance = options.angle_tolerance,
                       .feed_base = options.feed_base}),
      jacobian_(robot, {.max_iterations = std::max(1, jacobian_budget(options)),
                        .position_tolerance = options.position_tolerance,
                        .angle_tolerance = options.angle_tolerance,
                        .feed_base = options.feed_base}),
      start_(static_cast<std::size_t>(robot.section_count())) {}

IkResult CombinedSolver::solve(const TipTarget& target, SectionStates start,
                               const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot(), target, start, base)) return *refusal;
  std::copy(start.begin(), start.end(), start_.begin());

  const IkResult first = fabrikx_.solve(target, start_, base);
  if (first.converged() || jacobian_budget(options_) == 0) return first;

  const IkResult second = jacobian_.solve(
      target,
      options_.second_start == SecondStart::GivenStart ? SectionStates(start_) : first.states,
      options_.second_start == SecondStart::GivenStart ? base : first.base);
  const bool second_is_better =
      second.converged() || error_ratio(second, options_) < error_ratio(first, options_);
  IkResult better = second_is_better ? second : first;
  better.iterations = first.iterations + second.iterations;
  better.status = second.converged()                        ? IkStatus::Converged
                  : first.status == IkStatus::MaxIterations ? IkStatus::MaxIterations
                                                            : second.status;
  return better;
}

}  // namespace tendril
