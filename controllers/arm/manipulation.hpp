#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// Parts of the controllers whose tip moves an object of the scene.

/// Returns these rows and those of ReachController without avoidance, with an `integral_limit` of
/// 1: an object deflects the arm more than its weight does.
[[nodiscard]] std::vector<SettingInfo> manipulation_settings(std::span<const SettingInfo> own);

/// Measures the object that a setting names: obstacle 0 of the measurements. Returns the radius of
/// its bounding sphere [m]. Throws ModelError if it is not one geom that moves.
[[nodiscard]] double measure_object(const ArmContext& context, const char* setting);

/// A step that is no longer than `length` [m].
[[nodiscard]] inline Eigen::Vector3d limited(const Eigen::Vector3d& step, double length) noexcept {
  const double norm = step.norm();
  return norm > length ? Eigen::Vector3d(step * (length / norm)) : step;
}

}  // namespace tendril
