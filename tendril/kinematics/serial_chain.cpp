#include "tendril/kinematics/serial_chain.hpp"

#include <string>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// X times the motion of a joint.
void move(const ChainJoint& joint, double position, Eigen::Isometry3d& X) noexcept {
  X = X * joint.X_PJ;
  const double moved = position - joint.zero;
  if (joint.is_slide)
    X.translation() += X.linear() * (moved * joint.axis);
  else
    X.linear() = X.linear() * Eigen::AngleAxisd(moved, joint.axis).toRotationMatrix();
}

}  // namespace

SerialChain::SerialChain(std::vector<ChainJoint> joints, const Eigen::Isometry3d& X_end)
    : joints_(std::move(joints)), X_end_(X_end) {
  if (joints_.size() > kMaxJoints)
    throw ModelError("chain: " + std::to_string(joints_.size()) + " joints: must be at most " +
                     std::to_string(kMaxJoints));
}

Eigen::Isometry3d SerialChain::pose(
    const Eigen::Ref<const Eigen::VectorXd>& positions) const noexcept {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  Eigen::Index j = 0;
  for (const ChainJoint& joint : joints_) move(joint, positions[j++], X);
  return X * X_end_;
}

Eigen::Isometry3d SerialChain::pose(const Eigen::Ref<const Eigen::VectorXd>& positions,
                                    Eigen::Ref<Eigen::Matrix3Xd> axes,
                                    Eigen::Ref<Eigen::Matrix3Xd> anchors) const noexcept {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  Eigen::Index j = 0;
  for (const ChainJoint& joint : joints_) {
    move(joint, positions[j], X);
    axes.col(j) = X.linear() * joint.axis;
    anchors.col(j) = X.translation();
    ++j;
  }
  return X * X_end_;
}

}  // namespace tendril
