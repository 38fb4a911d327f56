#pragma once

#include <mujoco/mujoco.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/robot_names.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation {

/// A robot of a compiled scene that a controller drives.
struct SceneRobot {
  RobotNames names;              ///< of its elements
  int base = -1;                 ///< body; -1: the model has none of that name
  int plugin = 0;                ///< instance of its controller
  std::string controller;        ///< name of that plugin, "tendril.reach"
  std::string target;            ///< mocap body that the controller follows; empty: it needs none
  RobotDescription description;  ///< its file, with the settings of the scene

  /// Returns a value of the controller's configuration; empty if there is none.
  [[nodiscard]] std::string config(const mjModel& model, const char* key) const;
};

/// Returns the robots that controllers drive, in the order of their controllers. Throws ModelError.
/// @param known  descriptions that have been read; those of other robots are read from the model
[[nodiscard]] std::vector<SceneRobot> robots_of(const mjModel& model,
                                                std::span<const RobotDescription> known = {});

/// Returns the instance of the controller of the robot with these names; -1: none.
[[nodiscard]] int find_controller(const mjModel& model, const RobotNames& names);

/// Returns the controller that drives each actuator: "tendril.reach of A_"; empty: none does.
[[nodiscard]] std::vector<std::string> drivers_of(const mjModel& model,
                                                  std::span<const SceneRobot> robots);

/// Returns a line for each target of an arm on a fixed base that is farther from the base than the
/// arm can reach.
[[nodiscard]] std::vector<std::string> distant_targets(const mjModel& model, const mjData& data,
                                                       std::span<const SceneRobot> robots);

}  // namespace tendril::simulation
