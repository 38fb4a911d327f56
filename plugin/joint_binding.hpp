#pragma once

#include "plugin/robot_binding.hpp"

namespace tendril {

/// A joint of what carries an arm, with its own position servo.
struct BoundJoint : JointAddress {
  Servo servo;
  double mass = 0.0;  ///< of all bodies that it moves [kg]
  bool is_slide = false;
};

/// A joint of the scene with the actuator that moves it.
[[nodiscard]] BoundJoint bind_joint(const mjModel* m, int joint, int actuator);

/// Adds the distance of a joint from its desired position.
void add_joint(FollowingError& error, const BoundJoint& joint, const JointState& state,
               double desired, int last_touched) noexcept;

}  // namespace tendril
