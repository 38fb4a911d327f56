#include "controllers/arm/body_deflection.hpp"

#include <algorithm>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {
namespace {

constexpr double kDamping = 0.003;  // lambda [m]
constexpr double kMaxBend = 0.3;    // of a section's compensation [rad]

}  // namespace

BodyDeflection::BodyDeflection(const ContinuumRobot& robot)
    : robot_(robot),
      states_(robot.straight().begin(), robot.straight().end()),
      planned_(states_),
      jacobian_(6, robot.coordinate_count()),
      bend_jacobian_(3, 2 * robot.section_count()),
      normal_(2 * robot.section_count(), 2 * robot.section_count()),
      planned_q_(robot.coordinate_count()),
      gradient_(2 * robot.section_count()),
      bends_(2 * robot.section_count()),
      ldlt_(2 * robot.section_count()) {}

void BodyDeflection::compensate(const ArmMeasurement& measurement, const Eigen::VectorXd& plan,
                                Eigen::VectorXd& q) noexcept {
  if (measurement.uneven_deflection.isZero(0.0)) return;
  // Directions of straight sections must not depend on earlier steps.
  std::copy(robot_.straight().begin(), robot_.straight().end(), states_.begin());
  std::copy(robot_.straight().begin(), robot_.straight().end(), planned_.begin());
  from_coordinates(robot_, measurement.q, states_);
  planned_q_ = measurement.q;  // of the measured lengths
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    planned_q_.segment<2>(k) = plan.segment<2>(k);
    bends_.segment<2>(2 * i) = measurement.q.segment<2>(k) - plan.segment<2>(k);
  }
  from_coordinates(robot_, planned_q_, planned_);
  normal_.setZero();
  gradient_.setZero();
  Eigen::Vector3d before = Eigen::Vector3d::Zero();  // deflection at the section's start
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    const Eigen::Vector3d own =
        measurement.uneven_deflection.col(k) + measurement.uneven_deflection.col(k + 1);
    const int columns = 2 * (i + 1);
    for (const double fraction : {0.5, 1.0}) {
      const Eigen::Vector3d error =
          backbone_pose(robot_, planned_, measurement.base, i, fraction).translation() -
          bend_jacobian(robot_, states_, measurement.base, i, fraction, jacobian_, bend_jacobian_) -
          before - fraction * own;
      const auto J = bend_jacobian_.leftCols(columns);
      normal_.topLeftCorner(columns, columns).noalias() += J.transpose().lazyProduct(J);
      gradient_.head(columns).noalias() += J.transpose().lazyProduct(error);
    }
    before += own;
  }
  normal_.diagonal().array() += kDamping * kDamping;
  ldlt_.compute(normal_);
  gradient_ -= kDamping * kDamping * bends_;
  ldlt_.solveInPlace(gradient_);
  bends_ += gradient_;
  const double largest = bends_.cwiseAbs().maxCoeff();
  if (largest > kMaxBend) bends_ *= kMaxBend / largest;
  for (int i = 0; i < robot_.section_count(); ++i)
    q.segment<2>(robot_.coordinate_index(i)) += bends_.segment<2>(2 * i);
}

}  // namespace tendril
