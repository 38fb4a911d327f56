#include "simulation/scene/physical_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "simulation/engine/engine_log.hpp"
#include "simulation/engine/setting.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

[[noreturn]] void refuse(const Fault& fault, std::string_view what) {
  throw ModelError(fmt::format("{}: fault {}: {}", fault.origin, fault.name, what));
}

bool is_in(const std::vector<int>& list, int number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

/// Section of a joint or tendon of an arm, such as `A_s2_l3_y` or `A_s2_x`: 2; 0: none.
int section_of(std::string_view name) {
  for (std::size_t at = name.rfind('s'); at != name.npos;
       at = at > 0 ? name.rfind('s', at - 1) : name.npos) {
    if (at > 0 && name[at - 1] != '_') continue;
    int number = 0;
    std::size_t i = at + 1;
    for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && number < 100000; ++i)
      number = 10 * number + (name[i] - '0');
    if (number > 0 && i < name.size() && name[i] == '_') return number;
  }
  return 0;
}

}  // namespace

PhysicalFaults::PhysicalFaults(std::span<const Fault> faults, const mjModel& model) {
  for (const Fault& fault : faults) add(fault, model);
}

void PhysicalFaults::add(const Fault& fault, const mjModel& model) {
  if (is_of_measurement(fault.kind) || fault.kind == FaultKind::ActuatorDelay) return;
  Entry entry{.fault = fault, .elements = {}, .tendons = {}, .active = false, .held = {}};
  find_elements(entry, model);
  if (fault.kind == FaultKind::Payload && !scratch_) scratch_ = make_data(model);
  faults_.push_back(std::move(entry));
}

void PhysicalFaults::end(const std::string& name) {
  for (Entry& entry : faults_)
    if (entry.fault.name == name) entry.fault.end = -std::numeric_limits<double>::infinity();
}

void PhysicalFaults::find_elements(Entry& entry, const mjModel& model) {
  const Fault& fault = entry.fault;
  const auto of_robot = [&](mjtObj type, int id) {
    const char* const name = mj_id2name(&model, type, id);
    return name != nullptr && fault.is_of_robot(name);
  };
  const auto find = [&](mjtObj type, mjtSize count, const std::string& pattern, const char* key) {
    for (int i = 0; i < count; ++i) {
      if (of_robot(type, i) && matches(pattern, mj_id2name(&model, type, i)))
        entry.elements.push_back(i);
    }
    if (entry.elements.empty())
      refuse(fault, fmt::format("{0} = {1}: the scene has no such {0}", key, pattern));
  };
  switch (fault.kind) {
    case FaultKind::ActuatorLoss:
      find(mjOBJ_ACTUATOR, model.nactuator, fault.actuator, "actuator");
      break;
    case FaultKind::ActuatorStuck:
      find(mjOBJ_ACTUATOR, model.nactuator, fault.actuator, "actuator");
      for (const int i : entry.elements) {
        if (model.actuator_dyntype[i] != mjDYN_NONE || model.actuator_gaintype[i] != mjGAIN_FIXED)
          refuse(fault, fmt::format("actuator = {}: must be a servo without dynamics of its own",
                                    mj_id2name(&model, mjOBJ_ACTUATOR, i)));
      }
      break;
    case FaultKind::Stiffness: {
      const auto is_meant = [&](mjtObj type, int id) {
        const int section = of_robot(type, id) ? section_of(mj_id2name(&model, type, id)) : 0;
        return section > 0 && is_in(fault.sections, section);
      };
      for (int i = 0; i < model.njnt; ++i)
        if (is_meant(mjOBJ_JOINT, i)) entry.elements.push_back(i);
      for (int i = 0; i < model.ntendon; ++i)
        if (is_meant(mjOBJ_TENDON, i)) entry.tendons.push_back(i);
      if (entry.elements.empty() && entry.tendons.empty())
        refuse(fault, "the scene has no such sections of a continuum arm");
      break;
    }
    case FaultKind::Friction:
      find(mjOBJ_GEOM, model.ngeom, fault.geom, "geom");
      break;
    case FaultKind::Payload:
      find(mjOBJ_BODY, model.nbody, fault.body, "body");
      for (const int i : entry.elements) {
        if (!(model.body_mass[i] > 0.0) || !(model.body_mass[i] + fault.mass > 0.0)) {
          refuse(fault,
                 fmt::format("mass = {} kg: body {} has {:.3g} kg: some must be left", fault.mass,
                             mj_id2name(&model, mjOBJ_BODY, i), model.body_mass[i]));
        }
      }
      break;
    case FaultKind::Kick:
      find(mjOBJ_BODY, model.nbody, fault.body, "body");
      break;
    default:
      break;
  }
}

void PhysicalFaults::set(mjtNum& place, mjtNum value) {
  original_.emplace_back(&place, place);
  place = value;
}

void PhysicalFaults::change(Entry& entry, mjModel& model) {
  const Fault& fault = entry.fault;
  switch (fault.kind) {
    case FaultKind::ActuatorLoss:
      for (const int i : entry.elements) {
        for (int k = 0; k < mjNGAIN; ++k)
          set(model.actuator_gainprm[mjNGAIN * i + k],
              fault.factor * model.actuator_gainprm[mjNGAIN * i + k]);
        for (int k = 0; k < mjNBIAS; ++k)
          set(model.actuator_biasprm[mjNBIAS * i + k],
              fault.factor * model.actuator_biasprm[mjNBIAS * i + k]);
        for (int k = 0; k < 2; ++k)
          set(model.actuator_forcerange[2 * i + k],
              fault.factor * model.actuator_forcerange[2 * i + k]);
      }
      break;
    case FaultKind::ActuatorStuck:
      // The same force as with the setpoint held: gain * setpoint becomes part of the bias.
      for (std::size_t e = 0; e < entry.elements.size(); ++e) {
        const int i = entry.elements[e];
        mjtNum& gain = model.actuator_gainprm[mjNGAIN * i];
        mjtNum& bias = model.actuator_biasprm[mjNBIAS * i];
        set(bias, bias + gain * entry.held[e]);
        set(gain, 0.0);
      }
      break;
    case FaultKind::Stiffness:
      for (const int i : entry.elements) {
        set(model.jnt_stiffness[i], fault.factor * model.jnt_stiffness[i]);
        const int dof = model.jnt_dofadr[i];
        set(model.dof_damping[dof], fault.damping_factor * model.dof_damping[dof]);
      }
      for (const int i : entry.tendons) {
        set(model.tendon_stiffness[i], fault.factor * model.tendon_stiffness[i]);
        set(model.tendon_damping[i], fault.damping_factor * model.tendon_damping[i]);
      }
      break;
    case FaultKind::Friction:
      for (const int i : entry.elements) {
        mjtNum* const friction = model.geom_friction + 3 * i;
        for (std::size_t k = 0; k < 3; ++k) {
          if (fault.friction.empty())
            set(friction[k], fault.factor * friction[k]);
          else if (k < fault.friction.size())
            set(friction[k], fault.friction[k]);
        }
      }
      break;
    case FaultKind::Payload:
      for (const int i : entry.elements) {
        const double scale = (model.body_mass[i] + fault.mass) / model.body_mass[i];
        set(model.body_mass[i], model.body_mass[i] + fault.mass);
        for (int k = 0; k < 3; ++k)
          set(model.body_inertia[3 * i + k], scale * model.body_inertia[3 * i + k]);
      }
      constants_changed_ = true;
      break;
    case FaultKind::Gravity:
      for (int k = 0; k < 3; ++k) set(model.opt.gravity[k], fault.gravity[k]);
      break;
    default:
      break;
  }
}

void PhysicalFaults::apply(mjModel& model, mjData& data) {
  bool any_change = false;
  for (Entry& entry : faults_) {
    const bool active = entry.fault.is_active(data.time);
    if (active == entry.active) continue;
    entry.active = active;
    any_change = true;
    if (entry.fault.kind == FaultKind::ActuatorStuck && active) {
      entry.held.clear();
      for (const int i : entry.elements) {
        const mjtNum control = data.ctrl[model.actuator_ctrladr[i]];
        const mjtNum* const range = model.actuator_ctrlrange + 2 * i;
        entry.held.push_back(model.actuator_ctrllimited[i] ? mju_clip(control, range[0], range[1])
                                                           : control);
      }
    }
    if (entry.fault.kind == FaultKind::Kick) {
      for (const int i : entry.elements) {
        mjtNum* const force = data.xfrc_applied + 6 * i;
        const double sign = active ? 1.0 : 0.0;
        for (int k = 0; k < 3; ++k) {
          force[k] = sign * entry.fault.force[k];
          force[3 + k] = sign * entry.fault.torque[k];
        }
      }
    }
  }
  if (!any_change) return;
  const bool constants_were_changed = constants_changed_;
  restore();
  change_active(model);
  if (constants_changed_ || constants_were_changed) mj_setConst(&model, scratch_.get());
}

void PhysicalFaults::move(mjModel& present, mjModel& next) {
  const bool constants_were_changed = constants_changed_;
  restore();
  if (constants_were_changed) mj_setConst(&present, scratch_.get());
  change_active(next);
  if (constants_changed_) mj_setConst(&next, scratch_.get());
}

void PhysicalFaults::restore() {
  for (auto place = original_.rbegin(); place != original_.rend(); ++place)
    *place->first = place->second;
  original_.clear();
  constants_changed_ = false;
}

void PhysicalFaults::change_active(mjModel& model) {
  for (Entry& entry : faults_)
    if (entry.active) change(entry, model);
}

}  // namespace tendril::simulation
