#include "simulation/engine/divergence.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace tendril::simulation {
namespace {

bool bad(mjtNum x) noexcept { return !(std::abs(x) <= mjMAXVAL); }

std::optional<int> first_bad(const mjtNum* values, mjtSize count) noexcept {
  for (mjtSize i = 0; i < count; ++i) {
    if (bad(values[i])) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::string joint_name(const mjModel& model, int joint) {
  const char* name = mj_id2name(&model, mjOBJ_JOINT, joint);
  if (name != nullptr && name[0] != '\0') return fmt::format("joint '{}'", name);
  const char* body = mj_id2name(&model, mjOBJ_BODY, model.jnt_bodyid[joint]);
  return fmt::format("joint {} of body '{}'", joint, body == nullptr ? "" : body);
}

int joint_of_position(const mjModel& model, int index) noexcept {
  int joint = 0;
  while (joint + 1 < model.njnt && model.jnt_qposadr[joint + 1] <= index) ++joint;
  return joint;
}

bool is_length(const mjModel& model, int joint, int offset) noexcept {
  const int type = model.jnt_type[joint];
  return type == mjJNT_SLIDE || (type == mjJNT_FREE && offset < 3);
}

/// Remedies for full buffers.
struct Shortage {
  int warning;
  const char* text;
};
constexpr Shortage kShortages[] = {
    {mjWARN_CONTACTFULL,
     "too many contacts for the memory of the model, raise <size memory=\"…\"/>"},
    {mjWARN_CNSTRFULL,
     "too many constraints for the memory of the model, raise <size memory=\"…\"/>"},
};

}  // namespace

void disable_autoreset(mjModel& model) noexcept { model.opt.disableflags |= mjDSBL_AUTORESET; }

DivergenceMonitor::DivergenceMonitor(const mjData& data) noexcept {
  for (int i = 0; i < mjNWARNING; ++i) warnings_[i] = static_cast<int>(data.warning[i].number);
}

bool DivergenceMonitor::healthy(const mjModel& model, const mjData& data) const noexcept {
  for (int i = 0; i < mjNWARNING; ++i) {
    if (data.warning[i].number != warnings_[i]) return false;
  }
  return !first_bad(data.qpos, model.nq) && !first_bad(data.qvel, model.nv) &&
         !first_bad(data.qacc, model.nv) && !first_bad(data.ctrl, model.nu);
}

std::string DivergenceMonitor::reason(const mjModel& model, const mjData& data, long step) const {
  const std::string where = fmt::format("at step {}, t = {:.6g} s", step, data.time);
  const auto dof = [&](int index, double value, const char* what, const char* angle_unit,
                       const char* length_unit) {
    const int joint = model.dof_jntid[index];
    const bool length = is_length(model, joint, index - model.jnt_dofadr[joint]);
    return fmt::format("diverged {}: {}: {} = {:.4g} {}", where, joint_name(model, joint), what,
                       value, length ? length_unit : angle_unit);
  };
  if (const auto i = first_bad(data.ctrl, model.nu)) {
    return fmt::format("diverged {}: control {} = {:.4g}", where, *i, data.ctrl[*i]);
  }
  if (const auto i = first_bad(data.qpos, model.nq)) {
    const int joint = joint_of_position(model, *i);
    const bool length = is_length(model, joint, *i - model.jnt_qposadr[joint]);
    return fmt::format("diverged {}: {}: position = {:.4g} {}", where, joint_name(model, joint),
                       data.qpos[*i], length ? "m" : "rad");
  }
  if (const auto i = first_bad(data.qvel, model.nv)) {
    return dof(*i, data.qvel[*i], "velocity", "rad/s", "m/s");
  }
  if (const auto i = first_bad(data.qacc, model.nv)) {
    return dof(*i, data.qacc[*i], "acceleration", "rad/s^2", "m/s^2");
  }
  for (const Shortage& s : kShortages) {
    if (data.warning[s.warning].number != warnings_[s.warning]) {
      return fmt::format("stopped {}: {}", where, s.text);
    }
  }
  for (int i = 0; i < mjNWARNING; ++i) {
    if (data.warning[i].number == warnings_[i]) continue;
    const int info = static_cast<int>(data.warning[i].lastinfo);
    if (i == mjWARN_BADQACC || i == mjWARN_BADQVEL || i == mjWARN_INERTIA) {
      if (info >= 0 && info < model.nv) {
        return fmt::format("diverged {}: {}: {}", where, joint_name(model, model.dof_jntid[info]),
                           i == mjWARN_INERTIA
                               ? "inertia matrix is singular"
                               : "velocity or acceleration is not finite or above 1e10");
      }
    }
    return fmt::format("diverged {}: engine warning {} about element {}", where, i, info);
  }
  return fmt::format("diverged {}", where);
}

}  // namespace tendril::simulation
