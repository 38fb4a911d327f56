#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

#include "controllers/interface/settings.hpp"
#include "plugin/arm_binding.hpp"

namespace tendril {

/// An arm with its controller, for programs that run the same law elsewhere, such as on a GPU.
struct ArmTable {
  std::string prefix;        ///< of the names of its elements
  std::string controller;    ///< such as "tendril.reach"
  Settings::Texts settings;  ///< the defaults included; `robot`: the text of its robot file
  ArmBinding::Parts parts;
};

/// The arms of the model that a built-in controller drives, in the order of the instances.
/// Throws ModelError.
[[nodiscard]] std::vector<ArmTable> arm_tables(const mjModel* m);

}  // namespace tendril
