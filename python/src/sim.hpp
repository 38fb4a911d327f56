#pragma once

// The parts of the module tendril._sim.

#include <nanobind/nanobind.h>

#include <cstdint>

#include "simulation/engine/engine.hpp"

namespace tendril::python {

namespace nb = nanobind;

/// The package `mujoco`, with robot files and controllers. Before anything else of MuJoCo is
/// called.
nb::module_ mujoco();

/// MuJoCo's Python object of a model, which owns it from then on.
[[nodiscard]] nb::object mujoco_model(simulation::ModelPtr model);

/// The struct of MuJoCo that its Python object owns.
template <class T>
[[nodiscard]] T& native(nb::handle object) {
  return *reinterpret_cast<T*>(nb::cast<std::uintptr_t>(object.attr("_address")));
}

void bind_scene(nb::module_& module);
void bind_experiment(nb::module_& module);
void bind_faults(nb::module_& module);
void bind_controlled_robots(nb::module_& module);
void bind_envs(nb::module_& module);
void bind_replay(nb::module_& module);
void bind_drive_log(nb::module_& module);

}  // namespace tendril::python
