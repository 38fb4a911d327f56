#pragma once

#include <vector>

#include "tendril/ik/tip_descent.hpp"

namespace tendril {

/// One descent of bounded Levenberg-Marquardt towards a tip target: the engine of LevenbergSolver
/// and AutoSolver, not a solver by itself. The rows are those of the tip, so the system is 3 x 3,
/// 5 x 5 or 6 x 6 whatever the number of sections.
class Descent : public TipDescent<Descent, 6> {
 public:
  /// Rule for the end of a descent that still gains a little.
  enum class StopRule {
    GiveUpEarly,       ///< a slow descent rarely meets the target, and another start may
    RunToConvergence,  ///< the closest pose is desired
  };

  /// @param free_feed  the base feed is a coordinate too, within [0, feed_limit]. The spin of a
  /// base that has one is, for targets with a roll.
  explicit Descent(const ContinuumRobot& robot, bool free_feed = false);

  /// Descends until the target is met, nothing helps any more, or `iterations` has reached
  /// `max_iterations`. Counts one iteration per tip pose evaluated after the start.
  [[nodiscard]] DescentEnd run(StopRule stall_timeout, int& iterations,
                               int max_iterations) noexcept;

  /// Remembers the pose placed, and whether the current pose is farther from it than `limit` [rad]
  /// in the bend vector of a section or in the spin, or in a length or the feed by length_scale().
  void mark() noexcept;
  [[nodiscard]] bool is_beyond(double limit) const noexcept;

  /// Moves, from a pose that meets the target, towards `preferred` as far as the target allows (at
  /// least to where the steps gain little) and counts iterations as `run`. Without `lengths` only
  /// the bends count. The pose meets the target afterwards too.
  void relax(SectionStates preferred, const BaseState& preferred_base, bool lengths,
             int& iterations, int max_iterations) noexcept;

 private:
  friend class TipDescent<Descent, 6>;

  enum class Limits { Active, Ignored };
  [[nodiscard]] double evaluate() noexcept { return evaluate_tip(tip_residual()); }
  [[nodiscard]] bool is_met() const noexcept { return is_within_tolerance(tip_residual()); }
  void differentiate() noexcept { differentiate(Limits::Active); }
  void differentiate(Limits limits) noexcept;
  void step(double damping) noexcept { step(damping, previous_residual_); }
  void step(double damping, const Row& residual) noexcept;
  template <class Function>
  void with_rows(Function function) const noexcept;

  [[nodiscard]] double distance_to_preferred() const noexcept;
  void step_to_preferred(double fraction) noexcept;

  std::vector<Coordinates> preferred_, before_, marked_;
  double preferred_feed_ = 0.0;
  BaseState marked_base_;
  bool prefer_lengths_ = false;
};

}  // namespace tendril
