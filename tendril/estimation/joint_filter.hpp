#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/memory_layout.hpp"

namespace tendril {

/// Process of a JointFilter and deviations at the start.
struct JointFilterOptions {
  double timestep = 0.002;         ///< [s], > 0
  double acceleration = 20.0;      ///< deviation of a joint's acceleration [rad/s^2], > 0
  double acceleration_time = 0.2;  ///< in which it forgets itself [s], > 0
  double start_angle = 0.01;       ///< deviation at the start [rad], > 0
  double start_rate = 0.1;         ///< [rad/s], > 0
};

/// Angles and rates of joints from their encoders: a Kalman filter for each joint, whose
/// acceleration is a first-order Gauss-Markov process [Singer].
///
///     x = (q, q', q''),   q''' = -q''/tau + white noise of the density 2 sigma^2 / tau
///
/// The state is `memory` of `layout().size()` numbers. It is that of the time of the readings:
/// what comes late is extrapolated by `at`, which is the best estimate for this process.
/// Source: docs/theory/estimation.md, "Snakes". Tested by: joint_filter_test.
class JointFilter {
 public:
  /// @param deviations  of each joint's encoder [rad], > 0
  /// Throws ModelError naming the option or joint outside its range.
  explicit JointFilter(std::vector<double> deviations, const JointFilterOptions& options = {});

  [[nodiscard]] int count() const noexcept { return static_cast<int>(deviations_.size()); }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Starts at rest at these angles, with the deviations of the options.
  void start(std::span<double> memory, std::span<const double> angles) const noexcept;
  /// Advances by one timestep and corrects by the readings at its end, NaN: none. Returns the sum
  /// of the squared innovations over their variances.
  double step(std::span<double> memory, std::span<const double> readings) const noexcept;

  /// (q, q', q'') of a joint.
  [[nodiscard]] Eigen::Vector3d state(std::span<const double> memory, int joint) const noexcept;
  [[nodiscard]] Eigen::Matrix3d covariance(std::span<const double> memory,
                                           int joint) const noexcept;

  /// The process over a time [s], which may be negative.
  [[nodiscard]] static Eigen::Matrix3d transition(double time,
                                                  const JointFilterOptions& options) noexcept;
  /// Covariance of what the noise adds over a time [s], >= 0 and less than acceleration_time.
  [[nodiscard]] static Eigen::Matrix3d noise(double time,
                                             const JointFilterOptions& options) noexcept;
  [[nodiscard]] const JointFilterOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::vector<double>& deviations() const noexcept { return deviations_; }

 private:
  std::vector<double> deviations_;
  JointFilterOptions options_;
  MemoryLayout layout_;
  MatrixSlot<Eigen::Matrix3Xd> states_;
  MatrixSlot<Eigen::Matrix3Xd> covariances_;  // three columns a joint
  Eigen::Matrix3d F_, Q_;
};

}  // namespace tendril
