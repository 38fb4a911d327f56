#pragma once

#include <Eigen/Core>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/move_timing.hpp"
#include "controllers/arm/pose_planner.hpp"
#include "tendril/avoidance/arm_path_planner.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"

namespace tendril {

struct ReactivePlannerOptions {
  double position_tolerance = 1e-6;  ///< of the inverse kinematics [m], > 0
  double angle_tolerance = 1e-4;     ///< [rad], > 0
  int max_iterations = 50;           ///< of the inverse kinematics in one step, >= 1
  double body_radius = 0.0;          ///< [m], >= 0
  double margin = 0.002;             ///< least clearance between body and obstacles [m], >= 0
  PoseRates rates;
  std::optional<MoveTiming> timing = {};  ///< of moves; none: at the rate limit
  double timestep = 0.002;                ///< [s], > 0
  /// While the base moves, and where nothing reaches the target, the arm keeps its pose. The base
  /// moves when all obstacles do.
  bool waits_for_base = false;
};

/// Moves an arm's planned pose towards a target through collision-free poses.
///
/// 1. Inverse kinematics among the obstacles, from the last solution. For a target inside an
/// obstacle
///    the goal is the nearest point outside.
/// 2. A path from the planned pose to the solution: the straight line, or the path of a search. A
///    search begins when there is no free line to a solution that reaches the target, or no such
///    solution. It collects solutions from random poses and grows a tree of poses from the planned
///    one towards trees from all of them; in a step it makes a bounded number of checks, and the
///    arm waits until it ends. Where there is no solution the arm goes as near as a free line
///    leads.
/// 3. One step along the path within the rate limit, only to a free pose.
///
/// A moving obstacle is inflated by its speed times kLookAhead. If it comes so near that the
/// planned pose is no longer free, the arm backs away. Solutions keep the whole margin, paths
/// between them the fraction kPathMargin of it, because the straight step between two touching
/// poses penetrates the obstacle slightly; the checks along a path that is followed, which fall on
/// other poses than those of the search, require kGuardMargin. docs/guide/clutter.md.
///
/// A base that feeds is planned too where the robot is `ContinuumRobot::on_rail`.
///
/// Only the constructor allocates or throws; the work of a step is bounded.
class ReactivePlanner final : public PosePlanner {
 public:
  static constexpr double kLookAhead = 0.05;  ///< [s]
  static constexpr double kMaxGrowth = 0.02;  ///< largest inflation of a moving obstacle [m]
  static constexpr double kPathMargin = 0.75;
  static constexpr double kGuardMargin = 0.5;  ///< while following a path that was found

  /// `obstacles`: the first `moving` of them may change their pose. Throws ModelError when an
  /// option is outside its range or the base lies within an obstacle that does not move.
  ReactivePlanner(const ContinuumRobot& robot, const Obstacles& obstacles, int moving,
                  const ReactivePlannerOptions& options);

  /// `measurement.obstacles` has the shapes given to the constructor at their present poses.
  Step step(const TipTarget& target, const ArmMeasurement& measurement,
            std::span<const double> memory, std::span<double> next_memory) noexcept override;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept override { return tracker_.robot(); }

 private:
  void place_obstacles(const Obstacles& obstacles, std::span<const double> memory,
                       std::span<double> next_memory) noexcept;
  [[nodiscard]] bool find_solution(TipTarget& goal, const BaseState& base,
                                   std::span<const double> memory, Step& step) noexcept;
  void approach(const BaseState& base, std::span<const double> memory) noexcept;
  [[nodiscard]] bool find_path(const BaseState& base, std::span<double> next_memory) noexcept;
  void search(const TipTarget& goal, bool reached, const BaseState& base,
              std::span<double> next_memory, Step& step) noexcept;
  void keep_goal(const Eigen::VectorXd& q, std::span<double> next_memory) noexcept;
  void grow(const BaseState& base, std::span<double> next_memory) noexcept;
  void grow_tip(const TipTarget& goal, const BaseState& base, std::span<double> next_memory,
                Step& step) noexcept;
  [[nodiscard]] bool base_moves(std::span<const double> memory) const noexcept;
  [[nodiscard]] bool obstacles_move(std::span<const double> memory) const noexcept;
  void forget_path(std::span<double> next_memory) const noexcept;
  void follow(const BaseState& base, double slack, const ArmMeasurement& measurement,
              std::span<double> next_memory, Step& step) noexcept;
  void back_away(const BaseState& base, std::span<double> next_memory) noexcept;
  [[nodiscard]] double step_fraction(const Eigen::VectorXd& from,
                                     const Eigen::VectorXd& to) const noexcept;

  /// Numbers per moving obstacle: position, quaternion, speed.
  static constexpr int kMovingRows = 8;

  ReactivePlannerOptions options_;
  int moving_;
  double slack_;  // between kPathMargin and kGuardMargin [m]
  ObstacleSolver tracker_, searcher_, stepper_;
  ArmPathPlanner planner_;

  // A search: for which target, its steps so far, the solutions found (a column each), whether the
  // trees are growing, and how often they began to.
  Slot<bool> searching_;
  MatrixSlot<Eigen::Vector3d> searched_target_;
  Slot<int> search_steps_, goal_count_;
  MatrixSlot<Eigen::MatrixXd> goals_;
  Slot<bool> growing_;
  Slot<int> trees_begun_;
  Slot<int> tip_count_;  // of the poses reached: known positions of their tips, a column each
  MatrixSlot<Eigen::MatrixXd> tips_;
  Block trees_, timing_memory_;
  Slot<int> waypoint_count_, next_waypoint_;   // of the path
  MatrixSlot<Eigen::MatrixXd> waypoints_;      // a column each
  Slot<bool> rail_known_;                      // of a robot on a rail: after its first step
  Slot<bool> obstacles_known_;                 // moving_memory_ holds the previous step
  MatrixSlot<Eigen::MatrixXd> moving_memory_;  // of each moving obstacle, a column each

  // Scratch.
  int tips_done_ = 0;
  Obstacles obstacles_;
  std::vector<SectionState> states_, solution_;
  Eigen::VectorXd q_last_, q_solution_, q_goal_, q_next_, direction_;
};

}  // namespace tendril
