#pragma once

#include <mujoco/mujoco.h>

#include <string_view>
#include <vector>

#include "plugin/instance_context.hpp"
#include "tendril/kinematics/serial_chain.hpp"

namespace tendril {

/// The joints that carry a robot's base: the hinges and slides between it and the world, or a body
/// that floats or hangs on a ball joint.
struct Carrier {
  /// Throws ModelError if there are none.
  Carrier(const mjModel* m, int base_body);

  /// Throws ModelError naming a joint that has no position servo, or that another controller moves.
  void require_free_servos(const InstanceContext& context) const;

  SerialChain chain;           ///< to the base, from the body that carries it all
  std::vector<int> joints;     ///< from there on
  std::vector<int> actuators;  ///< their servos, as far as they have some; else -1
};

/// Tells whether a controller moves the joints that carry the base of its arm.
[[nodiscard]] inline bool moves_carrier(std::string_view controller) noexcept {
  return controller == "tendril.whole_body";
}

}  // namespace tendril
