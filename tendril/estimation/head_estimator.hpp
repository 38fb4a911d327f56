#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>

#include "tendril/memory_layout.hpp"

namespace tendril {

/// One sample of an inertial unit, in its frame.
struct ImuSample {
  Eigen::Vector3d rate = Eigen::Vector3d::Zero();   ///< of the gyroscope [rad/s]
  Eigen::Vector3d force = Eigen::Vector3d::Zero();  ///< acceleration less gravity [m/s^2]
};

/// Noise of a HeadEstimator and deviations at the start.
struct HeadEstimatorOptions {
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};  ///< world frame [m/s^2]
  double rate_noise = 0.003;                 ///< of a sample of the gyroscope [rad/s], >= 0
  double force_noise = 0.05;                 ///< of one of the accelerometer [m/s^2], >= 0
  double bias_drift = 1e-5;        ///< random walk of the gyroscope's bias [rad/s/sqrt(s)]
  double start_angle = 1e-3;       ///< deviation of the orientation [rad], >= 0
  double start_velocity = 1e-3;    ///< [m/s], >= 0
  double start_position = 1e-3;    ///< [m], >= 0
  double start_bias = 1e-3;        ///< of the gyroscope's bias [rad/s], >= 0
  double lost_after = 0.1;         ///< an inertial unit without sample for longer is lost [s]
  double lost_rate = 1.0;          ///< deviation of the angular velocity then [rad/s]
  double lost_acceleration = 5.0;  ///< [m/s^2]
  double lost_time = 0.25;         ///< in which both forget themselves [s]
};

/// Orientation, velocity and position of a body that carries an inertial unit: an error-state
/// Kalman filter. The error of the orientation is a rotation in the world frame.
///
///     R' = R [w - b],   v' = R f + g,   p' = v,   b a random walk
///     d = (dtheta, dv, dp, db),   R_true = exp(dtheta) R
///     dtheta' = -R db,   dv' = -[R f] dtheta,   dp' = dv
///
/// Gravity tells the tilt as far as velocities are known; nothing tells the heading or the place.
/// Their covariance grows. Between samples it holds still; rates and forces change linearly from
/// one sample to the next. A unit that is lost leaves the head as it is and its covariance grows.
/// Source: docs/theory/estimation.md, "Snakes"; [Sola]. Tested by: head_estimator_test.
class HeadEstimator {
 public:
  static constexpr int kStates = 12;
  using Covariance = Eigen::Matrix<double, kStates, kStates>;
  using Row = Eigen::Matrix<double, kStates, 1>;

  /// Throws ModelError naming the option outside its range.
  HeadEstimator(const HeadEstimatorOptions& options, double timestep);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const HeadEstimatorOptions& options() const noexcept { return options_; }

  /// Starts at rest at a pose.
  void start(std::span<double> memory, const Eigen::Isometry3d& X_WH) const noexcept;
  /// One timestep; null: no sample arrived. Returns by how much time the state advanced [s].
  double step(std::span<double> memory, const ImuSample* sample) const noexcept;

  /// Corrects by a velocity on the ground that was found with this orientation: its heading is in
  /// error as that is. `deviation`: of each component [m/s].
  void correct_velocity(std::span<double> memory, const Eigen::Vector2d& velocity,
                        double deviation) const noexcept;
  /// Corrects by the height of the head in the world [m].
  void correct_height(std::span<double> memory, double height, double deviation) const noexcept;

  [[nodiscard]] Eigen::Matrix3d orientation(std::span<const double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector3d velocity(std::span<const double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector3d position(std::span<const double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector3d bias(std::span<const double> memory) const noexcept;
  /// Angular velocity by the last sample, world frame [rad/s]; 0 of a lost unit.
  [[nodiscard]] Eigen::Vector3d angular_velocity(std::span<const double> memory) const noexcept;
  /// Time since the last sample [s].
  [[nodiscard]] double age(std::span<const double> memory) const noexcept { return age_(memory); }
  /// Whether its samples arrive.
  [[nodiscard]] bool has_unit(std::span<const double> memory) const noexcept;
  /// Of (dtheta, dv, dp, db).
  [[nodiscard]] Covariance covariance(std::span<const double> memory) const noexcept;

 private:
  void advance(std::span<double> memory, const ImuSample& now, double time) const noexcept;
  void advance_lost(std::span<double> memory, double time) const noexcept;
  template <int N>
  void correct(std::span<double> memory, const Eigen::Matrix<double, N, kStates>& by_error,
               const Eigen::Matrix<double, N, 1>& residual, double deviation) const noexcept;

  HeadEstimatorOptions options_;
  double timestep_;
  MemoryLayout layout_;
  MatrixSlot<Eigen::Matrix3d> R_ = layout_.matrix<Eigen::Matrix3d>();
  MatrixSlot<Eigen::Vector3d> v_ = layout_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector3d> p_ = layout_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector3d> b_ = layout_.matrix<Eigen::Vector3d>();
  MatrixSlot<Covariance> P_ = layout_.matrix<Covariance>();
  MatrixSlot<Eigen::Vector3d> rate_ = layout_.matrix<Eigen::Vector3d>();  // of the last sample
  MatrixSlot<Eigen::Vector3d> force_ = layout_.matrix<Eigen::Vector3d>();
  Slot<bool> has_unit_ = layout_.flag();
  Slot<double> age_ = layout_.number();  // of the state [s]
};

}  // namespace tendril
