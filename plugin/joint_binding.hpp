#pragma once

#include <span>
#include <vector>

#include "binding/driven_joint.hpp"
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
void add_joint(FollowingError& error, const JointAddress& joint, bool is_slide,
               const JointState& state, double desired, int last_touched) noexcept;

/// Addresses of joints of a mechanism that is bound to the model; adds those of their actuators.
[[nodiscard]] std::vector<JointAddress> addresses_of(const mjModel* m, const Mechanism& mechanism,
                                                     std::span<const DrivenJoint> joints,
                                                     std::vector<int>& actuators);

}  // namespace tendril
