#pragma once

#include <Eigen/Geometry>

namespace tendril {

/// The shortest rotation that brings the direction of `from` to that of `to`; neither must be zero.
/// For opposite directions, a half turn about one of the axes perpendicular to them. Compiled once,
/// because Eigen's function takes seconds to compile in every file that calls it.
[[nodiscard]] Eigen::Quaterniond rotation_between(const Eigen::Vector3d& from,
                                                  const Eigen::Vector3d& to) noexcept;

}  // namespace tendril
