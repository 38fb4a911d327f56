#pragma once

#include <Eigen/Geometry>
#include <span>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/mobile/robot.hpp"

namespace tendril {

/// Joint angles of a MobileRobot [rad]: yaw, hinges, roll.
using JointAngles = std::span<const double>;

/// Pose of the tool in the world; the tool axis is its x axis.
///
///     psi = heading + q_yaw,  b_i = b_(i-1) + q_i  (b_0 = 0: angles from the vertical)
///     rho = a + sum d_i sin b_i,  z = H + sum d_i cos b_i
///     p = (x, y) + R(heading) mount + rho (cos psi, sin psi)
///     R = Rz(psi) Ry(-e) Rx(q_roll),  e = pi/2 - b_last - tool_tilt
///
/// @param joints  joint_count() angles; limits are not checked
[[nodiscard]] Eigen::Isometry3d tool_pose(const MobileRobot& robot, const PlatformPose& base,
                                          JointAngles joints) noexcept;

/// Frames that `mobile_frames` gives: platform, yaw, one for each link, tool.
[[nodiscard]] inline int frame_count(const MobileRobot& robot) noexcept {
  return robot.link_count() + 3;
}

/// The poses X_WF of all frames, in the order of `frame_count`. Platform: on the floor, x forward,
/// z up. Yaw: on the yaw axis at the shoulder's height, x in the arm's plane. Link: at its hinge, z
/// along the link, y the hinge axis. Tool: as `tool_pose`.
/// @param frames  frame_count(robot) poses
void mobile_frames(const MobileRobot& robot, const PlatformPose& base, JointAngles joints,
                   std::span<Eigen::Isometry3d> frames) noexcept;

/// Tells whether all joints are finite and inside their limits.
[[nodiscard]] bool within_limits(const MobileRobot& robot, JointAngles joints,
                                 double tolerance = 1e-12) noexcept;

/// The orientation whose x axis points with azimuth `yaw` and elevation `pitch` (up is positive),
/// rotated by `roll` about it: Rz(yaw) Ry(-pitch) Rx(roll), [rad].
[[nodiscard]] Eigen::Matrix3d tool_orientation(double roll, double pitch, double yaw) noexcept;

/// Roll, pitch and yaw of an orientation [rad], the inverse of `tool_orientation`: pitch in [-pi/2,
/// pi/2], the others in [-pi, pi]. Roll is 0 for an axis within 1e-9 of the vertical.
[[nodiscard]] Eigen::Vector3d tool_angles(const Eigen::Matrix3d& R) noexcept;

}  // namespace tendril
