#pragma once

#include <mujoco/mujoco.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/scene/robot_bodies.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

/// Returns what of the physics that a verdict rests on the scene has switched off, one per line:
/// flags of constraints, springs, dampers, actuators, limits, friction and equalities, as
/// far as the model has any, and groups of robots' actuators. Gravity is a property of the scene.
[[nodiscard]] std::vector<std::string> switched_off(const mjModel& model,
                                                    const RobotBodies& robots);

/// Tells whether two geoms can touch, by what the model says of them and of their bodies: masks,
/// excludes and pairs, rigid parts, parents and children. Flags that switch all contacts off are
/// not looked at.
[[nodiscard]] bool can_touch(const mjModel& model, int geom1, int geom2);

/// Returns why no contact at all can occur, by flags and options; nothing if contacts are on.
[[nodiscard]] std::optional<std::string> contacts_switched_off(const mjModel& model);
/// Returns the same if robots could touch something without; contacts are no part of a robot, so
/// its other checks hold.
[[nodiscard]] std::optional<std::string> missed_contacts(const mjModel& model,
                                                         const RobotBodies& robots);
/// Returns why robots cannot touch their surroundings although there are geoms, if only seen ones;
/// nothing if they can or if there are none.
[[nodiscard]] std::optional<std::string> contacts_switched_off(const mjModel& model,
                                                               const RobotBodies& robots);
/// Returns why this geom cannot touch a robot; nothing if it can.
[[nodiscard]] std::optional<std::string> contacts_switched_off(const mjModel& model,
                                                               const RobotBodies& robots, int geom);

/// Returns why no part of a robot can touch another part of it; nothing if some can.
[[nodiscard]] std::optional<std::string> self_contacts_switched_off(const mjModel& model,
                                                                    const RobotBodies& robots);

/// Throws ModelError if the sensors are switched off in a scene with controlled robots: status and
/// errors of controllers are read from them.
void require_sensors(const mjModel& model, std::span<const SceneRobot> robots,
                     const std::string& scene_name);

}  // namespace tendril::simulation
