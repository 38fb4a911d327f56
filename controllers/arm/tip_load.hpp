#pragma once

#include <Eigen/Core>
#include <vector>

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// The force on an arm at a point of its tip, from the moments of its actuators. It needs no
/// contact and no sensor of force. What springs, damping, gravity and actuators leave of the
/// balance of the coordinates is the load,
///
///     r = K (q - rest) + D q' - gravity - moment = J^T f,    f = (J K^-1 J^T)^-1 J K^-1 r
///
/// with the Jacobian J of the point. Loads elsewhere, and inertia, count as loads at this point. A
/// direction in which the point hardly moves with the coordinates is not measured: the force there
/// is 0. Source: docs/theory/control.md, "Pulling". Tested by: tip_load_test.
class TipLoad {
 public:
  explicit TipLoad(const ArmContext& context)
      : springs_(context.springs.begin(), context.springs.end()) {}

  /// Computes the force on the arm at the point p [m], base frame [N]. Allocates nothing.
  [[nodiscard]] Eigen::Vector3d force(const ArmMeasurement& measurement,
                                      const Eigen::Vector3d& p) const noexcept;

 private:
  std::vector<BodySpring> springs_;
};

}  // namespace tendril
