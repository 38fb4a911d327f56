#pragma once

#include <optional>
#include <string_view>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/range.hpp"

// What every tip solver does alike. For the sources of solvers; users of a solver do not need it.
namespace tendril {

/// Throws ModelError `<object>: <field> = <value>, must be ...` unless the budget is >= 1 and both
/// tolerances are finite and > 0.
/// @param options  has max_iterations, position_tolerance [m] and angle_tolerance [rad]
template <class Options>
void require_solver_options(std::string_view object, const Options& options) {
  require(object, "max_iterations", options.max_iterations, {.low = 1});
  require(object, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(object, "angle_tolerance", options.angle_tolerance, kPositive, "rad");
}

/// The result of a solve that cannot begin (InvalidTarget, InvalidStart: infinite errors, the
/// states of `ContinuumRobot::straight`); nothing if it can. Starts of the wrong size, or with NaN
/// or infinity in them or in the base, are invalid; instead of a base that is not finite the
/// result has the base at feed 0 and spin 0. A target with a roll is invalid without `meets_roll`.
[[nodiscard]] std::optional<IkResult> refused_solve(const ContinuumRobot& robot,
                                                    const TipTarget& target, SectionStates start,
                                                    const BaseState& base,
                                                    bool meets_roll = false) noexcept;

/// The base of another start: of `base`, what the solve may change is drawn uniformly, the feed
/// in [0, feed_limit] with `feed_base`, then the spin of a base that spins for a target with a
/// roll.
[[nodiscard]] BaseState restart_base(const ContinuumRobot& robot, const TipTarget& target,
                                     BaseState base, bool feed_base, SplitMix64& random) noexcept;

/// Larger of the two errors in units of its tolerance: at most 1 when the target is met.
template <class Options>
[[nodiscard]] double error_ratio(const IkResult& result, const Options& options) noexcept {
  const double position_ratio = result.position_error / options.position_tolerance;
  const double angle_ratio = result.angle_error / options.angle_tolerance;
  return position_ratio < angle_ratio ? angle_ratio : position_ratio;
}

}  // namespace tendril
