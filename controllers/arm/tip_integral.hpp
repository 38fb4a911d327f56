#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// Gains of the closed loop on the measured tip.
struct TipIntegralOptions {
  double gain = 5.0;      ///< Ki [1/s], >= 0; stable for about Ki <= 0.5 / (T_v + h + delay)
  double damping = 0.01;  ///< lambda of the damped inverse [m], > 0; 0.02 in contact
  double correction_limit =
      0.3;                  ///< largest |q_I| per coordinate [rad]; lengths scaled by kLengthScale
  double rate_limit = 3.0;  ///< largest |dq_I/dt| [rad/s]
  double error_limit = 0.03;            ///< tip errors are limited to this norm [m]
  double delay = 0.0;                   ///< age of the tip measurement [s]
  bool deflection_compensation = true;  ///< compensate_gravity_deflection has an effect
  bool direction = false;  ///< integrate the tip direction too (weighted by kDirectionArm)
  bool supported = false;  ///< walls hold the arm behind what is corrected: its fundamental mode,
                           ///< that of the free arm, does not limit the gain
  bool within_lengths = false;  ///< no correction of a length leaves the length's range
  /// Orthogonal projector of the coordinates on those that are corrected; empty: all.
  Eigen::MatrixXd corrected = {};
};

/// Corrects section commands until the measured tip coincides with the planned tip: integral action
/// on the tip error through the damped inverse of the measured tip Jacobian,
///
///     q_I += Ki h J^T (J J^T + lambda^2 I)^-1 e .
///
/// With a delayed measurement the reference is delayed by the same time, so that tip and reference
/// of the same instant are compared. Source: docs/theory/control.md, "Tip integral".
class TipIntegral {
 public:
  static constexpr double kLengthScale =
      0.05;  ///< [m]: a length change of this size counts as 1 rad
  static constexpr double kDirectionArm =
      0.05;  ///< [m]: a direction error of 1 rad counts as this distance

  /// The gain remains below this fraction of the one that makes the arm's fundamental mode
  /// unstable: 2 zeta omega.
  static constexpr double kStabilityFraction = 0.5;

  /// Corrects section commands only, not feed and spin.
  TipIntegral(const ContinuumRobot& robot, const TipIntegralOptions& options, double timestep);

  /// Layout of its memory: q_I and a ring buffer of past errors.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// One step. `error` (3: position; 6: with direction, as a rotation vector) is reference minus
  /// measurement, both of this instant. Writes the new correction into `next_memory` and adds it to
  /// q. Returns the position error that is known now, that of `delay` ago, without the swing of the
  /// twist [m].
  Eigen::Vector3d update(const ArmMeasurement& measurement,
                         const Eigen::Matrix<double, 6, 1>& error, bool frozen,
                         std::span<const double> memory, std::span<double> next_memory,
                         Eigen::VectorXd& q) noexcept;

  /// Adds -J^+ d to q, d = ArmMeasurement::gravity_deflection: compensates the predicted deflection
  /// without integral action.
  void compensate_gravity_deflection(const ArmMeasurement& measurement,
                                     Eigen::VectorXd& q) noexcept;

 private:
  /// step_ = J^T (J J^T + lambda^2 I)^-1 e over the first `rows` equations, in scaled coordinates.
  void damped_step(const ArmMeasurement& measurement, int rows,
                   const Eigen::Matrix<double, 6, 1>& e) noexcept;

  struct LengthRange {
    int coordinate;
    double low, high;  // [m]
  };

  TipIntegralOptions options_;
  std::vector<LengthRange> lengths_;
  std::vector<int> missing_;  // bends that sections do not have
  int n_, delay_steps_;
  MemoryLayout layout_;
  MatrixSlot<Eigen::VectorXd> correction_;  // q_I
  Slot<int> oldest_;                        // of the ring, replaced by the newest
  MatrixSlot<Eigen::MatrixXd> ring_;        // errors, a column each
  Eigen::VectorXd scale_;                   // per coordinate: 1 for u, v; kLengthScale for s
  Eigen::Matrix<double, 6, Eigen::Dynamic> J_;
  Eigen::VectorXd step_, projected_;
};

/// Projector on the sections from `first` on, from 0.
[[nodiscard]] Eigen::MatrixXd sections_from(const ContinuumRobot& robot, int first);

/// The settings of the tip integral, common to the controllers that have one. `read_tip_integral`
/// reads them; it throws ModelError naming the setting.
[[nodiscard]] std::span<const SettingInfo> tip_integral_settings() noexcept;
[[nodiscard]] TipIntegralOptions read_tip_integral(const Settings& settings, double timestep);

}  // namespace tendril
