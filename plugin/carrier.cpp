#include "plugin/carrier.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "plugin/robot_binding.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;

Isometry3d pose_in_parent(const mjModel* m, int body) {
  const mjtNum* const q = m->body_quat + 4 * body;
  Isometry3d X = Isometry3d::Identity();
  X.translation() = ConstVector3(m->body_pos + 3 * body);
  X.linear() = Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  return X;
}

bool has_free_joint(const mjModel* m, int body) {
  const int first = m->body_jntadr[body];
  return std::any_of(m->jnt_type + first, m->jnt_type + first + m->body_jntnum[body],
                     [](int type) { return type == mjJNT_FREE || type == mjJNT_BALL; });
}

/// The position servo of a joint; -1: none, or the model has no actuators yet, as while it is being
/// compiled.
int servo_on(const mjModel* m, int joint) {
  for (int i = 0; i < m->nu; ++i) {
    if (m->actuator_trntype[i] == mjTRN_JOINT && m->actuator_trnid[2 * i] == joint &&
        m->actuator_gaintype[i] == mjGAIN_FIXED && m->actuator_biastype[i] == mjBIAS_AFFINE &&
        m->actuator_biasprm[i * mjNBIAS + 1] < 0.0 && m->actuator_gear[6 * i] == 1.0)
      return i;
  }
  return -1;
}

std::string joint_name(const mjModel* m, int joint) {
  const char* const name = mj_id2name(m, mjOBJ_JOINT, joint);
  return name != nullptr && *name != '\0' ? std::string(name) : std::to_string(joint);
}

}  // namespace

Carrier::Carrier(const mjModel* m, int base_body) {
  std::vector<int> bodies;  // from the base up
  for (int body = base_body; body > 0 && !has_free_joint(m, body); body = m->body_parentid[body])
    bodies.push_back(body);
  std::reverse(bodies.begin(), bodies.end());
  std::vector<ChainJoint> chain_joints;
  Isometry3d X = Isometry3d::Identity();  // of the body in the frame of the last joint
  for (const int body : bodies) {
    X = X * pose_in_parent(m, body);
    for (int k = 0; k < m->body_jntnum[body]; ++k) {
      const int joint = m->body_jntadr[body] + k;
      const Eigen::Translation3d anchor(ConstVector3(m->jnt_pos + 3 * joint));
      ChainJoint row{.X_PJ = X * anchor,
                     .axis = ConstVector3(m->jnt_axis + 3 * joint),
                     .is_slide = m->jnt_type[joint] == mjJNT_SLIDE,
                     .zero = m->qpos0[m->jnt_qposadr[joint]]};
      if (m->jnt_limited[joint] != 0) {
        row.min = m->jnt_range[2 * joint];
        row.max = m->jnt_range[2 * joint + 1];
      }
      const int servo = servo_on(m, joint);
      if (servo >= 0 && m->actuator_ctrllimited[servo] != 0) {
        row.min = std::max(row.min, m->actuator_ctrlrange[2 * servo]);
        row.max = std::min(row.max, m->actuator_ctrlrange[2 * servo + 1]);
      }
      chain_joints.push_back(row);
      X = Isometry3d(anchor.inverse());
      joints.push_back(joint);
      actuators.push_back(servo);
    }
  }
  if (joints.empty()) {
    const char* const name = mj_id2name(m, mjOBJ_BODY, base_body);
    throw ModelError(fmt::format(
        "body {}: no joint carries it: must be attached to a body that joints with position servos "
        "move, such as the flange of a robot arm",
        name != nullptr ? name : ""));
  }
  chain = SerialChain(std::move(chain_joints), X);
}

void Carrier::require_free_servos(const InstanceContext& context) const {
  const mjModel* m = context.model;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (actuators[j] >= 0) continue;
    throw ModelError(
        fmt::format("joint {}: carries the base of the arm and has no position servo: must have an "
                    "actuator `position` of gear 1",
                    joint_name(m, joints[j])));
  }
  for (int other = 0; other < m->nplugin; ++other) {
    const char* const robot =
        other == context.instance ? nullptr : mj_getPluginConfig(m, other, "robot");
    if (robot == nullptr || *robot == '\0') continue;
    const int base = mj_name2id(m, mjOBJ_BODY, robot_names(m, other)(names::kBase).c_str());
    const mjpPlugin* const plugin = mjp_getPluginAtSlot(m->plugin[other]);
    for (const int joint : joints) {
      const int body = m->jnt_bodyid[joint];
      const bool is_its_own = is_below(m, body, base);
      const bool carries_it =
          plugin != nullptr && moves_carrier(plugin->name) && is_below(m, base, body);
      if (!is_its_own && !carries_it) continue;
      const char* const name = mj_id2name(m, mjOBJ_PLUGIN, other);
      throw ModelError(
          fmt::format("joint {}: is driven by instance '{}' too: must have one controller",
                      joint_name(m, joint), name != nullptr ? name : ""));
    }
  }
}

}  // namespace tendril
