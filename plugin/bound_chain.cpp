#include "plugin/bound_chain.hpp"

#include <algorithm>

namespace tendril {
namespace {

Eigen::Isometry3d pose(const mjtNum* position, const mjtNum* quaternion) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = ConstVector3(position);
  X.linear() = Eigen::Quaterniond(quaternion[0], quaternion[1], quaternion[2], quaternion[3])
                   .normalized()
                   .toRotationMatrix();
  return X;
}

}  // namespace

ArmChain bound_chain(const mjModel* m, int base_body, int tip_site,
                     std::span<const JointAddress> joints, const JointAddress& feed,
                     const JointAddress& spin) {
  using Role = ArmChain::Role;
  std::vector<ArmChain::Body> bodies;
  std::vector<int> index(static_cast<std::size_t>(m->nbody), -1);  // of each body of the model
  const auto joint_of = [&](int j) {
    ArmChain::Joint joint{.is_slide = m->jnt_type[j] == mjJNT_SLIDE,
                          .axis = ConstVector3(m->jnt_axis + 3 * j),
                          .anchor = ConstVector3(m->jnt_pos + 3 * j),
                          .zero = m->qpos0[m->jnt_qposadr[j]]};
    const auto at = std::ranges::find(joints, j, &JointAddress::joint);
    if (at != joints.end()) {
      joint.role = Role::Coordinate;
      joint.index = static_cast<int>(at - joints.begin());
    } else if (j == feed.joint) {
      joint.role = Role::Feed;
    } else if (j == spin.joint) {
      joint.role = Role::Spin;
    }
    return joint;
  };
  for (int b = base_body; b < m->nbody; ++b) {
    const int parent = b == base_body ? -1 : index[static_cast<std::size_t>(m->body_parentid[b])];
    if (b != base_body && parent < 0) continue;
    index[static_cast<std::size_t>(b)] = static_cast<int>(bodies.size());
    ArmChain::Body& body =
        bodies.emplace_back(ArmChain::Body{.parent = parent,
                                           .X_PB = pose(m->body_pos + 3 * b, m->body_quat + 4 * b),
                                           .joints = {},
                                           .mass = m->body_mass[b] * (1.0 - m->body_gravcomp[b]),
                                           .center = ConstVector3(m->body_ipos + 3 * b)});
    for (int j = m->body_jntadr[b]; b != base_body && j < m->body_jntadr[b] + m->body_jntnum[b];
         ++j)
      body.joints.push_back(joint_of(j));
  }
  return {std::move(bodies), index[static_cast<std::size_t>(m->site_bodyid[tip_site])],
          pose(m->site_pos + 3 * tip_site, m->site_quat + 4 * tip_site)};
}

}  // namespace tendril
