#include "tendril/ik/levenberg_solver.hpp"

#include <limits>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {

LevenbergSolver::LevenbergSolver(const ContinuumRobot& robot, const LevenbergOptions& options)
    : robot_(robot),
      options_(options),
      descent_(robot, options.feed_base),
      trial_(static_cast<std::size_t>(robot.section_count())),
      best_(trial_.size()) {
  require_solver_options("levenberg options", options);
  require("levenberg options", "max_restarts", options.max_restarts, kNotNegative);
}

IkResult LevenbergSolver::solve(const TipTarget& target, SectionStates start,
                                const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base, true)) return *refusal;
  IkResult result;
  result.base = base;
  double best_cost = std::numeric_limits<double>::infinity();
  const auto descend = [&](SectionStates from, const BaseState& from_base, bool restarted) {
    descent_.place(from, from_base);
    const DescentEnd end =
        descent_.run(Descent::StopRule::GiveUpEarly, result.iterations, options_.max_iterations);
    // The cost weighs both errors, the tolerances each alone: what converged may cost more.
    if (end == DescentEnd::Converged || descent_.cost() < best_cost) {
      best_cost = descent_.cost();
      result.position_error = descent_.position_error();
      result.angle_error = descent_.angle_error();
      result.jumped = restarted;
      result.base = descent_.base();
      descent_.states(best_);
    }
    return end;
  };
  descent_.aim(target, options_.position_tolerance, options_.angle_tolerance);
  SplitMix64 random(options_.seed);
  DescentEnd end = descend(start, base, false);
  for (int restart = 0; restart < options_.max_restarts && end == DescentEnd::Stalled; ++restart) {
    random_states(robot_, random, trial_);
    end = descend(trial_, restart_base(robot_, target, base, options_.feed_base, random), true);
  }
  const bool met = result.position_error <= options_.position_tolerance &&
                   result.angle_error <= options_.angle_tolerance;
  result.status = met                              ? IkStatus::Converged
                  : end == DescentEnd::BudgetSpent ? IkStatus::MaxIterations
                                                   : IkStatus::Stalled;
  result.states = best_;
  return result;
}

}  // namespace tendril
