#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <limits>
#include <vector>

namespace tendril {

/// A joint of a chain of rigid links.
struct ChainJoint {
  /// Frame of the joint in that of the joint before, or in the root of the chain: its origin is on
  /// the axis. Every joint moves its own frame.
  Eigen::Isometry3d X_PJ = Eigen::Isometry3d::Identity();
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();  ///< unit, in J
  bool is_slide = false;
  double zero = 0.0;  ///< position at which J is at X_PJ [rad], [m]
  double min = -std::numeric_limits<double>::infinity(),
         max = std::numeric_limits<double>::infinity();  ///< of its position
};

/// Rigid links in a row, such as a robot arm with the base of a continuum arm on its flange:
///
///     X_RB(p) = X_1 M_1(p_1) ... X_m M_m(p_m) X_end,
///
/// where M_j turns by p_j - zero_j about the axis of joint j, or shifts along it.
class SerialChain {
 public:
  static constexpr int kMaxJoints = 16;
  /// One number for each joint [rad], [m]; without an allocation.
  using Positions = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxJoints, 1>;

  /// No joints: B is R.
  SerialChain() = default;
  /// Throws ModelError for more than kMaxJoints.
  /// @param X_end  frame B at the end in that of the last joint
  SerialChain(std::vector<ChainJoint> joints, const Eigen::Isometry3d& X_end);

  [[nodiscard]] int joint_count() const noexcept { return static_cast<int>(joints_.size()); }
  [[nodiscard]] const ChainJoint& joint(int j) const noexcept {
    return joints_[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] const Eigen::Isometry3d& end() const noexcept { return X_end_; }

  /// Pose of the end in the root frame.
  /// @param positions  one for each joint [rad], [m]
  [[nodiscard]] Eigen::Isometry3d pose(
      const Eigen::Ref<const Eigen::VectorXd>& positions) const noexcept;
  /// The same, and unit vectors along the axes and points on them, root frame; a column each. A
  /// point p of the end moves by axis x (p - anchor) per radian of a hinge, by the axis per meter
  /// of a slide.
  [[nodiscard]] Eigen::Isometry3d pose(const Eigen::Ref<const Eigen::VectorXd>& positions,
                                       Eigen::Ref<Eigen::Matrix3Xd> axes,
                                       Eigen::Ref<Eigen::Matrix3Xd> anchors) const noexcept;

 private:
  std::vector<ChainJoint> joints_;
  Eigen::Isometry3d X_end_ = Eigen::Isometry3d::Identity();
};

}  // namespace tendril
