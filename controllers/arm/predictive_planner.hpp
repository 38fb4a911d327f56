#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/arm/arm_rollouts.hpp"
#include "controllers/arm/obstacle_forecast.hpp"
#include "controllers/arm/pose_planner.hpp"
#include "tendril/ik/auto_solver.hpp"
#include "tendril/random_draws.hpp"

namespace tendril {

struct PredictivePlannerOptions {
  RolloutOptions rollouts;
  double period = 0.02;       ///< from plan to plan [s], >= timestep
  double noise = 0.5;         ///< standard deviation of the samples [rad], > 0; lengths scaled
  double temperature = 0.02;  ///< of the path integral, > 0
  int seed = 0;               ///< of the samples, >= 0
  int max_iterations = 50;    ///< of the inverse kinematics, >= 1
  double position_tolerance = 1e-6;  ///< [m], > 0
  double angle_tolerance = 1e-4;     ///< [rad], > 0
  double timestep = 0.002;           ///< [s], > 0
  bool straight_first = true;        ///< a free straight motion is taken without samples
};

/// Plans an arm's motion over a horizon among moving obstacles by sampling (model predictive path
/// integral control).
///
/// 1. The inverse kinematics is tracked from the last solution. While the straight motion to it
///    stays clear of the obstacles over the horizon, the arm takes it (`straight_first`).
/// 2. Otherwise samples are predicted (ArmRollouts): the last plan, staying, straight motions to
///    other solutions of the inverse kinematics, and all of these with noise at the knots.
/// 3. The mean of the samples, weighted by the path integral, is predicted too. The plan is the
///    mean or the best sample, whichever costs less; where that is a straight motion to a solution,
///    this becomes the tracked one.
///
/// The noise is a function of seed, number of the plan and sample. The lag of the body behind its
/// commands is learnt from the measured coordinates.
///
/// Source: [MPPI], with samples of other controllers as in [Biased-MPPI]. Tested by:
/// predictive_planner_test.
class PredictivePlanner final : public PosePlanner {
 public:
  static constexpr double kMaxLag = 0.3;  ///< [s]

  /// `obstacles`: the first `moving` of them may change their pose. `cost`: of the plans, in place
  /// of that of the options, which must outlive the planner; null: none.
  PredictivePlanner(const ContinuumRobot& robot, const Obstacles& obstacles, int moving,
                    const PredictivePlannerOptions& options, PlanCost* cost = nullptr);

  Step step(const TipTarget& target, const ArmMeasurement& measurement,
            std::span<const double> memory, std::span<double> next_memory) noexcept override;
  [[nodiscard]] const ContinuumRobot& robot() const noexcept override { return rollouts_.robot(); }
  /// The learnt lag of the body behind its commands [s].
  [[nodiscard]] double lag(std::span<const double> memory) const noexcept { return lag_(memory); }

 private:
  void measure(const TipTarget& target, const ArmMeasurement& measurement,
               std::span<const double> memory, std::span<double> next_memory) noexcept;
  void make_plan(const ArmRollouts::Start& start, std::span<double> next_memory,
                 Step& step) noexcept;
  void sample(const ArmRollouts::Start& start, std::span<double> next_memory, Step& step) noexcept;
  void set_line(int sample, const Eigen::Ref<const Eigen::VectorXd>& pose) noexcept;
  void add_noise(int sample, const RandomDraws& random, std::uint64_t first) noexcept;
  void evaluate(int first, int last) noexcept;
  void take(int sample, std::span<double> next_memory) noexcept;
  void follow(int steps, std::span<const double> next_memory) noexcept;
  void clamp(Eigen::Ref<Eigen::VectorXd> pose) noexcept;

  PredictivePlannerOptions options_;
  int period_steps_;
  ArmRollouts rollouts_;
  PlanCost* cost_;
  AutoSolver solver_;
  ObstacleForecast forecast_;

  Slot<int> steps_, round_;  // since the last plan; plans made
  Slot<bool> follows_;       // the plan; else straight to the solution
  MatrixSlot<Eigen::MatrixXd> plan_;
  MatrixSlot<Eigen::VectorXd> body_;
  Slot<double> lag_;
  Slot<bool> known_;  // after the first step
  MatrixSlot<Eigen::Vector3d> target_, target_velocity_;
  Block forecast_memory_;

  // Scratch.
  Obstacles obstacles_;
  std::vector<SectionState> states_;
  std::vector<double> costs_, weights_;
  Eigen::VectorXd q_last_, q_solution_, q_next_, q_body_;
  Eigen::VectorXd scale_;  // of the noise, per coordinate
};

}  // namespace tendril
