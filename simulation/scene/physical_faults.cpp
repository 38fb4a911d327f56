#include "simulation/scene/physical_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/engine/setting.hpp"
#include "tendril/model/continuum/links.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

[[noreturn]] void refuse(const Fault& fault, std::string_view what) {
  throw ModelError(fmt::format("{}: fault {}: {}", fault.origin, fault.name, what));
}

bool is_in(const std::vector<int>& list, int number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

}  // namespace

/// Finds the elements of the model that a fault changes. Throws ModelError.
struct PhysicalFaults::Finder {
  Entry& entry;
  const mjModel& model;

  [[nodiscard]] const char* name(mjtObj type, int id) const { return mj_id2name(&model, type, id); }
  [[nodiscard]] bool is_of_robot(mjtObj type, int id) const {
    return name(type, id) != nullptr && entry.fault.is_of_robot(name(type, id));
  }
  void find(mjtObj type, mjtSize count, const std::string& pattern, const char* key) const {
    for (int i = 0; i < count; ++i) {
      if (is_of_robot(type, i) && matches(pattern, name(type, i))) entry.elements.push_back(i);
    }
    if (entry.elements.empty())
      refuse(entry.fault, fmt::format("{0} = {1}: the scene has no such {0}{2}", key, pattern,
                                      meant_object(model, type, count, pattern)));
  }

  void operator()(const fault::ActuatorLoss& loss) const {
    find(mjOBJ_ACTUATOR, model.nactuator, loss.actuator, "actuator");
  }
  void operator()(const fault::ActuatorStuck& stuck) const {
    find(mjOBJ_ACTUATOR, model.nactuator, stuck.actuator, "actuator");
    for (const int i : entry.elements) {
      if (model.actuator_dyntype[i] != mjDYN_NONE || model.actuator_gaintype[i] != mjGAIN_FIXED)
        refuse(entry.fault, fmt::format("actuator = {}: must be a servo without internal dynamics",
                                        name(mjOBJ_ACTUATOR, i)));
    }
  }
  void operator()(const fault::Stiffness& stiffness) const {
    const auto is_meant = [&](mjtObj type, int id) {
      const int section = is_of_robot(type, id) ? names::section_of(name(type, id)) : 0;
      return section > 0 && is_in(stiffness.sections, section);
    };
    for (int i = 0; i < model.njnt; ++i)
      if (is_meant(mjOBJ_JOINT, i)) entry.elements.push_back(i);
    for (int i = 0; i < model.ntendon; ++i)
      if (is_meant(mjOBJ_TENDON, i)) entry.tendons.push_back(i);
    if (entry.elements.empty() && entry.tendons.empty())
      refuse(entry.fault, "the scene has no such sections of a continuum arm");
  }
  void operator()(const fault::Friction& friction) const {
    find(mjOBJ_GEOM, model.ngeom, friction.geom, "geom");
  }
  void operator()(const fault::Payload& payload) const {
    find(mjOBJ_BODY, model.nbody, payload.body, "body");
    for (const int i : entry.elements) {
      if (!(model.body_mass[i] > 0.0) || !(model.body_mass[i] + payload.mass > 0.0)) {
        refuse(entry.fault, fmt::format("mass = {} kg: body {} has {:.3g} kg: some must be left",
                                        payload.mass, name(mjOBJ_BODY, i), model.body_mass[i]));
      }
    }
  }
  void operator()(const fault::Kick& kick) const {
    find(mjOBJ_BODY, model.nbody, kick.body, "body");
  }
  /// Gravity is of no element.
  template <class Other>
  void operator()(const Other& /*kind*/) const {}
};

/// Changes the numbers of a model.
struct PhysicalFaults::Changer {
  PhysicalFaults& faults;
  const Entry& entry;
  mjModel& model;

  /// The first `count` of the numbers of an element, times a factor.
  void scale(mjtNum* numbers, int count, double factor) const {
    for (int k = 0; k < count; ++k) faults.set(numbers[k], factor * numbers[k]);
  }

  void operator()(const fault::ActuatorLoss& loss) const {
    for (const int i : entry.elements) {
      scale(model.actuator_gainprm + mjNGAIN * i, mjNGAIN, loss.factor);
      scale(model.actuator_biasprm + mjNBIAS * i, mjNBIAS, loss.factor);
      scale(model.actuator_forcerange + 2 * i, 2, loss.factor);
    }
  }
  void operator()(const fault::ActuatorStuck& /*stuck*/) const {
    // The same force as with the setpoint held: gain * setpoint becomes part of the bias.
    for (std::size_t e = 0; e < entry.elements.size(); ++e) {
      const int i = entry.elements[e];
      mjtNum& gain = model.actuator_gainprm[mjNGAIN * i];
      mjtNum& bias = model.actuator_biasprm[mjNBIAS * i];
      faults.set(bias, bias + gain * entry.held[e]);
      faults.set(gain, 0.0);
    }
  }
  void operator()(const fault::Stiffness& stiffness) const {
    for (const int i : entry.elements) {
      scale(&model.jnt_stiffness[i], 1, stiffness.factor);
      scale(&model.dof_damping[model.jnt_dofadr[i]], 1, stiffness.damping_factor);
    }
    for (const int i : entry.tendons) {
      scale(&model.tendon_stiffness[i], 1, stiffness.factor);
      scale(&model.tendon_damping[i], 1, stiffness.damping_factor);
    }
  }
  void operator()(const fault::Friction& friction) const {
    for (const int i : entry.elements) {
      mjtNum* const numbers = model.geom_friction + 3 * i;
      if (friction.value.empty()) scale(numbers, 3, friction.factor);
      for (std::size_t k = 0; k < friction.value.size(); ++k)
        faults.set(numbers[k], friction.value[k]);
    }
  }
  void operator()(const fault::Payload& payload) const {
    for (const int i : entry.elements) {
      const double factor = (model.body_mass[i] + payload.mass) / model.body_mass[i];
      faults.set(model.body_mass[i], model.body_mass[i] + payload.mass);
      scale(model.body_inertia + 3 * i, 3, factor);
    }
    faults.constants_changed_ = true;
  }
  void operator()(const fault::Gravity& gravity) const {
    for (int k = 0; k < 3; ++k) faults.set(model.opt.gravity[k], gravity.value[k]);
  }
  /// A kick changes forces, not the model.
  template <class Other>
  void operator()(const Other& /*kind*/) const {}
};

PhysicalFaults::PhysicalFaults(std::span<const Fault> faults, const mjModel& model) {
  for (const Fault& fault : faults) add(fault, model);
}

void PhysicalFaults::add(const Fault& fault, const mjModel& model) {
  if (fault.of_measurement() != nullptr || std::holds_alternative<fault::ActuatorDelay>(fault.kind))
    return;
  Entry entry{.fault = fault, .elements = {}, .tendons = {}, .active = false, .held = {}};
  std::visit(Finder{entry, model}, fault.kind);
  if (std::holds_alternative<fault::Payload>(fault.kind) && !scratch_) scratch_ = make_data(model);
  faults_.push_back(std::move(entry));
}

void PhysicalFaults::end(const std::string& name) {
  for (Entry& entry : faults_)
    if (entry.fault.name == name) entry.fault.end = -std::numeric_limits<double>::infinity();
}

void PhysicalFaults::set(mjtNum& place, mjtNum value) {
  original_.emplace_back(&place, place);
  place = value;
}

void PhysicalFaults::hold_setpoints(Entry& entry, const mjModel& model, const mjData& data) {
  entry.held.clear();
  for (const int i : entry.elements) {
    const mjtNum control = data.ctrl[model.actuator_ctrladr[i]];
    const mjtNum* const range = model.actuator_ctrlrange + 2 * i;
    entry.held.push_back(model.actuator_ctrllimited[i] ? mju_clip(control, range[0], range[1])
                                                       : control);
  }
}

void PhysicalFaults::set_forces(mjData& data) const {
  for (const bool active : {false, true}) {  // of overlapping kicks the last active one counts
    for (const Entry& entry : faults_) {
      const auto* const kick = std::get_if<fault::Kick>(&entry.fault.kind);
      if (kick == nullptr || entry.active != active) continue;
      for (const int i : entry.elements) {
        Eigen::Map<Eigen::Matrix<mjtNum, 6, 1>> force(data.xfrc_applied + 6 * i);
        force.setZero();
        if (active) force << kick->force, kick->torque;
      }
    }
  }
}

void PhysicalFaults::apply(mjModel& model, mjData& data) {
  bool any_change = false, any_kick = false;
  for (Entry& entry : faults_) {
    const bool active = entry.fault.is_active(data.time);
    if (active == entry.active) continue;
    entry.active = active;
    any_change = true;
    if (std::holds_alternative<fault::ActuatorStuck>(entry.fault.kind) && active)
      hold_setpoints(entry, model, data);
    any_kick |= std::holds_alternative<fault::Kick>(entry.fault.kind);
  }
  if (any_kick) set_forces(data);
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
    if (entry.active) std::visit(Changer{*this, entry, model}, entry.fault.kind);
}

std::vector<double> PhysicalFaults::change_times() const {
  std::vector<double> times;
  for (const Entry& entry : faults_) {
    if (std::isfinite(entry.fault.start)) times.push_back(entry.fault.start);
    if (std::isfinite(entry.fault.end)) times.push_back(entry.fault.end);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

std::vector<PhysicalFaults::Stuck> PhysicalFaults::take_stuck() {
  std::vector<Stuck> taken;
  for (const Entry& entry : faults_)
    if (std::holds_alternative<fault::ActuatorStuck>(entry.fault.kind))
      taken.push_back({entry.elements, entry.fault.start, entry.fault.end});
  std::erase_if(faults_, [](const Entry& entry) {
    return std::holds_alternative<fault::ActuatorStuck>(entry.fault.kind);
  });
  return taken;
}

}  // namespace tendril::simulation
