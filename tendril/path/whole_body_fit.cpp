#include "tendril/path/whole_body_fit.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {
namespace {

constexpr int kPasses = 4;                // of a step: until no more limits are reached
constexpr double kLimitTolerance = 1e-9;  // [rad], [m]

}  // namespace

WholeBodyFit::WholeBodyFit(const ContinuumRobot& robot, const SerialChain& chain,
                           const WholeBodyOptions& options)
    : robot_(robot),
      chain_(chain),
      options_(options),
      points_(static_cast<std::size_t>(kPointsPerSection * robot.section_count())),
      deflections_(points_.size(), Eigen::Vector3d::Zero()),
      axes_(3, chain.joint_count()),
      anchors_(3, chain.joint_count()),
      jacobian_(6, robot.coordinate_count()),
      bend_jacobian_(3, 2 * robot.section_count()),
      point_jacobian_(3, chain.joint_count() + 2 * robot.section_count()),
      step_(point_jacobian_.cols()) {}

double WholeBodyFit::length(std::span<const SectionState> states) const noexcept {
  double sum = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) sum += length(i, states);
  return sum;
}

void WholeBodyFit::set_deflection(const Eigen::Ref<const Eigen::Matrix3Xd>& of_sections) noexcept {
  Eigen::Vector3d before = Eigen::Vector3d::Zero();
  for (int i = 0, p = 0; i < robot_.section_count(); ++i) {
    for (int k = 1; k <= kPointsPerSection; ++k, ++p)
      deflections_[static_cast<std::size_t>(p)] =
          before + static_cast<double>(k) / kPointsPerSection * of_sections.col(i);
    before += of_sections.col(i);
  }
}

double WholeBodyFit::weight(double s, double entry, double step) const noexcept {
  const double past = std::clamp((s - entry) / step + 1.0, 0.0, 1.0);
  return options_.free_weight + (1.0 - options_.free_weight) * past;
}

Eigen::Vector3d WholeBodyFit::point(int section, int k,
                                    std::span<const SectionState> states) const noexcept {
  const double fraction = static_cast<double>(k) / kPointsPerSection;
  return backbone_pose(robot_, states, {}, section, fraction).translation() +
         deflections_[static_cast<std::size_t>(kPointsPerSection * section + k - 1)];
}

double WholeBodyFit::reach(const Eigen::Vector3d& target, Eigen::Ref<Eigen::VectorXd> joints,
                           std::span<SectionState> states) noexcept {
  for (Point& point : points_) point.weight = 0.0;
  points_.back() = {target, 1.0};
  return solve(joints, states);
}

double WholeBodyFit::solve(Eigen::Ref<Eigen::VectorXd> joints,
                           std::span<SectionState> states) noexcept {
  for (int i = 0; i < options_.iterations; ++i) step(joints, states);
  return tip_distance(points_.back().target, joints, states);
}

double WholeBodyFit::tip_distance(const Eigen::Vector3d& target,
                                  const Eigen::Ref<const Eigen::VectorXd>& joints,
                                  std::span<const SectionState> states) const noexcept {
  const int last = robot_.section_count() - 1;
  return (chain_.pose(joints) * point(last, kPointsPerSection, states) - target).norm();
}

void WholeBodyFit::step(Eigen::Ref<Eigen::VectorXd> joints,
                        std::span<SectionState> states) noexcept {
  const int m = chain_.joint_count();
  const Eigen::Isometry3d X_RB = chain_.pose(joints, axes_, anchors_);
  step_.set_zero();
  for (std::size_t p = 0; p < points_.size(); ++p) {
    const auto [target, weight] = points_[p];
    if (weight == 0.0) continue;
    const int section = static_cast<int>(p) / kPointsPerSection;
    const int k = 1 + static_cast<int>(p) % kPointsPerSection;
    const int bends = 2 * (section + 1);  // later sections do not move this point
    const Eigen::Vector3d position =
        X_RB * (deflections_[p] + bend_jacobian(robot_, states, {}, section,
                                                static_cast<double>(k) / kPointsPerSection,
                                                jacobian_, bend_jacobian_));
    for (int j = 0; j < m; ++j) {
      const Eigen::Vector3d axis = axes_.col(j);
      point_jacobian_.col(j) =
          chain_.joint(j).is_slide ? axis : axis.cross(position - anchors_.col(j));
    }
    point_jacobian_.middleCols(m, bends) =
        X_RB.linear().lazyProduct(bend_jacobian_.leftCols(bends));
    const auto J = point_jacobian_.leftCols(m + bends);
    step_.normal.topLeftCorner(m + bends, m + bends).noalias() +=
        weight * (J.transpose().lazyProduct(J));
    step_.gradient.head(m + bends).noalias() +=
        weight * (J.transpose().lazyProduct(target - position));
  }
  step_.normal.diagonal().array() += options_.damping;
  step_.solve(kPasses, [&] {
    const bool joints_within = keeps_joint_limits(joints);
    return step_.keeps_bend_limits(robot_, states, m) && joints_within;
  });
  for (Eigen::Index j = 0; j < m; ++j) {
    const ChainJoint& joint = chain_.joint(static_cast<int>(j));
    joints[j] = std::clamp(joints[j] + step_.update()[j], joint.min, joint.max);
  }
  step_.bend(robot_, m, states);
}

/// Fixes the joints that the update would take past their limits. Returns whether there are none.
bool WholeBodyFit::keeps_joint_limits(const Eigen::Ref<const Eigen::VectorXd>& joints) noexcept {
  bool is_within = true;
  for (Eigen::Index j = 0; j < joints.size(); ++j) {
    const ChainJoint& joint = chain_.joint(static_cast<int>(j));
    const double next = joints[j] + step_.update()[j];
    const double allowed = std::clamp(next, joint.min, joint.max);
    if (std::abs(next - allowed) <= kLimitTolerance) continue;
    is_within = false;
    step_.fix(j, allowed - joints[j]);
  }
  return is_within;
}

}  // namespace tendril
