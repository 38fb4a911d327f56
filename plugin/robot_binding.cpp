#include "plugin/robot_binding.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "binding/arm_model.hpp"
#include "plugin/bound_mechanism.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

namespace {

/// Orientation of a body in the world with all joints where the model is written.
Eigen::Matrix3d written_orientation(const mjModel* m, int body) {
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  for (; body > 0; body = m->body_parentid[body]) {
    mjtNum rotation[9];
    mju_quat2Mat(rotation, m->body_quat + 4 * body);
    R = ConstMatrix3(rotation) * R;
  }
  return R;
}

}  // namespace

std::optional<Eigen::Matrix3d> standing_orientation(const mjModel* m, int body) {
  for (int b = body; b > 0; b = m->body_parentid[b])
    if (m->body_jntnum[b] > 0) return std::nullopt;
  return written_orientation(m, body);
}

bool stays_upright(const mjModel* m, int body) {
  constexpr double kParallel = 1e-9;  // sine
  const ConstVector3 gravity(m->opt.gravity);
  for (; body > 0; body = m->body_parentid[body]) {
    for (int j = m->body_jntadr[body]; j < m->body_jntadr[body] + m->body_jntnum[body]; ++j) {
      if (m->jnt_type[j] == mjJNT_SLIDE) continue;
      if (m->jnt_type[j] != mjJNT_HINGE) return false;
      const Eigen::Vector3d axis = written_orientation(m, body) * ConstVector3(m->jnt_axis + 3 * j);
      if (axis.cross(gravity).norm() > kParallel * gravity.norm()) return false;
    }
  }
  return true;
}

bool is_below(const mjModel* m, int body, int root) noexcept {
  while (body > root) body = m->body_parentid[body];  // a parent comes first
  return body == root;
}

int InstanceContext::require(mjtObj type, const std::string& name) const {
  return require_element(model, names, type, name);
}

MeasurementFaultList faults_of(const InstanceContext& context) {
  return parse_measurement_faults(context.settings.text("measurement_faults"),
                                  context.names.label());
}

bool sees_sensors(const InstanceContext& context) {
  return context.settings.choice_index("measured") != 0;
}

void JointAddress::read(const mjData* d, JointState& state) const noexcept {
  state.axis = ConstVector3(d->xaxis + 3 * joint);
  state.anchor = ConstVector3(d->xanchor + 3 * joint);
  state.center_of_mass = ConstVector3(d->subtree_com + 3 * body);
  state.position = d->qpos[qpos];
  state.velocity = d->qvel[dof];
}

JointAddress joint_address(const InstanceContext& context, const std::string& name) {
  return joint_address(context.model, context.require(mjOBJ_JOINT, name));
}

JointAddress joint_address(const mjModel* m, int joint) noexcept {
  return {joint, m->jnt_qposadr[joint], m->jnt_dofadr[joint], m->jnt_bodyid[joint]};
}

void require_no_more_joints(const InstanceContext& context, std::vector<int> joints) {
  const mjModel* m = context.model;
  const auto kind_of = [&](int joint) {  // its name in the robot without numbers
    const char* const name = mj_id2name(m, mjOBJ_JOINT, joint);
    std::string kind(context.names.element(name != nullptr ? name : "").value_or(""));
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    return kind;
  };
  const int base = context.require(mjOBJ_BODY, names::kBase);
  std::set<std::string> kinds;
  for (const int joint : joints) kinds.insert(kind_of(joint));
  std::sort(joints.begin(), joints.end());
  for (int joint = 0; joint < m->njnt; ++joint) {
    if (!is_below(m, m->jnt_bodyid[joint], base) || !kinds.contains(kind_of(joint)) ||
        std::binary_search(joints.begin(), joints.end(), joint))
      continue;
    throw ModelError(std::string("robot: has no joint ") + mj_id2name(m, mjOBJ_JOINT, joint) +
                     ", which the model has: must describe the robot that the model contains");
  }
}

void read_mocap_pose(const mjData* d, int mocap, int base, Eigen::Isometry3d& X_BM) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base), p_WM(d->mocap_pos + 3 * mocap);
  const ConstMatrix3 R_WB(d->xmat + 9 * base);
  const mjtNum* q = d->mocap_quat + 4 * mocap;
  X_BM.translation().noalias() = R_WB.transpose() * (p_WM - p_WB);
  X_BM.linear().noalias() =
      R_WB.transpose() * Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
}

double weighing_mass(const mjModel* m, int body) noexcept {
  if (m->ngravcomp == 0) return m->body_subtreemass[body];
  double mass = 0.0;
  for (int b = body; b < m->nbody; ++b) {
    if (is_below(m, b, body)) mass += m->body_mass[b] * (1.0 - m->body_gravcomp[b]);
  }
  return mass;
}

Servo servo_of(const mjModel* m, int actuator, double passive_damping) {
  return servo_of(engine_actuator(m, actuator), numerical_damping_time(m), passive_damping);
}

bool can_be_driven(const mjModel* m, int actuator) noexcept {
  constexpr int kGroups = 31;  // of actuators that can be disabled
  const int group = m->actuator_group[actuator];
  const bool disabled =
      (m->opt.disableflags & mjDSBL_ACTUATION) != 0 ||
      (group >= 0 && group < kGroups && (m->opt.disableactuator >> group & 1) != 0);
  const mjtNum gain = m->actuator_gainprm[actuator * mjNGAIN];
  const mjtNum* const range = m->actuator_forcerange + 2 * actuator;
  // A servo acts against its error; one on a tendon that pulls has a gear of -1.
  const mjtNum sense =
      m->actuator_biastype[actuator] == mjBIAS_NONE ? gain : gain * m->actuator_gear[6 * actuator];
  return !disabled && sense > 0.0 && std::isfinite(gain) &&
         (!m->actuator_forcelimited[actuator] || range[1] > range[0]);
}

Eigen::Vector3d compensated_gravity(const mjModel* m, bool compensation) {
  if (!compensation || (m->opt.disableflags & mjDSBL_GRAVITY)) return Eigen::Vector3d::Zero();
  const Eigen::Vector3d gravity = ConstVector3(m->opt.gravity);
  if (!gravity.allFinite()) throw ModelError("option gravity: must be finite");
  return gravity;
}

}  // namespace tendril
