#pragma once

#include <Eigen/Core>
#include <span>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Poses of moving obstacles ahead in time: they keep the velocity and the rate of rotation that
/// were measured from step to step, smoothed over kSmoothing. A jump of an obstacle is no motion.
/// Tested by: predictive_planner_test.
class ObstacleForecast {
 public:
  static constexpr double kSmoothing = 0.03;  ///< of the velocities [s]
  static constexpr double kJump = 0.05;       ///< change in a step that is a jump [m], [rad]
  static constexpr double kDoubt = 0.1;       ///< growth over the distance foreseen

  /// @param moving    the first obstacles of a list, which may move
  /// @param timestep  [s]
  ObstacleForecast(int moving, double timestep);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Takes in the poses of one step. `next_memory` is a copy of `memory` on entry.
  void measure(const Obstacles& obstacles, std::span<const double> memory,
               std::span<double> next_memory) const noexcept;
  /// Moves the obstacles to where they are expected `duration` [s] >= 0 after the measured step.
  void place(double duration, std::span<const double> memory, Obstacles& obstacles) const noexcept;

 private:
  static constexpr int kRows = 13;  // position, quaternion, velocity, rate of rotation

  int moving_;
  double timestep_;
  MemoryLayout layout_;
  Slot<bool> known_;                     // after the first step
  MatrixSlot<Eigen::MatrixXd> motions_;  // of each moving obstacle, a column each
};

}  // namespace tendril
