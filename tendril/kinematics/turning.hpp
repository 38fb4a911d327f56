#pragma once

#include <numbers>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"

// Sections that turn on their bases (`SectionRotation::Turning`). The library calculates with the
// directions phi in frames that do not twist along the robot, so that whatever it does is the same
// for both rotations. Robot files, tables and Python have what a user sees and a motor is sent: phi
// in the section's own base frame, (2.6): the angle by which a section has turned, or the direction
// in which one that does not turn bends where those before have turned it. With psi the sum of the
// turns before the section
//
//     phi = phi_own + psi
//
// docs/theory/kinematics.md, "Sections that turn on their base". Tested by: kinematics_test.
namespace tendril {

/// Largest angle by which the drive of a section turns it, either way [rad].
inline constexpr double kTurnLimit = 4.0 * std::numbers::pi;

/// Replaces phi in the sections' own base frames by that in frames without twist.
void to_untwisted(const ContinuumRobot& robot, std::span<SectionState> states) noexcept;

/// The inverse; phi in (-pi, pi].
void to_own_frames(const ContinuumRobot& robot, std::span<SectionState> states) noexcept;

/// The states as users see them: a copy `to_own_frames`.
[[nodiscard]] std::vector<SectionState> in_own_frames(const ContinuumRobot& robot,
                                                      SectionStates states);

/// Angle by which all turns together twist the tip's frame about its z axis [rad]: phi, without
/// twist, of the last section that turns; 0 without one.
[[nodiscard]] double tip_twist(const ContinuumRobot& robot, SectionStates states) noexcept;

/// Roll of a frame [rad] in (-pi, pi]: its turn about its own z axis against the frame to which the
/// least rotation from the base's z axis to this one brings the base. Opposite to the base's z axis
/// the least rotation is taken about y.
[[nodiscard]] double roll_angle(const Eigen::Matrix3d& R) noexcept;

/// The frame with this z axis, of length 1, and roll: the inverse of `roll_angle`.
[[nodiscard]] Eigen::Matrix3d frame_with_roll(const Eigen::Vector3d& z, double roll) noexcept;

}  // namespace tendril
