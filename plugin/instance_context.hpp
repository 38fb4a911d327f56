#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "controllers/controller_kind.hpp"
#include "plugin/robot_names.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// Context of a binding: an instance of a controller plugin in a model.
struct InstanceContext {
  const mjModel* model;
  int instance;
  const ControllerKind& kind;
  const RobotDescription& robot;
  const Settings& settings;
  RobotNames names;  ///< of the robot's elements

  /// Index of an element that the robot must have, by its name without prefix and suffix. Throws
  /// ModelError.
  [[nodiscard]] int require(mjtObj type, const std::string& name) const;
};

}  // namespace tendril
