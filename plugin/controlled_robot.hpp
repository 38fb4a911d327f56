#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>
#include <vector>

#include "controllers/interface/settings.hpp"
#include "plugin/instance.hpp"
#include "plugin/robot_names.hpp"

namespace tendril {

/// A robot with its controller, for programs that run the same law elsewhere, such as on a GPU.
struct ControlledRobot {
  RobotNames names;          ///< of its elements
  std::string controller;    ///< such as "tendril.reach"
  Settings::Texts settings;  ///< the defaults included; `robot`: the text of its robot file
  std::unique_ptr<const Instance> instance;
};

/// The robots of the model that a built-in controller drives, in the order of the instances.
/// Throws ModelError.
[[nodiscard]] std::vector<ControlledRobot> controlled_robots(const mjModel* m);

}  // namespace tendril
