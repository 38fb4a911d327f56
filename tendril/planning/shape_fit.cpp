#include "tendril/planning/shape_fit.hpp"

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {

ShapeFit::ShapeFit(const ContinuumRobot& robot, const ShapeFitOptions& options)
    : robot_(robot),
      options_(options),
      points_(static_cast<std::size_t>(2 * robot.section_count())),
      jacobian_(6, robot.coordinate_count()),
      bend_jacobian_(3, 2 * robot.section_count()),
      normal_(2 * robot.section_count(), 2 * robot.section_count()),
      gradient_(2 * robot.section_count()),
      update_(2 * robot.section_count()),
      ldlt_(2 * robot.section_count()) {}

void ShapeFit::step(const BaseState& base, std::span<SectionState> states) noexcept {
  const int sections = robot_.section_count();
  normal_.setZero();
  gradient_.setZero();
  for (int i = 0; i < sections; ++i) {
    const int columns = 2 * (i + 1);  // later sections do not move this point
    for (int half = 0; half < 2; ++half) {
      const Eigen::Isometry3d X_BP =
          backbone_jacobian(robot_, states, base, i, half == 0 ? 0.5 : 1.0, jacobian_);
      for (int j = 0; j <= i; ++j) {
        bend_jacobian_.middleCols<2>(2 * j) =
            jacobian_.topRows<3>().middleCols<2>(robot_.coordinate_index(j));
      }
      const bool is_tip = i == sections - 1 && half == 1;
      const double weight = is_tip ? options_.tip_weight * options_.tip_weight : 1.0;
      const Eigen::Vector3d error =
          points_[static_cast<std::size_t>(2 * i + half)] - X_BP.translation();
      const auto J = bend_jacobian_.leftCols(columns);
      normal_.topLeftCorner(columns, columns).noalias() += weight * (J.transpose().lazyProduct(J));
      gradient_.head(columns).noalias() += weight * (J.transpose().lazyProduct(error));
    }
  }
  normal_.diagonal().array() += options_.damping;
  ldlt_.compute(normal_);
  update_ = ldlt_.solve(gradient_);
  for (int i = 0; i < sections; ++i) {
    SectionState& state = states[static_cast<std::size_t>(i)];
    const Eigen::Vector2d bend = bend_vector(state) + update_.segment<2>(2 * i);
    state =
        robot_.clamped(i, state_from_bend_vector(bend.x(), bend.y(), state.extension, state.phi));
  }
}

double ShapeFit::tip_distance(const BaseState& base,
                              std::span<const SectionState> states) const noexcept {
  return (tip_pose(robot_, states, base).translation() - points_.back()).norm();
}

}  // namespace tendril
