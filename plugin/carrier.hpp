#pragma once

#include <mujoco/mujoco.h>

#include <vector>

#include "tendril/kinematics/serial_chain.hpp"

namespace tendril {

/// The joints that carry a robot's base: the hinges and slides between it and the world, or a body
/// that floats or hangs on a ball joint.
struct Carrier {
  /// Throws ModelError if there are none.
  Carrier(const mjModel* m, int base_body);

  /// Throws ModelError naming a joint that has no position servo.
  void require_servos(const mjModel* m) const;

  SerialChain chain;           ///< to the base, from the body that carries it all
  std::vector<int> joints;     ///< from there on
  std::vector<int> actuators;  ///< their servos, as far as they have some; else -1
};

}  // namespace tendril
