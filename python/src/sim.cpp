#include "python/src/sim.hpp"

#include <exception>

#include "python/src/controllers.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

/// ModelError is that of tendril._core.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const ModelError& e) {
    const nb::object type = nb::module_::import_("tendril._core").attr("ModelError");
    PyErr_SetString(type.ptr(), e.what());
  }
}

}  // namespace

nb::module_ mujoco() {
  nb::module_ module = nb::module_::import_("mujoco");
  nb::module_::import_("tendril._plugin").attr("load")();
  return module;
}

nb::object mujoco_model(simulation::ModelPtr model) {
  nb::object owner = mujoco().attr("MjModel").attr("_from_model_ptr")(
      reinterpret_cast<std::uintptr_t>(model.get()));
  static_cast<void>(model.release());
  return owner;
}

}  // namespace tendril::python

// The module tendril._sim: scenes and runs, with MuJoCo.
NB_MODULE(_sim, module) {
  using namespace tendril::python;
  module.doc() = "Scenes and runs of Tendril in MuJoCo; use it as `tendril`.";
  nb::register_exception_translator(&translate);
  bind_scene(module);
  bind_experiment(module);
  bind_faults(module);
  bind_controllers(module);
  bind_controlled_robots(module);
  bind_envs(module);
  bind_replay(module);
  bind_drive_log(module);
}
