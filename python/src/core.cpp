#include <exception>

#include "python/src/robots.hpp"
#include "python/src/section_map.hpp"
#include "tendril/model_error.hpp"

// The module tendril._core: kinematics, inverse kinematics and planners, without MuJoCo.
NB_MODULE(_core, module) {
  using namespace tendril::python;
  module.doc() =
      "Kinematics, inverse kinematics, planners and drivers of Tendril; use it as `tendril`.";
  auto error = nb::exception<tendril::ModelError>(module, "ModelError", PyExc_ValueError);
  error.doc() =
      "Input that cannot be: one line, `file: field: value: what is allowed`, the same as the "
      "program's.";
  for_each_robot([&]<class Robot>(std::type_identity<Robot>) { Robot::bind(module); });
  bind_load_robot(module);
  bind_section_map(module);
  bind_solver(module);
  bind_workspace(module);
  bind_plan(module);
  bind_drives(module);
  bind_driver(module);
  bind_estimator(module);
}
