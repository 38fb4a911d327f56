#pragma once

#include <Eigen/Geometry>
#include <vector>

#include "tendril/mobile/configuration.hpp"

namespace tendril {

/// Derivative of the tool's position (rows 0-2) and of its rotation vector (rows 3-5), in the
/// world, with respect to the configuration. Tested by: mobile_tracker_test.
/// @param frames  of `mobile_frames`, of the same configuration
void tool_jacobian(const MobileRobot& robot, std::span<const Eigen::Isometry3d> frames,
                   Eigen::Matrix<double, 6, Eigen::Dynamic>& J) noexcept;

struct MobileTrackerOptions {        ///< every field has a working default
  int max_iterations = 12;           ///< >= 1
  double position_tolerance = 1e-8;  ///< [m], > 0
  double angle_tolerance = 1e-8;     ///< [rad], > 0
  double platform_weight = 6.0;      ///< what 1 m of the platform costs in rad of a joint, > 0
  double heading_weight = 3.0;       ///< of 1 rad of the heading, > 0
  double limit_zone = 0.15;          ///< [rad] nearer to its limit a joint moves less, > 0
};

/// Follows a target that moves little: Newton steps from a configuration near it, with the change
/// distributed over platform and arm by weighted least squares,
///
///     dx = W^-1 J^T (J W^-1 J^T)^-1 e .
///
/// The platform has the larger weight, so that the arm does what it can; the weight of a joint
/// increases near its limit. The solution changes continuously with the target: the arm never jumps
/// to another elbow or plane. Nothing but the constructor allocates or throws.
class MobileTracker {
 public:
  /// Throws ModelError for options out of range.
  explicit MobileTracker(const MobileRobot& robot, const MobileTrackerOptions& options = {});

  struct Result {
    bool converged = false;
    int iterations = 0;
  };
  /// Moves `x` onto the target pose. `x` is inside the limits before and after; where it does not
  /// converge it has no meaning.
  [[nodiscard]] Result follow(const Eigen::Isometry3d& X_WG,
                              Eigen::Ref<Eigen::VectorXd> x) noexcept;

 private:
  MobileRobot robot_;
  MobileTrackerOptions options_;
  std::vector<Eigen::Isometry3d> frames_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> J_, weighted_;
  Eigen::VectorXd mobility_, step_;
};

}  // namespace tendril
