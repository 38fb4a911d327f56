#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {

/// Returns a line for each mesh of the surroundings that a robot can touch and whose hull fills it:
/// the engine collides with the convex hull, and the surface is open, or encloses clearly less.
[[nodiscard]] std::vector<std::string> filled_meshes(const mjModel& model,
                                                     const RobotBodies& robots);

}  // namespace tendril::simulation
