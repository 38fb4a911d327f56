#pragma once

#include <mujoco/mujoco.h>

#include <span>

#include "controllers/arm/arm_chain.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// The bodies of an arm in a model, from its base on.
/// @param joints  of the coordinates, in the order of ArmMechanics::State::joints
[[nodiscard]] ArmChain bound_chain(const mjModel* m, int base_body, int tip_site,
                                   std::span<const JointAddress> joints, const JointAddress& feed,
                                   const JointAddress& spin);

}  // namespace tendril
