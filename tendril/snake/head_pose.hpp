#pragma once

#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// The orientation whose x axis points with azimuth `yaw` and elevation `pitch` (up is positive),
/// rolled about it: Rz(yaw) Ry(-pitch) Rx(roll) [rad].
[[nodiscard]] Eigen::Matrix3d head_orientation(double roll, double pitch, double yaw) noexcept;

struct HeadPoseOptions {
  double position_tolerance = 1e-9;  ///< [m], > 0
  double angle_tolerance = 1e-9;     ///< [rad], > 0
  int max_iterations = 100;          ///< >= 1
};

struct HeadPoseResult {
  bool converged = false;       ///< both errors are within their tolerances
  int iterations = 0;           ///< Newton steps
  double position_error = 0.0;  ///< [m]
  double angle_error = 0.0;     ///< [rad]
};

/// Gives the leading link a position and an orientation by the smallest change of a posture, that
/// of a march for instance: the joints near the head change most, and the body stays about where it
/// is. An extension of [Torus], whose march gives the leading link the orientation of the path.
///
///     minimize sum (dphi_j / (j/N))^2   subject to   J dphi = pose error,   repeated
///
/// Joints at their limits are left out of a step that would bend them further.
/// docs/theory/snakes.md, "Pose of the head". Tested by: head_pose_test.
class HeadPose {
 public:
  /// Throws ModelError naming the option.
  explicit HeadPose(const SnakeChain& chain, const HeadPoseOptions& options = {});

  /// Changes `angles`, within the limits, until body N, with its origin at B_N, has the pose X_WH;
  /// what is nearest to it that was found, if none is. Allocates nothing. Precondition: N finite
  /// angles, a proper rotation.
  HeadPoseResult reach(const Eigen::Isometry3d& X_WB, const Eigen::Isometry3d& X_WH,
                       std::span<double> angles) noexcept;

 private:
  void linearize(const Eigen::Isometry3d& X_WB, std::span<const double> angles) noexcept;
  void step(double damping, std::span<double> angles) noexcept;
  [[nodiscard]] Eigen::Matrix<double, 6, 1> error(const Eigen::Isometry3d& X_WH) const noexcept;

  SnakeChain chain_;
  HeadPoseOptions options_;
  double length_;  // that makes an angle a distance [m]
  std::vector<Eigen::Isometry3d> X_WL_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;  // rotations times length_
  Eigen::Matrix<double, 6, 1> error_;
  std::vector<double> weights_, now_weights_, change_, best_;
};

}  // namespace tendril
