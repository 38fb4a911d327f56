#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/arm/obstacle_forecast.hpp"
#include "controllers/arm/pose_planner.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// What is predicted of an arm, and what it costs.
struct RolloutOptions {
  int samples = 64;             ///< plans that are predicted, >= 1
  int steps = 40;               ///< of a prediction, >= kKnots
  double horizon = 0.8;         ///< [s], > 0
  PoseRates rates;              ///< of the commands
  double body_radius = 0.0;     ///< [m], >= 0
  double margin = 0.005;        ///< least clearance between body and obstacles [m], > 0
  double obstacle_weight = 50;  ///< of a clearance that is less, >= 0
  double rate_weight = 0.02;    ///< of the rates of the commands, >= 0
  double end_weight = 1.0;      ///< of the tip's distance at the end, >= 0
};

/// Memory of the caller for predictions: of each plan its steps, of each step its numbers.
struct RolloutRecord {
  std::span<double> q;                 ///< (samples, steps, n): coordinates of the body
  std::span<double> feed;              ///< (samples, steps): of the base [m]
  std::span<double> tips, directions;  ///< (samples, steps, 3): tip [m], unit tangent at it
  std::span<double> clearances;        ///< (samples, steps): of the body, at most the margin [m]
  std::span<double> rates;             ///< (samples, steps): of the commands, over the largest
  std::span<double> costs;             ///< (samples): ArmRollouts::cost
  std::span<double> targets, desired;  ///< (steps, 3): position [m], unit z axis
};

/// Predicts many plans of an arm at once, as arcs of constant curvature: the commands follow the
/// plan within their rates, the body follows the commands with a lag, and obstacles and target move
/// on. The cost of a plan is
///
///     1/N sum_k [ d_k / L + w_o min(v_k, 2) + w_r r_k^2 ] + w_e d_N / L
///
/// with the distance d of the tip from the target (of a direction: plus TipIntegral::kDirectionArm
/// times the angle), the length L of the arm, the part v of the margin that is violated, and the
/// fraction r of the largest rates. Only the constructor allocates. Source: docs/theory/control.md,
/// "Prediction". Tested by: predictive_planner_test.
class ArmRollouts {
 public:
  static constexpr int kKnots = 5;  ///< poses of a plan, at equal times, the last at the horizon

  ArmRollouts(const ContinuumRobot& robot, const RolloutOptions& options);

  [[nodiscard]] const RolloutOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }

  /// The poses of a plan, a column each, and those that its prediction reaches at their times.
  [[nodiscard]] auto plan(int sample) noexcept {
    return plans_.middleCols(sample * kKnots, kKnots);
  }
  [[nodiscard]] auto reached(int sample) const noexcept {
    return reached_.middleCols(sample * kKnots, kKnots);
  }
  [[nodiscard]] double knot_time() const noexcept { return options_.horizon / kKnots; }  ///< [s]
  /// Sets a plan that moves straight to a pose, as fast as it can.
  void set_direct(int sample, const Eigen::Ref<const Eigen::VectorXd>& pose) noexcept;
  /// Plans are lines between their poses.
  void set_polyline(int sample) noexcept { is_direct_[static_cast<std::size_t>(sample)] = false; }
  [[nodiscard]] bool is_direct(int sample) const noexcept {
    return is_direct_[static_cast<std::size_t>(sample)];
  }

  /// The arm and its surroundings when a prediction begins.
  struct Start {
    const Eigen::VectorXd& command;  ///< coordinates
    const Eigen::VectorXd& body;     ///< those that the body has reached
    double lag = 0.0;                ///< of the body behind the command [s], >= 0
    BaseState base;
    TipTarget target;
    Eigen::Vector3d target_velocity = Eigen::Vector3d::Zero();  ///< [m/s]
    const ObstacleForecast& forecast;
    std::span<const double> forecast_memory;
  };
  /// From now on predictions are also written here, with n coordinates of the robot without rail.
  void write_to(const RolloutRecord& record) noexcept { record_ = record; }
  /// Predicts the plans [first, last). `obstacles` are moved.
  void predict(const Start& start, int first, int last, Obstacles& obstacles) noexcept;

  [[nodiscard]] double cost(int sample) const noexcept {
    return costs_[static_cast<std::size_t>(sample)];
  }
  /// Returns whether the margin is kept.
  [[nodiscard]] bool is_free(int sample) const noexcept {
    return free_[static_cast<std::size_t>(sample)];
  }

 private:
  void advance(int sample, int step, const Start& start, const TipTarget& target,
               const Obstacles& obstacles) noexcept;
  void write(int sample, int step, const Start& start, const BodyArc& end, double clearance,
             double rate) const noexcept;

  ContinuumRobot robot_;
  RolloutOptions options_;
  double length_;
  BodyArcs arcs_;
  Eigen::MatrixXd plans_, reached_, commands_, bodies_;
  Eigen::VectorXd desired_;
  std::vector<double> costs_;
  std::vector<char> is_direct_, free_;
  RolloutRecord record_;  // empty: none
};

/// A cost of plans in place of ArmRollouts::cost. Tested by: predictive_planner_test.
class PlanCost {
 public:
  virtual ~PlanCost() = default;
  /// Sets the finite costs of the plans [first, last), whose prediction is in record().
  virtual void evaluate(int first, int last, std::span<double> costs) noexcept = 0;
  /// Makes the memory to which predictions are written; called once.
  [[nodiscard]] virtual RolloutRecord record(int samples, int steps) = 0;

 protected:
  PlanCost() = default;
  PlanCost(const PlanCost&) = default;
  PlanCost& operator=(const PlanCost&) = default;
};

/// Weights of the path integral: exp(-(J_s - min J) / temperature), their sum 1.
/// @param temperature  > 0
void path_integral_weights(std::span<const double> costs, double temperature,
                           std::span<double> weights) noexcept;

}  // namespace tendril
