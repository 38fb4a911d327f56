#include "tendril/ik/ik_result.hpp"

#include <cmath>
#include <iterator>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/statuses.hpp"

namespace tendril {

namespace {

constexpr StatusInfo kStatuses[]{
    {"converged", "Both errors are within tolerance and all limits hold."},
    {"max_iterations", "The budget of iterations is spent.",
     "Raise `max_iterations`, or continue from the result."},
    {"stalled", "The error does not decrease any more: the target is probably out of reach.",
     "Move the target closer, or start from another pose."},
    {"invalid_target",
     "A number of the target is not finite, or its square is not; or the target has a roll, which "
     "this solver does not meet.",
     "Check the target."},
    {"invalid_start", "The start has the wrong number of states or a number that is not finite.",
     "Check the start."}};
static_assert(std::size(kStatuses) == static_cast<std::size_t>(IkStatus::InvalidStart) + 1);

}  // namespace

std::span<const StatusInfo> ik_statuses() noexcept { return kStatuses; }

const char* to_string(IkStatus status) noexcept {
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kStatuses) ? kStatuses[index].name : "unknown";
}

double position_error(const Eigen::Isometry3d& X_BE, const TipTarget& target) noexcept {
  return (X_BE.translation() - target.position()).norm();
}

double angle_error(const Eigen::Isometry3d& X_BE, const TipTarget& target) noexcept {
  if (target.task == TipTask::Position) return 0.0;
  if (target.task == TipTask::Pose) return rotation_angle(X_BE.linear(), target.X_BG.linear());
  const Eigen::Vector3d z_tip = X_BE.linear().col(2);
  const Eigen::Vector3d z_goal = target.direction();
  return std::atan2(z_tip.cross(z_goal).norm(), z_tip.dot(z_goal));
}

bool is_finite(const TipTarget& target) noexcept {
  return target.X_BG.matrix().allFinite() && std::isfinite(target.position().squaredNorm());
}

}  // namespace tendril
