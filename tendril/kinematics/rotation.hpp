#pragma once

#include <Eigen/Geometry>

namespace tendril {

/// The shortest rotation that brings the direction of `from` to that of `to`; neither must be zero.
/// For opposite directions, a half turn about one of the axes perpendicular to them. (Eigen's
/// FromTwoVectors finds that axis by a singular value decomposition, seconds of compile time.)
[[nodiscard]] Eigen::Quaterniond rotation_between(const Eigen::Vector3d& from,
                                                  const Eigen::Vector3d& to) noexcept;

/// The rotation by a rotation vector: about its direction by its length [rad].
[[nodiscard]] Eigen::Matrix3d rotation_by(const Eigen::Vector3d& vector) noexcept;

/// The rotation vector of a rotation: its inverse.
[[nodiscard]] Eigen::Vector3d rotation_vector(const Eigen::Matrix3d& R) noexcept;

/// Angle of the rotation from one orientation to another [rad], in [0, pi]. Accurate near 0, too.
[[nodiscard]] double rotation_angle(const Eigen::Matrix3d& from,
                                    const Eigen::Matrix3d& to) noexcept;

}  // namespace tendril
