#include "tendril/ik/ik_result.hpp"

#include <cmath>

namespace tendril {

const char* to_string(IkStatus status) noexcept {
  switch (status) {
    case IkStatus::Converged:
      return "converged";
    case IkStatus::MaxIterations:
      return "max_iterations";
    case IkStatus::Stalled:
      return "stalled";
    case IkStatus::InvalidTarget:
      return "invalid_target";
    case IkStatus::InvalidStart:
      return "invalid_start";
  }
  return "unknown";
}

double position_error(const Eigen::Isometry3d& X_BE, const TipTarget& target) noexcept {
  return (X_BE.translation() - target.position()).norm();
}

double angle_error(const Eigen::Isometry3d& X_BE, const TipTarget& target) noexcept {
  if (target.task == TipTask::Position) return 0.0;
  const Eigen::Vector3d z_tip = X_BE.linear().col(2);
  const Eigen::Vector3d z_goal = target.direction();
  return std::atan2(z_tip.cross(z_goal).norm(), z_tip.dot(z_goal));
}

bool is_finite(const TipTarget& target) noexcept {
  return target.X_BG.matrix().allFinite() && std::isfinite(target.position().squaredNorm());
}

}  // namespace tendril
