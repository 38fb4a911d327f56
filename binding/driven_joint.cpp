#include "binding/driven_joint.hpp"

#include "binding/arm_model.hpp"

namespace tendril {

DrivenJoint driven_joint(const Mechanism& mechanism, const std::string& name) {
  const int joint = mechanism.joint(name), actuator = mechanism.actuator(name);
  const Mechanism::Joint& of = mechanism.joints[static_cast<std::size_t>(joint)];
  return {.joint = joint,
          .actuator = actuator,
          .servo = servo_of(mechanism.actuators[static_cast<std::size_t>(actuator)],
                            mechanism.numerical_damping_time, of.damping),
          .mass = mechanism.weighing_mass(of.body),
          .is_slide = of.is_slide};
}

}  // namespace tendril
