#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "apps/host/engine/engine_log.hpp"
#include "apps/host/engine/physical_faults.hpp"
#include "python/src/sim.hpp"
#include "tendril/robot_file/fault_file.hpp"

namespace tendril::python {
namespace {

template <class Struct>
Struct& native(nb::handle object) {
  return *reinterpret_cast<Struct*>(nb::cast<std::uintptr_t>(object.attr("_address")));
}

}  // namespace

void bind_faults(nb::module_& module) {
  nb::class_<host::PhysicalFaults>(module, "PhysicalFaults",
                                   "Faults of a recording that change the model or the forces.")
      .def(
          "__init__",
          [](host::PhysicalFaults* self, const std::string& faults, nb::handle model) {
            const host::EngineLog log;
            new (self) host::PhysicalFaults(parse_faults(faults, "faults"), native<mjModel>(model));
          },
          nb::arg("faults"), nb::arg("model"))
      .def(
          "apply",
          [](host::PhysicalFaults& self, nb::handle model, nb::handle data) {
            self.apply(native<mjModel>(model), native<mjData>(data));
          },
          nb::arg("model"), nb::arg("data"), "Before each step, from the first one on.");
}

}  // namespace tendril::python
