#pragma once

#include <optional>
#include <string>

#include "tendril/ik/ik_result.hpp"

// What every tip solver does alike. For the solvers' sources; users of a solver do not need it.
namespace tendril {

/// Throws ModelError "<solver> options: <field> = <value>, must be ..." unless the budget is >= 1
/// and both tolerances are finite and > 0.
void require_solver_options(const std::string& solver, int max_iterations,
                            double position_tolerance, double angle_tolerance);

/// Throws ModelError "<solver> options: <field> = <value>, must be <allowed>".
[[noreturn]] void refuse_solver_option(const std::string& solver, const std::string& field,
                                       double value, const std::string& allowed);

/// The solution to a solve that cannot begin (InvalidTarget, InvalidStart: infinite errors, the
/// states of `ContinuumRobot::straight`); nothing if it can. Starts of wrong size or with NaN or
/// infinity in them or in the base are invalid; a base that is not finite is answered by the base
/// at rest.
[[nodiscard]] std::optional<IkResult> refused_solve(const ContinuumRobot& robot,
                                                    const TipTarget& target, SectionStates start,
                                                    const BaseState& base) noexcept;

}  // namespace tendril
