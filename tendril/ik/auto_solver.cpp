#include "tendril/ik/auto_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {
namespace {

using StopRule = Descent::StopRule;
using End = DescentEnd;

constexpr int kMaxForApproach = 400;     // iterations reserved for the closest pose
constexpr int kApproachStarts = 4;       // of the search for the closest pose
constexpr double kFarthestTarget = 3.0;  // of the reach, for the closest pose

}  // namespace

AutoSolver::AutoSolver(const ContinuumRobot& robot, const AutoOptions& options)
    : robot_(robot),
      options_(options),
      reach_(robot.max_length()),
      descent_(robot, options.feed_base),
      start_(static_cast<std::size_t>(robot.section_count())),
      trial_(start_.size()),
      best_(start_.size()) {
  require_solver_options("auto options", options);
  require("auto options", "max_restarts", options.max_restarts, kNotNegative);
  if (!(options.jump_limit > 0.0))  // infinity: nothing is a jump
    refuse("auto options", "jump_limit", options.jump_limit, "> 0", "rad");
}

IkResult AutoSolver::solve(const TipTarget& target, SectionStates start,
                           const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base, true)) return *refusal;
  std::copy(start.begin(), start.end(), start_.begin());  // it may be the previous solution
  IkResult result;
  Best best{std::numeric_limits<double>::infinity(), base};

  // A descent from the start, then from poses elsewhere.
  const double feed_range = options_.feed_base ? robot_.base().feed_limit : 0.0;
  const Eigen::Vector3d from_base = target.position() - Eigen::Vector3d(0.0, 0.0, base.feed);
  const bool out_of_reach = from_base.norm() > reach_ + feed_range;
  const int search_budget =
      options_.max_iterations - std::min(options_.max_iterations / 4, kMaxForApproach);
  SplitMix64 random(options_.seed);
  descent_.aim(target, options_.position_tolerance, options_.angle_tolerance);
  descent_.place(start_, base);
  descent_.mark();
  End end = descent_.run(StopRule::GiveUpEarly, result.iterations, search_budget);
  const int restarts = out_of_reach ? 0 : options_.max_restarts;
  for (int restart = 0; restart < restarts && end == End::Stalled; ++restart) {
    keep_if_better(descent_.position_error(), best);
    random_states(robot_, random, trial_);
    descent_.place(trial_, restart_base(robot_, target, base, options_.feed_base, random));
    end = descent_.run(StopRule::GiveUpEarly, result.iterations, search_budget);
  }

  if (end == End::Converged) {
    if (options_.preference != Preference::None) {
      const bool least_change = options_.preference == Preference::LeastChange;
      BaseState preferred_base = base;
      if (!least_change) preferred_base.feed = 0.5 * feed_range;
      descent_.relax(least_change ? SectionStates(start_) : robot_.straight(), preferred_base,
                     options_.preference != Preference::Straight, result.iterations,
                     options_.max_iterations);
    }
    best.base = descent_.base();
    descent_.states(best_);
  } else {
    keep_if_better(descent_.position_error(), best);
    approach(target, base, best, result.iterations);
    descent_.aim(target, options_.position_tolerance, options_.angle_tolerance);
    descent_.place(best_, best.base);
    descent_.measure();
  }
  result.position_error = descent_.position_error();
  result.angle_error = descent_.angle_error();
  const bool met = result.position_error <= options_.position_tolerance &&
                   result.angle_error <= options_.angle_tolerance;
  result.status = met                                            ? IkStatus::Converged
                  : result.iterations >= options_.max_iterations ? IkStatus::MaxIterations
                  : end == End::BudgetSpent                      ? IkStatus::MaxIterations
                                                                 : IkStatus::Stalled;
  result.base = best.base;
  result.states = best_;
  result.jumped = descent_.is_beyond(options_.jump_limit);
  return result;
}

void AutoSolver::keep_if_better(double score, Best& best) noexcept {
  if (!(score < best.score)) return;
  best.score = score;
  best.base = descent_.base();
  descent_.states(best_);
}

/// Lets the position alone come as close as it can, from the best pose, the start and poses
/// elsewhere.
void AutoSolver::approach(const TipTarget& target, const BaseState& base, Best& best,
                          int& iterations) noexcept {
  TipTarget position{.X_BG = target.X_BG, .task = TipTask::Position};
  const Eigen::Vector3d origin(0.0, 0.0, base.feed);
  const Eigen::Vector3d offset = target.position() - origin;
  const double farthest = kFarthestTarget * reach_;
  if (offset.norm() > farthest)
    position.X_BG.translation() = origin + offset.normalized() * farthest;
  descent_.aim(position, options_.position_tolerance, options_.angle_tolerance);
  descent_.place(best_, best.base);
  descent_.measure();
  best.score = descent_.position_error();  // of the target as moved above
  SplitMix64 random(options_.seed);
  const int starts = options_.max_restarts > 0 ? kApproachStarts : 1;
  for (int start = 0; start < starts; ++start) {
    const int left = options_.max_iterations - iterations;
    if (left <= 0) return;
    const int budget = std::max(1, left / (starts - start));
    if (start == 0) {
      descent_.place(best_, best.base);
    } else if (start == 1) {
      descent_.place(start_, base);
    } else {
      random_states(robot_, random, trial_);
      descent_.place(trial_, base);
    }
    (void)descent_.run(StopRule::RunToConvergence, iterations, iterations + budget);
    keep_if_better(descent_.position_error(), best);
  }
}

}  // namespace tendril
