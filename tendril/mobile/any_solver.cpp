#include "tendril/mobile/any_solver.hpp"

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kFabrik = "fabrik";
constexpr const char* kClosedForm = "closed_form";

constexpr MobileSolverInfo kInfos[] = {
    {kAuto, "forward and backward reaching; if it fails, the closed form (three links)"},
    {kFabrik, "forward and backward reaching alone"},
    {kClosedForm, "the pose of least cost; robots of three links"}};

}  // namespace

std::span<const MobileSolverInfo> mobile_solver_infos() noexcept { return kInfos; }

AnyMobileSolver make_mobile_solver(const std::string& name, const MobileRobot& robot,
                                   const SolverOptions& options) {
  if (options.max_restarts)
    throw ModelError("max_restarts: solvers of a mobile robot have no restarts");
  if (name == kClosedForm) {
    if (options.max_iterations != 0)
      throw ModelError("max_iterations: the solver closed_form has no iterations");
    return AnyMobileSolver(
        MobileClosedForm(robot, {.position_tolerance = options.position_tolerance,
                                 .angle_tolerance = options.angle_tolerance}));
  }
  if (name != kAuto && name != kFabrik) {
    std::string names;
    for (const MobileSolverInfo& info : kInfos)
      names += (names.empty() ? "" : ", ") + std::string(info.name);
    throw ModelError("solver = \"" + name + "\", for a mobile robot must be one of " + names);
  }
  MobileFabrikOptions own;
  own.position_tolerance = options.position_tolerance;
  own.angle_tolerance = options.angle_tolerance;
  own.fallback = name == kAuto;
  if (options.max_iterations != 0) own.max_iterations = options.max_iterations;
  return AnyMobileSolver(MobileFabrikSolver(robot, own));
}

MobileContinuumSolver make_mobile_solver(const std::string& name, const MobileContinuum& robot,
                                         const SolverOptions& options) {
  if (name != kAuto)
    throw ModelError("solver = \"" + name + "\", for a continuum arm on a platform must be auto");
  MobileContinuumOptions own;
  own.arm.position_tolerance = options.position_tolerance;
  own.arm.angle_tolerance = options.angle_tolerance;
  if (options.max_iterations != 0) own.arm.max_iterations = options.max_iterations;
  own.arm.max_restarts = options.max_restarts.value_or(own.arm.max_restarts);
  own.arm.feed_base = options.feed_base && robot.arm.base().feed_limit > 0.0;
  return MobileContinuumSolver(robot, own);
}

}  // namespace tendril
