#pragma once

// Read elastic_arm.hpp and sensors.hpp first.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "tendril/estimation/static_estimator.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Noise of the process and deviations at the start. Those of bends hold for extensions times
/// ElasticArm::scale; those of moments are the bends that they would hold.
struct ArmEstimatorOptions {
  double timestep = 0.005;          ///< [s], > 0
  double bend_noise = 0.01;         ///< white noise of the moments [rad sqrt(s)], >= 0
  double force_noise = 1.0;         ///< random walk of the external force [N/sqrt(s)], >= 0
  double friction_deviation = 0.1;  ///< of the share eta that tendons lose [], >= 0
  double friction_time = 1.0;       ///< in which friction forgets its share [s], > 0
  double load_deviation = 1.0;      ///< of the loads d along the body [rad], >= 0
  double offset_deviation = 0.02;   ///< of the tip's offset b [m], >= 0
  double contact_time = 100.0;      ///< in which d and b are forgotten [s], > 0
  /// One per tendon: of its tension as input, independent in each step [N], >= 0; empty: 0.
  std::vector<double> tension_deviations{};
  double start_bend = 0.1;   ///< deviation of q at the start [rad], >= 0
  double start_rate = 0.1;   ///< of q' [rad/s], >= 0
  double start_force = 1.0;  ///< of the external force, each component [N], >= 0
};

/// Estimate of an arm at one time; base frame, SI units. Order of q: ContinuumRobot.
struct ArmEstimate {
  Eigen::VectorXd q, q_rate;
  Eigen::Vector3d force;     ///< external, at its place; weight of an unknown payload included [N]
  Eigen::VectorXd friction;  ///< share eta of each tendon's tension that is gained
  Eigen::Isometry3d X_BE;    ///< pose of the tip, its uneven deflection included, without the twist
                             ///< of sections that turn
  Eigen::MatrixXd covariance;                  ///< of [q, q', f, eta, d, b]: a state of ElasticArm
  Eigen::Matrix<double, 6, 6> tip_covariance;  ///< of tip position [m] and direction z
};

/// Consistency of the readings that arrived in a step. With a right model `squared` is the sum of
/// `count` squares of independent standard normal numbers: chi-squared.
struct Innovation {
  double squared = 0.0;
  int count = 0;
};

/// Memory of an ArmEstimator between steps.
struct ArmEstimatorMemory {
  /// @param n,t      coordinates and tendons of the arm
  /// @param disturbed  ElasticArmParameters::disturbed
  ArmEstimatorMemory(int n, int t, bool disturbed, std::span<const Sensor> sensors,
                     double timestep);

  /// A time of the ring: the input that led to it, and what was read then.
  struct Time {
    MatrixSlot<Eigen::VectorXd> tension, moment, values;
    Slot<double> feed, spin;
    Block present;  ///< one flag per number of `values`
  };
  struct State {
    MatrixSlot<Eigen::VectorXd> x;
    MatrixSlot<Eigen::MatrixXd> L;
  };
  MemoryLayout layout;
  Slot<int> head, filled;
  State now, oldest;  ///< as corrected; as predicted, before the readings of that time
  std::vector<Time> ring;
  std::vector<int> delays, first_value;  ///< of each sensor: in steps; in `values`
};

/// Recursive estimate of a moving arm: an extended Kalman filter whose covariance is L L^T.
///
///     process    one step of ElasticArm::step_factor, with white noise of the moments; f a random
///                walk; eta, d and b first-order Gauss-Markov processes
///     L          predicted by a QR factorization of [F L, noise]^T, corrected by Potter's update,
///                one component of a reading at a time: symmetric and positive by construction
///     delays     a ring of the last inputs and readings, and the state at its oldest time. A late
///                reading joins those of its time, and the filter repeats the steps since the
///                oldest: the same as had it come on time, with delays rounded to steps
///
/// A moving arm, its ring included, is `memory` of `layout().size()` numbers, which the caller
/// owns, copies and restores; the object holds only buffers. Readings may be missing at any step.
/// Source: docs/theory/estimation.md, "Recursion"; Potter's update: [Maybeck]. Tested by:
/// arm_estimator_test.
class ArmEstimator {
 public:
  /// Throws ModelError naming the sensor or option outside its range.
  ArmEstimator(const ElasticArm& arm, std::vector<Sensor> sensors,
               const ArmEstimatorOptions& options = {});

  [[nodiscard]] const ElasticArm& arm() const noexcept { return arm_; }
  [[nodiscard]] const ArmEstimatorOptions& options() const noexcept { return options_; }
  /// Of a base that turns, before each step: base frame [m/s^2].
  void set_gravity(const Eigen::Vector3d& gravity) noexcept { arm_.set_gravity(gravity); }
  [[nodiscard]] const ArmSensors& sensors() const noexcept { return sensors_; }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return memory_.layout; }
  /// An estimate with its sizes, to be written by `estimate`.
  [[nodiscard]] ArmEstimate empty_estimate() const;

  /// Starts at rest at q, without external force, with the deviations of the options.
  void start(std::span<double> memory, const Eigen::VectorXd& q) const noexcept;
  /// Advances by one timestep. The input acted during it; the readings arrived at its end.
  Innovation step(std::span<double> memory, const ArmInput& input,
                  std::span<const Reading> readings) noexcept;
  /// The coordinates of the present estimate.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> coordinates(
      std::span<const double> memory) const noexcept;
  /// Writes the present estimate without its covariances.
  void mean(std::span<const double> memory, ArmEstimate& estimate) noexcept;
  /// Writes the present estimate.
  void estimate(std::span<const double> memory, ArmEstimate& estimate) noexcept;

 private:
  using Time = ArmEstimatorMemory::Time;
  using State = ArmEstimatorMemory::State;
  void load(std::span<const double> memory, const State& state) noexcept;
  void store(const State& state, std::span<double> memory) const noexcept;
  /// Advances the state of the oldest time, if the ring is full, and adds a time with its input.
  void push(std::span<double> memory, const ArmInput& input) noexcept;
  /// Adds readings to those of their times. Returns how many steps ago the first of them is from.
  int add(std::span<double> memory, std::span<const Reading> readings) noexcept;
  [[nodiscard]] const Time& time(std::span<const double> memory, int steps_back) const noexcept;
  void load_input(std::span<const double> memory, const Time& time) noexcept;
  void predict() noexcept;
  /// Corrects with the readings of a time, and returns the innovation of those that came
  /// `steps_back` late.
  Innovation correct(std::span<const double> memory, const Time& time, int steps_back) noexcept;

  ElasticArm arm_;
  ArmSensors sensors_;
  ArmEstimatorOptions options_;
  ArmEstimatorMemory memory_;
  std::vector<int> arrived_;  // in this step, by sensor
  Eigen::VectorXd x_, linearized_at_, residual_, gain_, phi_, moment_noise_, workspace_;
  Eigen::VectorXd tension_noise_;      // empty: tensions are exact
  Eigen::VectorXd contact_deviation_;  // of [d, b]
  Eigen::MatrixXd L_, F_, stacked_, by_x_, noise_, by_tension_;
  ArmInput input_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_, by_tip_;
  Eigen::Matrix<double, 3, Eigen::Dynamic> by_q_;
  Eigen::Matrix3d by_force_;
};

}  // namespace tendril
