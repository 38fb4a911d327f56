#pragma once

#include <cstdint>
#include <vector>

#include "tendril/ik/descent.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// Use of the freedom that the target leaves.
enum class Preference : std::uint8_t {
  None,         ///< the pose that the descent ends at
  Straight,     ///< the least bending (sum of theta^2); lengths as they come
  MidRange,     ///< near straight sections at half of their variable length: far from all limits
  LeastChange,  ///< near the start
};

struct AutoOptions {                 ///< every field has a working default
  int max_iterations = 3000;         ///< tip poses evaluated in all, >= 1: bounds the worst case
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  int max_restarts = 1000;  ///< from random poses, while the budget lasts, >= 0; 0: only from the
                            ///< start, for tracking: no jump to a pose elsewhere
  double jump_limit = 0.5;  ///< [rad], > 0: larger changes of a section's bend are called jumps; a
                            ///< length counts as `bend` by half of the mean section length
  Preference preference = Preference::None;
  bool feed_base = false;  ///< the base feed is solved for too, within [0, feed_limit]
  std::uint64_t seed = 1;  ///< of the restarts; the same seed gives the same solution
};

/// The default solver: bounded Levenberg-Marquardt from the start, then from seeded random poses,
/// then, if nothing meets the target, the closest pose in position.
///
/// - From a start near the solution it ends near the start; where it does not, `jumped` says so:
///   without it, every section's bend vector is within `jump_limit` of the start's.
/// - If no descent meets the target, the result is the admissible pose found whose tip is closest
/// in
///   position; a quarter of the budget is reserved for finding it. Stalled when all descents
///   stalled, MaxIterations when the budget ended them. Targets farther from the base than the
///   robot is long are not searched for. For targets farther than three times its length, "closest"
///   is evaluated at that distance.
/// - One iteration is one tip pose with, mostly, its Jacobian and a 5 x 5 solve; `max_iterations`
///   bounds them, preference and closest pose included.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied. Not in the sources.
class AutoSolver {
 public:
  explicit AutoSolver(const ContinuumRobot& robot, const AutoOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). Converged with 0 iterations if the start meets the target and nothing
  /// is preferred. The base's spin is taken as given, and its feed unless `feed_base`.
  /// InvalidTarget and InvalidStart as FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const AutoOptions& options() const noexcept { return options_; }

 private:
  struct Best {
    double score;
    BaseState base;
  };
  void keep_if_better(double score, Best& best) noexcept;
  void approach(const TipTarget& target, const BaseState& base, Best& best,
                int& iterations) noexcept;

  ContinuumRobot robot_;
  AutoOptions options_;
  double reach_;  // [m] no tip is farther from the base
  Descent descent_;
  std::vector<SectionState> start_, trial_, best_;
};

}  // namespace tendril
