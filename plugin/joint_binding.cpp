#include "plugin/joint_binding.hpp"

#include <cmath>

#include "tendril/model_error.hpp"

namespace tendril {

BoundJoint bind_joint(const InstanceContext& context, const std::string& name,
                      std::vector<int>& actuators) {
  const JointAddress address = joint_address(context, name);
  const int actuator = context.require(mjOBJ_ACTUATOR, name);
  actuators.push_back(actuator);
  return bind_joint(context.model, address.joint, actuator);
}

BoundJoint bind_joint(const mjModel* m, int joint, int actuator) {
  const JointAddress address = joint_address(m, joint);
  return {address, servo_of(m, actuator, m->dof_damping[address.dof]),
          weighing_mass(m, address.body), m->jnt_type[joint] == mjJNT_SLIDE};
}

void add_joint(FollowingError& error, const BoundJoint& joint, const JointState& state,
               double desired, int last_touched) noexcept {
  error.add(std::abs(desired - state.position), joint.is_slide, joint.body > last_touched);
}

void require_joint_commands(const InstanceContext& context, const char* key, bool has_motors,
                            CommandKind commands) {
  const bool torques = commands != CommandKind::Setpoints;
  if (torques == has_motors) return;
  const auto word = [](bool motors) { return motors ? "\"torque\"" : "\"angle\""; };
  throw ModelError(std::string("robot: ") + key + " = " + word(has_motors) + ": must be " +
                   word(torques) + ": " + context.kind.name + " commands " +
                   (torques ? "torques" : "setpoints"));
}

}  // namespace tendril
