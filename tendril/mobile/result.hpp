#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <optional>

#include "tendril/mobile/kinematics.hpp"

namespace tendril {

/// The goal of the solvers for a MobileRobot: position and full orientation of the tool.
struct ToolTarget {
  /// Goal pose in the world [m]; the tool axis is its x axis.
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
  /// Azimuth of the arm's plane to try first where the tool is vertical and any would do [rad];
  /// none: that of the arm at the start.
  std::optional<double> azimuth = {};
};

/// The target at `position` [m] with the orientation of `tool_orientation`, and its yaw as azimuth.
[[nodiscard]] ToolTarget tool_target(const Eigen::Vector3d& position, double roll, double pitch,
                                     double yaw) noexcept;

enum class MobileStatus : std::uint8_t {
  Converged,          ///< both errors, by forward kinematics, are within tolerance; limits hold
  Stalled,            ///< every attempt failed; nothing says that the target cannot be reached
  WrongOrientation,   ///< the printed algorithm's own test is met, but the orientation is not
  InvalidTarget,      ///< NaN, infinity, a number whose square is none, azimuth above 1e6 rad
  InvalidRotation,    ///< the target's 3 x 3 block is no rotation matrix
  InvalidStart,       ///< wrong number of joints, NaN or infinity, heading above 1e6 rad
  UnderFloor,         ///< the tool point or the last link's start would be under the floor
  UnreachableHeight,  ///< the wrist would be too high or too low for the other links
  UnreachableRoll,    ///< the roll joint's range holds the orientation in no arm plane
  UnreachableLimits,  ///< no admissible posture exists: proven in closed form
  BaseBlocked,        ///< it could be reached, but from no allowed base pose
};
[[nodiscard]] const char* to_string(MobileStatus status) noexcept;

/// Vertical plane through the target that the arm lies in.
enum class ArmPlane : std::uint8_t {
  Facing,    ///< the tool axis points away from the arm's yaw axis: azimuth `yaw`
  Opposite,  ///< the other side: azimuth yaw + pi
  Free,      ///< the tool is vertical: any azimuth
};
[[nodiscard]] const char* to_string(ArmPlane plane) noexcept;

/// Result of the solvers for a MobileRobot. The errors are recomputed from `base` and `joints` by
/// forward kinematics, with the target's rotation matrix.
struct MobileResult {
  MobileStatus status = MobileStatus::InvalidTarget;
  double position_error = 0.0;  ///< [m]; infinite when nothing was tried
  double angle_error = 0.0;     ///< [rad]; infinite when nothing was tried
  PlatformPose base{};          ///< of the best pose found
  JointAngles joints{};         ///< inside the limits; valid until the solver's next call
  double base_travel = 0.0;     ///< distance between the platform's origins, start to solution [m]
  double heading_change = 0.0;  ///< [rad], in [-pi, pi]
  int iterations = 0;           ///< of all attempts; closed form: postures evaluated
  int attempts = 0;             ///< arm planes and starts tried
  int base_shifts = 0;          ///< base shifts by the error, of all attempts
  int limit_shifts = 0;         ///< base shifts for a joint at its limit, of all attempts
  ArmPlane plane = ArmPlane::Facing;
  bool fallback = false;  ///< found by the closed form after every attempt had failed
  [[nodiscard]] bool converged() const noexcept { return status == MobileStatus::Converged; }
};

}  // namespace tendril
