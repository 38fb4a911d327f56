#pragma once

#include <span>
#include <string>
#include <utility>
#include <variant>

#include "tendril/ik/any_solver.hpp"
#include "tendril/mobile/closed_form.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/fabrik_solver.hpp"

namespace tendril {

/// Any solver for a MobileRobot behind one type. Copies are independent of each other. One solver
/// serves one thread.
class AnyMobileSolver {
 public:
  explicit AnyMobileSolver(MobileFabrikSolver solver) : held_(std::move(solver)) {}
  explicit AnyMobileSolver(MobileClosedForm solver) : held_(std::move(solver)) {}

  /// Solves with the solver held; allocates and throws nothing.
  [[nodiscard]] MobileResult solve(const ToolTarget& target, const PlatformPose& base,
                                   JointAngles joints, const PlatformRule& rule = {}) noexcept {
    return std::visit([&](auto& solver) { return solver.solve(target, base, joints, rule); },
                      held_);
  }

 private:
  std::variant<MobileFabrikSolver, MobileClosedForm> held_;
};

struct MobileSolverInfo {
  const char* name;     ///< as users write it
  const char* summary;  ///< one line
};

/// Every solver for a MobileRobot, the default first.
[[nodiscard]] std::span<const MobileSolverInfo> mobile_solver_infos() noexcept;

/// The solver called `name`, one of `mobile_solver_infos()`. Throws ModelError for another name
/// (the text lists those that there are) and for options or robots that the solver refuses.
[[nodiscard]] AnyMobileSolver make_mobile_solver(const std::string& name, const MobileRobot& robot,
                                                 const SolverOptions& options = {});

/// The one for a continuum arm on a platform: "auto".
[[nodiscard]] MobileContinuumSolver make_mobile_solver(const std::string& name,
                                                       const MobileContinuum& robot,
                                                       const SolverOptions& options = {});

}  // namespace tendril
