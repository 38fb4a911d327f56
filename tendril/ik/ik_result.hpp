#pragma once

#include <Eigen/Geometry>
#include <concepts>
#include <cstdint>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// Part of the goal pose that a solver must meet.
enum class TipTask : std::uint8_t {
  Position,              ///< 3 equations
  PositionAndDirection,  ///< 5 equations: position and the tip's z axis
  Pose,                  ///< 6 equations: the roll about that axis too; `SolverInfo::meets_roll`
};

/// The goal of every tip solver.
struct TipTarget {
  Eigen::Isometry3d X_BG =
      Eigen::Isometry3d::Identity();  ///< goal pose in the robot's base frame [m]
  TipTask task = TipTask::Position;

  [[nodiscard]] Eigen::Vector3d position() const noexcept { return X_BG.translation(); }
  [[nodiscard]] Eigen::Vector3d direction() const noexcept { return X_BG.linear().col(2); }
};

enum class IkStatus : std::uint8_t {
  Converged,  ///< both errors, recomputed by forward kinematics, are within tolerance, limits hold
  MaxIterations,  ///< the budget is spent
  Stalled,        ///< no progress any more
  InvalidTarget,  ///< NaN or infinity in the target, or in the square of its distance; a roll for a
                  ///< solver that meets none
  InvalidStart,   ///< wrong number of start states, or NaN in them
};
[[nodiscard]] const char* to_string(IkStatus status) noexcept;

/// Result of every tip solver. The errors are recomputed from `states` by forward kinematics.
struct IkResult {
  IkStatus status = IkStatus::InvalidTarget;
  int iterations = 0;           ///< iterations that ran
  double position_error = 0.0;  ///< [m]
  double angle_error = 0.0;     ///< [rad]; 0 when the direction is free
  bool jumped = false;   ///< the pose returned was found from another start than the given one, or
                         ///< exceeds the solver's jump limit: it need not be near the start
  BaseState base;        ///< feed and spin of the solution
  SectionStates states;  ///< best iterate, inside limits; valid until the solver's next call
  [[nodiscard]] bool converged() const noexcept { return status == IkStatus::Converged; }
};

/// Distance of a tip pose from the target's position [m].
[[nodiscard]] double position_error(const Eigen::Isometry3d& X_BE,
                                    const TipTarget& target) noexcept;

/// Angle between the tip's z axis and the desired direction, or of the rotation between the tip's
/// frame and the desired one [rad] in [0, pi]; 0 when the direction is free. Uses atan2, which
/// keeps its digits near 0.
[[nodiscard]] double angle_error(const Eigen::Isometry3d& X_BE, const TipTarget& target) noexcept;

/// Tells whether the target is a number that a solver can work with: finite, the square of its
/// distance too.
[[nodiscard]] bool is_finite(const TipTarget& target) noexcept;

/// One concept for all tip solvers. `start` has one state per section.
///
/// A new solver copies the robot, has `options()` with the fields max_iterations,
/// position_tolerance and angle_tolerance, and uses tendril/ik/solver_support.hpp:
/// `require_solver_options` in its constructor and `refused_solve` first in `solve`. A row in
/// any_solver.cpp makes it known by name to programs, batches and the laws that every solver keeps
/// (tests/ik/solver_laws_test.cpp); those of published methods kept for comparison are in
/// tendril/ik/published.
template <class S>
concept IkSolver = std::copyable<S> && requires(S solver, const S& fixed, const TipTarget& target,
                                                SectionStates start, const BaseState& base) {
  { solver.solve(target, start, base) }
  noexcept->std::same_as<IkResult>;
  { fixed.robot() }
  noexcept->std::same_as<const ContinuumRobot&>;
};

}  // namespace tendril
