#pragma once

#include <vector>

#include "plugin/robot_binding.hpp"

namespace tendril {

/// A joint with its own position servo, as in snakes and mobile robots.
struct BoundJoint : JointAddress {
  Servo servo;
  double mass = 0.0;  ///< of all bodies that it moves [kg]
  bool is_slide = false;
};

/// Adds the joint's actuator, of the same name, to `actuators`. Throws ModelError if the robot has
/// no such joint or actuator.
[[nodiscard]] BoundJoint bind_joint(const InstanceContext& context, const std::string& name,
                                    std::vector<int>& actuators);

/// A joint of the scene with the actuator that moves it.
[[nodiscard]] BoundJoint bind_joint(const mjModel* m, int joint, int actuator);

/// Adds the distance of a joint from its desired position.
void add_joint(FollowingError& error, const BoundJoint& joint, const JointState& state,
               double desired, int last_touched) noexcept;

}  // namespace tendril
