#pragma once

// Read elastic_arm.hpp and sensors.hpp first.

#include <Eigen/Cholesky>
#include <span>
#include <vector>

#include "tendril/estimation/sensors.hpp"

namespace tendril {

/// One reading of a sensor. Numbers that are not finite are missing, with the rows of the
/// residual that need them.
struct Reading {
  int sensor = 0;
  std::span<const double> value;  ///< ArmSensors::reading_size numbers
};

struct StaticEstimatorOptions {
  double bend_deviation = 0.02;     ///< of the balance, as the bend that it would hold [rad], > 0
  double force_deviation = 3.0;     ///< of the external force, each component [N], > 0
  double friction_deviation = 0.1;  ///< of the share eta that tendons lose [], > 0
  double load_deviation = 1.0;      ///< of the loads d along the body [rad], > 0
  double offset_deviation = 0.02;   ///< of the tip's offset b [m], > 0
  int max_iterations = 50;          ///< >= 1
  double tolerance = 1e-9;          ///< largest last step, in deviations of the estimate, > 0
};

/// Valid until the next call.
struct StaticEstimate {
  bool converged = false;
  int iterations = 0;
  double cost = 0.0;  ///< sum of squares of all normalized residuals
  int residual_count = 0;
  Eigen::VectorXd x;           ///< state of ElasticArm, q' = 0
  Eigen::MatrixXd covariance;  ///< of x without q': [q, f, eta, d, b]
};

/// An arm at rest from one reading of each sensor: the least squares of
///
///     (h(x) - z) / sigma  of all readings,   r(x) / (K scale bend_deviation)  the balance,
///     f / force_deviation,   eta / friction_deviation,   d / load_deviation,
///     b / offset_deviation
///
/// by Gauss and Newton with Marquardt's damping. The covariance is the inverse of the normal
/// matrix: right while the model is nearly linear within it. Bends of extensible sections are
/// scaled by ElasticArm::scale. Source: docs/theory/estimation.md, "One reading". Tested by:
/// static_estimator_test.
class StaticEstimator {
 public:
  /// Throws ModelError naming the sensor or option outside its range.
  StaticEstimator(const ElasticArm& arm, std::vector<Sensor> sensors,
                  const StaticEstimatorOptions& options = {});

  [[nodiscard]] const ArmSensors& sensors() const noexcept { return sensors_; }
  /// Estimates from `start`, the coordinates of a guess, such as those at rest.
  const StaticEstimate& solve(const ArmInput& input, std::span<const Reading> readings,
                              const Eigen::VectorXd& start) noexcept;
  /// Index of the place of the external force, among `places`, whose estimate costs least: a
  /// comparison of hypotheses that are equally likely. The estimate is that of this place; the
  /// external force stays there. `places` has at least one.
  int locate(const ArmInput& input, std::span<const Reading> readings, const Eigen::VectorXd& start,
             std::span<const BodyPlace> places) noexcept;

 private:
  /// Normal matrix and gradient at a state; returns the cost.
  double normal_equations(const Eigen::VectorXd& x, const ArmInput& input,
                          std::span<const Reading> readings) noexcept;
  void add(Eigen::Index rows) noexcept;

  ElasticArm arm_;
  ArmSensors sensors_;
  StaticEstimatorOptions options_;
  StaticEstimate estimate_;
  Eigen::VectorXd moment_weight_, acting_weight_, contact_weight_, residual_, gradient_, step_,
      trial_;
  Eigen::MatrixXd by_x_, by_y_, normal_, damped_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace tendril
