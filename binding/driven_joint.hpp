#pragma once

#include <string>

#include "controllers/arm/servo.hpp"
#include "tendril/model/mechanism.hpp"

namespace tendril {

/// A joint with the actuator of its name.
struct DrivenJoint {
  int joint = -1, actuator = -1;  ///< of the mechanism
  Servo servo;
  double mass = 0.0;  ///< of all that it moves, by its weight [kg]
  bool is_slide = false;
};
/// Throws ModelError if the mechanism lacks the joint or the actuator.
[[nodiscard]] DrivenJoint driven_joint(const Mechanism& mechanism, const std::string& name);

}  // namespace tendril
