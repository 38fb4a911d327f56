#pragma once

#include <limits>
#include <vector>

#include "tendril/ik/reaching_support.hpp"
#include "tendril/ik/solver_support.hpp"

namespace tendril {

/// The outer loop of FABRIKc and chord FABRIK: passes to and fro over the chain of the sections
/// until the goal is met inside the limits, and the best pose seen. Lengths are those of the start.
/// `Derived` has, accessible to this class:
///
///     void load();              // what states_, the start, says about lengths and limits
///     void place();             // the chain on the pose states_
///     void forward_reach();     // tip to base
///     double backward_reach();  // base to tip; returns the largest move of a section end [m], and
///                               // says in inside_limits_ whether the pose is inside the limits
///     bool is_at_rest(double moved, int iteration) const;
///     void prepare_next(int iteration);  // after a pass that is not the last
///     Eigen::Vector3d tip_position() const, tip_tangent() const;
///     Posture posture(std::size_t i) const;  // of section i of the chain: what the bend follows
///     from void set_states(const std::vector<Posture>& postures);  // states_, inside the limits
template <class Derived, class Options, class Posture>
class ReachingSolver {
 public:
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept {
    if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
    target_ = target;
    base_state_ = base;
    goal_ =
        reaching_goal(robot_, target, base, options_.position_tolerance, options_.angle_tolerance);
    for (int i = 0; i < robot_.section_count(); ++i) states_[i] = robot_.clamped(i, start[i]);
    derived().load();
    best_score_ = std::numeric_limits<double>::infinity();
    is_bent_ = false;
    place();
    const IkResult at_start = result(IkStatus::MaxIterations, 0);
    if (at_start.converged()) return at_start;
    is_bent_ = bend_off_axis(robot_, goal_, base_state_, states_);
    if (is_bent_) place();

    for (int i = 1; i <= options_.max_iterations; ++i) {
      derived().forward_reach();
      const double moved = derived().backward_reach();
      keep_if_best();
      if (score_ <= 1.0) {
        const IkResult best = report_best(IkStatus::Stalled, i);
        if (best.converged() || !inside_limits_) return best;
      }
      if (derived().is_at_rest(moved, i)) return report_best(IkStatus::Stalled, i);
      derived().prepare_next(i);
    }
    return report_best(IkStatus::MaxIterations, options_.max_iterations);
  }

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 protected:
  ReachingSolver(const ContinuumRobot& robot, const Options& options)
      : robot_(robot),
        options_(options),
        states_(static_cast<std::size_t>(robot.section_count())),
        best_(states_.size()),
        last_(states_.size()) {}

  ContinuumRobot robot_;
  Options options_;

  // Of the running solve.
  std::vector<SectionState> states_;
  ReachingGoal goal_;
  BaseState base_state_;
  bool inside_limits_ = true;  // the pose of the last backward pass

 private:
  [[nodiscard]] Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  /// Step 0.
  void place() noexcept {
    derived().place();
    inside_limits_ = true;
    keep_if_best();
  }

  void keep_if_best() noexcept {
    score_ = goal_.score(derived().tip_position(), derived().tip_tangent());
    if (!inside_limits_ || !(score_ < best_score_)) return;
    best_score_ = score_;
    best_is_bent_ = is_bent_;
    for (std::size_t i = 0; i < best_.size(); ++i) best_[i] = derived().posture(i);
  }

  [[nodiscard]] IkResult result(IkStatus otherwise, int iterations) const noexcept {
    return judged(robot_, target_, base_state_, states_, options_.position_tolerance,
                  options_.angle_tolerance, otherwise, iterations);
  }

  /// The pose with these postures, inside the limits, and its errors.
  [[nodiscard]] IkResult report(const std::vector<Posture>& postures, bool is_bent,
                                IkStatus otherwise, int iterations) noexcept {
    derived().set_states(postures);
    IkResult pose = result(otherwise, iterations);
    pose.jumped = is_bent;
    return pose;
  }

  /// The better of the best pose inside the limits and, if the last one is outside, that one
  /// clamped.
  [[nodiscard]] IkResult report_best(IkStatus status, int iterations) noexcept {
    const IkResult best = report(best_, best_is_bent_, status, iterations);
    if (inside_limits_) return best;
    for (std::size_t i = 0; i < last_.size(); ++i) last_[i] = derived().posture(i);
    const IkResult clamped = report(last_, is_bent_, status, iterations);
    if (error_ratio(clamped, options_) < error_ratio(best, options_)) return clamped;
    return report(best_, best_is_bent_, status, iterations);
  }

  TipTarget target_;
  std::vector<Posture> best_, last_;
  bool is_bent_ = false, best_is_bent_ = false;  // off the axis: not the start's own pose
  double score_ = 0.0, best_score_ = 0.0;
};

}  // namespace tendril
