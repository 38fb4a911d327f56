#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// Compensates the uneven gravitational deflection of the whole body, not only of the tip: bends
/// for which the middles and ends of all sections come nearest to where they are without it,
///
///     min  sum |d_m + J_m dq|^2 + lambda^2 |dq|^2 .
///
/// Source: docs/theory/control.md, "Tip integral".
class BodyDeflection {
 public:
  explicit BodyDeflection(const ContinuumRobot& robot);

  /// Adds dq to `q`. Allocates nothing.
  void compensate(const ArmMeasurement& measurement, Eigen::VectorXd& q) noexcept;

 private:
  ContinuumRobot robot_;
  std::vector<SectionState> states_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd bend_jacobian_, normal_;
  Eigen::VectorXd gradient_, bends_;
  Eigen::LDLT<Eigen::MatrixXd> ldlt_;
};

}  // namespace tendril
