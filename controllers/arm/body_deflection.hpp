#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// Compensates the uneven gravitational deflection of the whole body, not only of the tip: bends
/// q + dq for which the middles and ends of all sections come nearest to where q has them without
/// it. One step of Gauss and Newton from the measured bends q_m:
///
///     min  sum |p_m(q) - p_m(q_m) - d_m - J_m (q + dq - q_m)|^2 + lambda^2 |dq|^2 .
///
/// Source: docs/theory/control.md, "Tip integral".
class BodyDeflection {
 public:
  explicit BodyDeflection(const ContinuumRobot& robot);

  /// Adds dq of the planned coordinates `plan` to `q`. Allocates nothing.
  void compensate(const ArmMeasurement& measurement, const Eigen::VectorXd& plan,
                  Eigen::VectorXd& q) noexcept;

 private:
  ContinuumRobot robot_;
  std::vector<SectionState> states_, planned_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd bend_jacobian_, normal_;
  Eigen::VectorXd planned_q_, gradient_, bends_;
  Eigen::LDLT<Eigen::MatrixXd> ldlt_;
};

}  // namespace tendril
