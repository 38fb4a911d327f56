#include "simulation/scene/switched_off.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulation/engine/engine.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

bool any_of(const mjtNum* numbers, mjtSize count) {
  return std::any_of(numbers, numbers + count, [](mjtNum x) { return x != 0.0; });
}

bool any_limited(const mjModel& m) {
  return std::any_of(m.jnt_limited, m.jnt_limited + m.njnt, [](mjtBool on) { return on != 0; }) ||
         std::any_of(m.tendon_limited, m.tendon_limited + m.ntendon,
                     [](mjtBool on) { return on != 0; });
}

bool masks_meet(const mjModel& m, int a, int b) {
  return (m.geom_contype[a] & m.geom_conaffinity[b]) != 0 ||
         (m.geom_contype[b] & m.geom_conaffinity[a]) != 0;
}

bool is_excluded(const mjModel& m, int a, int b) {
  const int low = std::min(m.geom_bodyid[a], m.geom_bodyid[b]);
  const int high = std::max(m.geom_bodyid[a], m.geom_bodyid[b]);
  return std::any_of(m.exclude_signature, m.exclude_signature + m.nexclude,
                     [&](int signature) { return signature == (low << 16) + high; });
}

bool is_pair(const mjModel& m, int a, int b) {
  for (int i = 0; i < m.npair; ++i) {
    if (std::minmax(m.pair_geom1[i], m.pair_geom2[i]) == std::minmax(a, b)) return true;
  }
  return false;
}

/// Bodies that the engine does not let collide: those of one rigid part, parent and child.
bool belong_together(const mjModel& m, int a, int b) {
  const int first = m.body_weldid[m.geom_bodyid[a]], second = m.body_weldid[m.geom_bodyid[b]];
  if (first == second) return true;
  if ((m.opt.disableflags & mjDSBL_FILTERPARENT) != 0 || first == 0 || second == 0) return false;
  const auto parent = [&](int body) { return m.body_weldid[m.body_parentid[body]]; };
  return parent(first) == second || parent(second) == first;
}

/// Shapes without an end, between which the engine knows no contact.
bool is_ground(const mjModel& m, int geom) {
  return m.geom_type[geom] == mjGEOM_PLANE || m.geom_type[geom] == mjGEOM_HFIELD;
}

bool any_control_range(const mjModel& m) {
  return std::any_of(m.actuator_ctrllimited, m.actuator_ctrllimited + m.nactuator,
                     [](mjtBool on) { return on != 0; });
}

struct Flag {
  int bit;
  const char* name;
  const char* what;
  bool (*matters)(const mjModel& model);
};
constexpr Flag kFlags[] = {
    {mjDSBL_CONSTRAINT, "constraint", "contacts, limits and equalities",
     [](const mjModel&) { return true; }},
    {mjDSBL_SPRING, "spring", "the stiffness of bodies",
     [](const mjModel& m) {
       return any_of(m.jnt_stiffness, m.njnt) || any_of(m.tendon_stiffness, m.ntendon);
     }},
    {mjDSBL_DAMPER, "damper", "the damping of bodies",
     [](const mjModel& m) {
       return any_of(m.dof_damping, m.nv) || any_of(m.tendon_damping, m.ntendon);
     }},
    {mjDSBL_ACTUATION, "actuation", "all actuators", [](const mjModel& m) { return m.nu > 0; }},
    {mjDSBL_LIMIT, "limit", "the ranges of joints", any_limited},
    {mjDSBL_FRICTIONLOSS, "frictionloss", "friction in joints and tendons",
     [](const mjModel& m) {
       return any_of(m.dof_frictionloss, m.nv) || any_of(m.tendon_frictionloss, m.ntendon);
     }},
    {mjDSBL_EQUALITY, "equality", "equality constraints",
     [](const mjModel& m) { return m.neq > 0; }},
    {mjDSBL_CLAMPCTRL, "clampctrl", "the ranges of commands", any_control_range},
};

}  // namespace

bool can_touch(const mjModel& m, int a, int b) {
  if (is_pair(m, a, b)) return true;
  return masks_meet(m, a, b) && !(is_ground(m, a) && is_ground(m, b)) &&
         !belong_together(m, a, b) && !is_excluded(m, a, b);
}

std::optional<std::string> contacts_switched_off(const mjModel& m) {
  if ((m.opt.disableflags & mjDSBL_CONTACT) != 0)
    return "contacts are switched off: flag contact = disable";
  if ((m.opt.disableflags & mjDSBL_CONSTRAINT) != 0)
    return "contacts are switched off: flag constraint = disable";
  if ((m.opt.enableflags & mjENBL_OVERRIDE) != 0 && m.opt.o_margin < 0.0)
    return fmt::format("contacts are switched off: option o_margin = {:g} with flag override",
                       m.opt.o_margin);
  return std::nullopt;
}

std::optional<std::string> missed_contacts(const mjModel& m, const RobotBodies& robots) {
  if ((m.opt.disableflags & mjDSBL_CONSTRAINT) != 0) return std::nullopt;
  auto off = contacts_switched_off(m);
  if (!off) return std::nullopt;
  for (int own = 0; own < m.ngeom; ++own)
    for (int other = 0; robots.base_of_geom(own) != 0 && other < m.ngeom; ++other)
      if (can_touch(m, own, other)) return off;
  return std::nullopt;
}

std::vector<std::string> switched_off(const mjModel& model, const RobotBodies& robots) {
  std::vector<std::string> lines;
  if (robots.empty()) return lines;
  for (const Flag& flag : kFlags) {
    if ((model.opt.disableflags & flag.bit) != 0 && flag.matters(model))
      lines.push_back(fmt::format("flag {} = disable: switches off {}", flag.name, flag.what));
  }
  for (int i = 0; i < static_cast<int>(model.nactuator); ++i) {
    constexpr int kGroups = 31;
    const int group = model.actuator_group[i];
    if (group < 0 || group >= kGroups || (model.opt.disableactuator >> group & 1) == 0) continue;
    lines.push_back(fmt::format("actuatorgroupdisable = {}: switches off {}", group,
                                object_name(model, mjOBJ_ACTUATOR, i)));
    break;
  }
  return lines;
}

std::optional<std::string> contacts_switched_off(const mjModel& model, const RobotBodies& robots,
                                                 int geom) {
  if (auto all = contacts_switched_off(model)) return all;
  if (robots.base_of_geom(geom) != 0) return std::nullopt;
  for (int own = 0; own < static_cast<int>(model.ngeom); ++own)
    if (robots.base_of_geom(own) != 0 && can_touch(model, own, geom)) return std::nullopt;
  return fmt::format(
      "the geom '{}' cannot touch a robot: contype and conaffinity, or an exclude, forbid it",
      object_name(model, mjOBJ_GEOM, geom));
}

std::optional<std::string> contacts_switched_off(const mjModel& model, const RobotBodies& robots) {
  if (auto all = contacts_switched_off(model)) return all;
  bool has_surroundings = false;
  for (int geom = 0; geom < static_cast<int>(model.ngeom); ++geom) {
    if (robots.base_of_geom(geom) != 0) continue;
    if (!contacts_switched_off(model, robots, geom)) return std::nullopt;
    has_surroundings = true;
  }
  if (!has_surroundings) return std::nullopt;
  return "no geom of the scene can touch a robot: contype and conaffinity, or excludes, forbid it";
}

std::optional<std::string> self_contacts_switched_off(const mjModel& model,
                                                      const RobotBodies& robots) {
  if (auto all = contacts_switched_off(model)) return all;
  for (int a = 0; a < model.ngeom; ++a) {
    const int base = robots.base_of_geom(a);
    for (int b = a + 1; base != 0 && b < model.ngeom; ++b)
      if (robots.base_of_geom(b) == base && can_touch(model, a, b)) return std::nullopt;
  }
  return "no two parts of a robot can touch: self_collision = false, masks or excludes forbid it";
}

void require_sensors(const mjModel& model, std::span<const SceneRobot> robots,
                     const std::string& scene_name) {
  if (robots.empty() || (model.opt.disableflags & mjDSBL_SENSOR) == 0) return;
  throw ModelError(
      fmt::format("{}: flag sensor = disable: must be enable: status and errors of the controller "
                  "{} are read from sensors",
                  scene_name, robots.front().controller));
}

}  // namespace tendril::simulation
