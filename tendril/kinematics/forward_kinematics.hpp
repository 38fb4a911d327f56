#pragma once

#include <Eigen/Geometry>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// Pose of the base of section 1 in the robot's base frame: shift along z by the feed, turn about z
/// by the spin.
[[nodiscard]] Eigen::Isometry3d base_pose(const BaseState& base) noexcept;

/// Pose of the tip in the robot's base frame, X_BE = Trans_z(h) Rz(omega0) B_1 ... B_N, where the
/// B_i of sections that turn on their bases twist what follows: (2.6), (2.7) without its last
/// factor, with which the spin would not turn the tip.
/// @param states  one state per section; inside the limits is not required
[[nodiscard]] Eigen::Isometry3d tip_pose(const ContinuumRobot& robot, SectionStates states,
                                         const BaseState& base = {}) noexcept;

/// Pose of the backbone of section `i` at `fraction` in [0, 1] of its arc length, in the robot's
/// base frame; without the twist of sections that turn.
[[nodiscard]] Eigen::Isometry3d backbone_pose(const ContinuumRobot& robot, SectionStates states,
                                              const BaseState& base, int i,
                                              double fraction) noexcept;

}  // namespace tendril
