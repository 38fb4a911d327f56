#pragma once

#include <mujoco/mujoco.h>

#include <span>
#include <string>
#include <vector>

#include "plugin/scene_obstacles.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

/// Says which geoms are no obstacles because the straight arm nowhere leaves them.
[[nodiscard]] std::string left_out_text(const SceneObstacles& obstacles);

/// Returns such a line for each arm that avoids obstacles and has geoms left out.
[[nodiscard]] std::vector<std::string> left_out_obstacles(const mjModel& model,
                                                          std::span<const SceneRobot> robots);

}  // namespace tendril::simulation
