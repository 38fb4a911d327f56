#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/controller.hpp"
#include "tendril/avoidance/arm_path_planner.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"

namespace tendril {

struct ReactivePlannerOptions {
  double position_tolerance = 1e-6;  ///< of the inverse kinematics [m], > 0
  double angle_tolerance = 1e-4;     ///< [rad], > 0
  int max_iterations = 50;           ///< of the inverse kinematics in one step, >= 1
  double body_radius = 0.0;          ///< [m], >= 0
  double margin = 0.002;             ///< kept between body and obstacles [m], >= 0
  double rate_limit = 5.0;           ///< fastest change of a section command [rad/s], > 0
  double timestep = 0.002;           ///< [s], > 0
};

/// Leads an arm's planned pose towards a target through poses that keep off the obstacles.
///
/// 1. Inverse kinematics among the obstacles from the last solution. Where it comes to rest short
/// of
///    the target, other poses are tried, a bounded number for each millimetre that the target
///    moves; for a target inside an obstacle the nearest point outside is aimed at.
/// 2. A way from the planned pose to the solution: the straight line, or a searched one with turns.
///    As long as there is none the arm waits, and the search goes on with other random poses.
/// 3. One step along the way within the rate limit, only to a pose that is free.
///
/// Obstacles that move grow by their speed times kLookAhead; when one comes so near that the
/// planned pose is no longer free the arm backs away from it. Answers keep the whole margin, the
/// way between them kPathMargin of it: the straight step between two poses that touch dips into
/// what they touch. docs/planning.md, "In tendril.reach".
///
/// Nothing but the constructor allocates or throws; the work of a step is bounded. All that is
/// remembered is in the caller's memory.
class ReactivePlanner {
 public:
  static constexpr double kLookAhead = 0.05;   ///< [s]
  static constexpr double kMostGrowth = 0.02;  ///< of a moving obstacle [m]
  static constexpr double kPathMargin = 0.75;

  /// `obstacles`: the first `moving` of them may change their pose. Throws ModelError when an
  /// option is outside its range or the base lies within an obstacle that does not move.
  ReactivePlanner(const ContinuumRobot& robot, const Obstacles& obstacles, int moving,
                  const ReactivePlannerOptions& options);

  /// Of its memory.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// The planned pose in the memory.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> pose(
      std::span<const double> memory) const noexcept {
    return pose_memory_(memory);
  }
  /// The solution in the memory: theta, phi, extension of each section.
  [[nodiscard]] std::span<const double> solution(std::span<const double> memory) const noexcept {
    return solution_memory_(memory);
  }

  struct Step {
    bool reached = false;  ///< the solution meets the target, and there is a way to it
    bool there = false;    ///< the planned pose is the solution
    int iterations = 0;    ///< poses evaluated by the inverse kinematics
    double scale = 0.0;    ///< part of the way to the next turn or the solution that the step goes
  };
  /// One step; `obstacles` has the shapes given to the constructor where they are now. The new
  /// planned pose is that in `next_memory`.
  Step step(const TipTarget& target, const BaseState& base, const Obstacles& obstacles,
            std::span<const double> memory, std::span<double> next_memory) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return tracker_.robot(); }

 private:
  void place_obstacles(const Obstacles& obstacles, std::span<const double> memory,
                       std::span<double> next_memory) noexcept;
  [[nodiscard]] bool find_solution(const TipTarget& target, const BaseState& base,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   Step& step) noexcept;
  [[nodiscard]] bool find_path(const Eigen::VectorXd& from, const Eigen::Vector3d& goal,
                               const BaseState& base, std::span<double> next_memory) noexcept;
  void forget_path(std::span<double> next_memory) const noexcept;
  void back_away(const BaseState& base, std::span<double> next_memory) noexcept;
  [[nodiscard]] double step_fraction(const Eigen::VectorXd& from,
                                     const Eigen::VectorXd& to) const noexcept;

  /// Of the numbers of a moving obstacle: position, quaternion, speed.
  static constexpr int kMovingRows = 8;

  ReactivePlannerOptions options_;
  int moving_;
  ObstacleSolver tracker_, searcher_;
  ArmPathPlanner planner_;

  MemoryLayout layout_;
  Block solution_memory_;
  MatrixSlot<Eigen::VectorXd> pose_memory_;
  Slot<int> searches_;                           // for another solution, since the target moved
  MatrixSlot<Eigen::Vector3d> searched_target_;  // the target then
  Slot<int> waits_;                              // steps without a path to the solution
  Slot<int> waypoint_count_, next_waypoint_;     // of the path
  MatrixSlot<Eigen::MatrixXd> waypoints_;        // a column each
  Slot<bool> obstacles_known_;                   // moving_memory_ is that of the step before
  MatrixSlot<Eigen::MatrixXd> moving_memory_;    // of each moving obstacle, a column each

  // Scratch.
  Obstacles obstacles_;
  std::vector<SectionState> states_, solution_;
  Eigen::VectorXd q_last_, q_solution_, q_goal_, q_next_, direction_;
};

}  // namespace tendril
