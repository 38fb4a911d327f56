#pragma once

#include <mujoco/mujoco.h>

#include <span>

#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

/// Size of a robot, to which the numbers of an experiment are compared.
struct RobotScale {
  double length = 0.0;    ///< farthest point of its body from the base, stretched out [m]
  double mass = 0.0;      ///< [kg]
  double range = 0.0;     ///< largest angle of its sections or joints [rad]; 0: unknown
  bool is_fixed = false;  ///< its base cannot move through the scene

  /// Returns the weight on Earth, wherever the robot is [N].
  [[nodiscard]] double weight() const noexcept;
};

/// Returns the size of a robot of a scene.
[[nodiscard]] RobotScale scale_of(const mjModel& model, const SceneRobot& robot);
/// Returns the largest of each number of several robots, and whether all of them stay.
[[nodiscard]] RobotScale largest_scale(std::span<const RobotScale> robots) noexcept;

}  // namespace tendril::simulation
