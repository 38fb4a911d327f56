#pragma once

#include <array>
#include <span>
#include <vector>

#include "tendril/mobile/platform_rule.hpp"
#include "tendril/mobile/result.hpp"

// Common steps of the solvers for a MobileRobot. For their sources; users do not need it.
namespace tendril::mobile {

/// The angle plus the multiple of 2 pi that brings it into the limits, nearest to `near`; nothing
/// if there is none. Angles that rounding has put outside are clamped.
[[nodiscard]] std::optional<double> into_limits(double angle, const JointLimits& limits,
                                                double near) noexcept;

/// Problem to be solved: the target, and the start with its joints inside the limits.
struct Problem {
  const ToolTarget* target;
  PlatformPose base;
  JointAngles joints;
  PlatformRule rule;
};

/// A vertical plane of the arm, and all that follows from its azimuth. Plane
/// coordinates: abscissa along the azimuth from the target, height over the floor.
struct PlaneCase {
  ArmPlane plane = ArmPlane::Facing;
  MobileStatus refusal = MobileStatus::Converged;  ///< why it is refused; Converged if it is not
  double cos_psi = 1.0, sin_psi = 0.0;             ///< azimuth of the arm
  double last_angle = 0.0;                         ///< of the last link from the vertical [rad]
  double last_sin = 0.0, last_cos = 1.0;
  double yaw = 0.0, roll = 0.0, heading = 0.0;  ///< that the plane requires [rad]
  double mount_x = 0.0, mount_y = 0.0;  ///< yaw axis from the platform's origin, in the world
  double start_abscissa = 0.0;          ///< of the yaw axis at the start [m]
  double offset = 0.0;                  ///< of the yaw axis at the start from the plane [m]
};

inline constexpr std::size_t kMaxPlanes = 12;
struct PlaneCases {
  std::array<PlaneCase, kMaxPlanes> cases;
  std::size_t count = 0;
  [[nodiscard]] std::span<const PlaneCase> view() const noexcept { return {cases.data(), count}; }
};

/// The planes in the order in which they are tried.
/// @param nearest_first  the plane nearest to the arm's own at the start before the facing one
[[nodiscard]] PlaneCases plane_cases(const MobileRobot& robot, const Problem& problem,
                                     double position_tolerance, bool nearest_first) noexcept;

/// The base pose at which the yaw axis has the given abscissa.
[[nodiscard]] PlatformPose base_at(const PlaneCase& plane, const Problem& problem,
                                   double abscissa) noexcept;

[[nodiscard]] inline bool allowed(const PlaneCase& plane, const Problem& problem,
                                  double abscissa) noexcept {
  return problem.rule.frozen || problem.rule.allows == nullptr ||
         problem.rule(base_at(plane, problem, abscissa));
}

/// The refusal of a solve that cannot begin; Converged if it can. Also clamps the start's joints
/// into `joints`.
[[nodiscard]] MobileStatus begin(const MobileRobot& robot, const ToolTarget& target,
                                 const PlatformPose& base, JointAngles start, bool check_floor,
                                 std::span<double> joints) noexcept;

/// Sets base, joints, errors and travel of a result by forward kinematics.
void evaluate(const MobileRobot& robot, const Problem& problem, const PlatformPose& base,
              JointAngles joints, MobileResult& result) noexcept;

/// Tells whether every hinge is over the floor. @param joints  yaw, hinges, roll
[[nodiscard]] bool over_floor(const MobileRobot& robot, JointAngles joints) noexcept;

/// The most informative of the planes' refusals, when all are refused.
[[nodiscard]] MobileStatus common_refusal(std::span<const PlaneCase> planes) noexcept;

}  // namespace tendril::mobile
