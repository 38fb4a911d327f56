#include "plugin/joint_binding.hpp"

#include <cmath>

namespace tendril {

BoundJoint bind_joint(const mjModel* m, int joint, int actuator) {
  const JointAddress address = joint_address(m, joint);
  return {address, servo_of(m, actuator, m->dof_damping[address.dof]),
          weighing_mass(m, address.body), m->jnt_type[joint] == mjJNT_SLIDE};
}

void add_joint(FollowingError& error, const BoundJoint& joint, const JointState& state,
               double desired, int last_touched) noexcept {
  error.add(std::abs(desired - state.position), joint.is_slide, joint.body > last_touched);
}

}  // namespace tendril
