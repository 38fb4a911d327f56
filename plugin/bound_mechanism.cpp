#include "plugin/bound_mechanism.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tendril/model/names.hpp"

namespace tendril {
namespace {

Eigen::Vector3d vector(const mjtNum* p) { return {p[0], p[1], p[2]}; }
Eigen::Quaterniond quaternion(const mjtNum* q) { return {q[0], q[1], q[2], q[3]}; }

/// Index of the element with this id; -1: there is none.
template <class Element>
int index_of(const std::vector<Element>& elements, int id) {
  const auto at = std::ranges::find(elements, id, &Element::id);
  return at == elements.end() ? -1 : static_cast<int>(at - elements.begin());
}

class Reader {
 public:
  Reader(const mjModel* m, const RobotNames& names) : names_(names), m_(m) {
    out_.prefix = names.prefix;
    out_.suffix = names.suffix;
    out_.timestep = m_->opt.timestep;
    out_.numerical_damping_time = numerical_damping_time(m_);
    const int start = mj_name2id(m_, mjOBJ_KEY, names::kStart);
    start_ = start >= 0 ? m_->key_qpos + start * m_->nq : m_->qpos0;
    const int base = require_element(m_, names, mjOBJ_BODY, names::kBase);
    int end = base;
    do {
      add_body(base, end);
      ++end;
    } while (end < m_->nbody && m_->body_parentid[end] >= base);
    for (int s = 0; s < m_->nsite; ++s)
      if (m_->site_bodyid[s] >= base && m_->site_bodyid[s] < end)
        out_.sites.push_back({.name = name(mjOBJ_SITE, s),
                              .body = m_->site_bodyid[s] - base,
                              .position = vector(m_->site_pos + 3 * s),
                              .orientation = quaternion(m_->site_quat + 4 * s),
                              .id = s});
    for (int t = 0; t < m_->ntendon; ++t) add_tendon(t);
    for (int a = 0; a < m_->nu; ++a) add_actuator(a);
  }

  [[nodiscard]] Mechanism mechanism() && { return std::move(out_); }

 private:
  [[nodiscard]] std::string name(mjtObj type, int id) const {
    const char* const full = mj_id2name(m_, type, id);
    const std::string_view text(full != nullptr ? full : "");
    return std::string(names_.element(text).value_or(text));
  }

  void add_body(int base, int b) {
    out_.bodies.push_back({.name = name(mjOBJ_BODY, b),
                           .parent = b == base ? -1 : m_->body_parentid[b] - base,
                           .position = vector(m_->body_pos + 3 * b),
                           .orientation = quaternion(m_->body_quat + 4 * b),
                           .mass = m_->body_mass[b],
                           .gravity_compensation = m_->body_gravcomp[b],
                           .center = vector(m_->body_ipos + 3 * b),
                           .inertia = vector(m_->body_inertia + 3 * b),
                           .inertia_axes = quaternion(m_->body_iquat + 4 * b),
                           .id = b});
    if (b == base) return;  // what moves the base is not the robot's
    for (int j = m_->body_jntadr[b]; j < m_->body_jntadr[b] + m_->body_jntnum[b]; ++j) {
      const int qpos = m_->jnt_qposadr[j], dof = m_->jnt_dofadr[j];
      out_.joints.push_back({.name = name(mjOBJ_JOINT, j),
                             .body = b - base,
                             .is_slide = m_->jnt_type[j] == mjJNT_SLIDE,
                             .axis = vector(m_->jnt_axis + 3 * j),
                             .anchor = vector(m_->jnt_pos + 3 * j),
                             .zero = m_->qpos0[qpos],
                             .start = start_[qpos],
                             .stiffness = m_->jnt_stiffness[j],
                             .rest = m_->qpos_spring[qpos],
                             .damping = m_->dof_damping[dof],
                             .armature = m_->dof_armature[dof],
                             .id = j});
    }
  }

  /// Leaves out tendons that are on other bodies too, or wrap round something.
  void add_tendon(int t) {
    Mechanism::Tendon tendon{.name = name(mjOBJ_TENDON, t),
                             .path = {},
                             .length = m_->tendon_length0[t],
                             .stiffness = m_->tendon_stiffness[t],
                             .damping = m_->tendon_damping[t],
                             .id = t};
    for (int w = m_->tendon_adr[t]; w < m_->tendon_adr[t] + m_->tendon_num[t]; ++w) {
      const bool is_joint = m_->wrap_type[w] == mjWRAP_JOINT;
      if (!is_joint && m_->wrap_type[w] != mjWRAP_SITE) return;
      const int index = is_joint ? index_of(out_.joints, m_->wrap_objid[w])
                                 : index_of(out_.sites, m_->wrap_objid[w]);
      if (index < 0) return;
      tendon.path.push_back({is_joint, index, is_joint ? m_->wrap_prm[w] : 0.0});
    }
    out_.tendons.push_back(std::move(tendon));
  }

  void add_actuator(int a) {
    Mechanism::Actuator actuator = engine_actuator(m_, a);
    const int id = m_->actuator_trnid[2 * a];
    if (m_->actuator_trntype[a] == mjTRN_JOINT)
      actuator.joint = index_of(out_.joints, id);
    else if (m_->actuator_trntype[a] == mjTRN_TENDON)
      actuator.tendon = index_of(out_.tendons, id);
    actuator.name = name(mjOBJ_ACTUATOR, a);
    out_.actuators.push_back(std::move(actuator));
  }

  const RobotNames& names_;
  const mjModel* m_;
  const mjtNum* start_ = nullptr;  // positions where the robot file starts it
  Mechanism out_;
};

}  // namespace

Mechanism bound_mechanism(const mjModel* m, const RobotNames& names) {
  return Reader(m, names).mechanism();
}

Mechanism::Actuator engine_actuator(const mjModel* m, int a) {
  Mechanism::Actuator actuator{
      .gear = m->actuator_gear[6 * a],
      .is_affine = m->actuator_gaintype[a] == mjGAIN_AFFINE,
      .is_slow = m->actuator_actadr[a] >= 0,
      .command_range = {m->actuator_ctrlrange[2 * a], m->actuator_ctrlrange[2 * a + 1]},
      .id = a};
  std::copy_n(m->actuator_gainprm + a * mjNGAIN, actuator.gain.size(), actuator.gain.begin());
  std::copy_n(m->actuator_biasprm + a * mjNBIAS, actuator.bias.size(), actuator.bias.begin());
  if (m->actuator_forcelimited[a])
    actuator.force_range = {m->actuator_forcerange[2 * a], m->actuator_forcerange[2 * a + 1]};
  return actuator;
}

double numerical_damping_time(const mjModel* m) noexcept {
  return m->opt.integrator == mjINT_DISCRETE ? m->opt.timestep : 0.0;
}

}  // namespace tendril
