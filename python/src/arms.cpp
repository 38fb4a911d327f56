// What the controllers of a model's arms work with, for tendril.worlds.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "plugin/arm_table.hpp"
#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"

namespace tendril::python {
namespace {

nb::dict servo_dict(const Servo& servo, int actuator) {
  nb::dict out;
  out["actuator"] = actuator;
  out["gain"] = servo.gain;
  out["stiffness"] = servo.stiffness;
  out["damping"] = servo.damping;
  out["lag"] = servo.lag();
  out["offset"] = servo.offset;
  out["min_force"] = servo.min_force;
  out["max_force"] = servo.max_force;
  out["works"] = servo.works();
  return out;
}

nb::dict arm_dict(const ArmTable& table) {
  const ArmMechanics& mechanics = table.parts.mechanics;
  nb::dict settings, out;
  for (const auto& [name, text] : table.settings) settings[name.c_str()] = text;
  out["prefix"] = table.prefix;
  out["controller"] = table.controller;
  out["settings"] = settings;
  out["base_body"] = table.parts.base_body;
  out["tip_site"] = table.parts.tip_site;
  out["target_mocap"] = table.parts.target_mocap;
  out["fundamental_mode_damping"] = table.parts.fundamental_mode_damping;
  const Eigen::Vector3d& g = mechanics.options().gravity;
  out["gravity"] = nb::make_tuple(g.x(), g.y(), g.z());
  out["velocity_feed_forward"] = mechanics.options().velocity_feed_forward;
  const auto coordinates_have = [&](bool ArmCoordinate::*what) {
    return std::ranges::any_of(mechanics.coordinates(), what);
  };
  nb::list parts;  // that only some arms have
  const auto add = [&](bool has, const char* what) {
    if (has) parts.append(what);
  };
  add(mechanics.has_feed(), "a feed of the base");
  add(!mechanics.tendon_drive().tendons().empty(), "tendons");
  add(!mechanics.turns().empty(), "sections that turn");
  add(mechanics.options().guide_length > 0.0, "a guide");
  add(mechanics.has_twist(), "twist");
  add(mechanics.has_spin(), "a spin of the base");
  add(coordinates_have(&ArmCoordinate::is_motor), "motors");
  add(coordinates_have(&ArmCoordinate::is_passive), "passive sections");
  nb::list servos;
  for (std::size_t i = 0; i < mechanics.servos().size(); ++i)
    servos.append(servo_dict(mechanics.servos()[i], table.parts.actuators[i]));
  nb::list coordinates;
  std::size_t next = 0;
  for (const ArmCoordinate& coordinate : mechanics.coordinates()) {
    nb::list joints;
    for (const ArmJoint& joint : coordinate.joints) {
      const JointAddress& at = table.parts.joints[next++];
      joints.append(nb::make_tuple(at.joint, joint.fraction, joint.mass, joint.servo));
    }
    nb::dict row;
    row["joints"] = joints;
    row["sign"] = coordinate.sign;
    row["offset"] = coordinate.offset;
    row["servo"] = coordinate.servo;
    row["is_slide"] = coordinate.is_slide;
    row["stiffness"] = ArmMechanics::series_stiffness(coordinate);
    coordinates.append(row);
  }
  out["servos"] = servos;
  out["coordinates"] = coordinates;
  out["parts"] = parts;
  return out;
}

}  // namespace

void bind_arms(nb::module_& module) {
  module.def(
      "arms",
      [](nb::handle model) {
        const simulation::EngineLog log;
        nb::list arms;
        const auto& m = native<const mjModel>(model);
        for (const ArmTable& table : arm_tables(&m)) arms.append(arm_dict(table));
        return arms;
      },
      nb::arg("model"), nb::sig("def arms(model: object) -> list[dict[str, typing.Any]]"),
      "The arms that a controller of this library drives: joints, servos and settings.");
}

}  // namespace tendril::python
