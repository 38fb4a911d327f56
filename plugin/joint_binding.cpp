#include "plugin/joint_binding.hpp"

#include <cmath>

namespace tendril {

BoundJoint bind_joint(const mjModel* m, int joint, int actuator) {
  const JointAddress address = joint_address(m, joint);
  return {address, servo_of(m, actuator, m->dof_damping[address.dof]),
          weighing_mass(m, address.body), m->jnt_type[joint] == mjJNT_SLIDE};
}

void add_joint(FollowingError& error, const JointAddress& joint, bool is_slide,
               const JointState& state, double desired, int last_touched) noexcept {
  error.add(std::abs(desired - state.position), is_slide, joint.body > last_touched);
}

std::vector<JointAddress> addresses_of(const mjModel* m, const Mechanism& mechanism,
                                       std::span<const DrivenJoint> joints,
                                       std::vector<int>& actuators) {
  std::vector<JointAddress> all;
  for (const DrivenJoint& joint : joints) {
    all.push_back(joint_address(m, mechanism.joints[static_cast<std::size_t>(joint.joint)].id));
    actuators.push_back(mechanism.actuators[static_cast<std::size_t>(joint.actuator)].id);
  }
  return all;
}

}  // namespace tendril
