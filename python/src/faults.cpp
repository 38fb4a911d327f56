#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/scene/physical_faults.hpp"
#include "tendril/model/fault_file.hpp"

namespace tendril::python {
void bind_faults(nb::module_& module) {
  nb::class_<simulation::PhysicalFaults>(
      module, "PhysicalFaults", "Faults of a recording that change the model or the forces.")
      .def(
          "__init__",
          [](simulation::PhysicalFaults* self, const std::string& faults, nb::handle model) {
            const simulation::EngineLog log;
            new (self)
                simulation::PhysicalFaults(parse_faults(faults, "faults"), native<mjModel>(model));
          },
          nb::arg("faults"), nb::arg("model"))
      .def(
          "apply",
          [](simulation::PhysicalFaults& self, nb::handle model, nb::handle data) {
            self.apply(native<mjModel>(model), native<mjData>(data));
          },
          nb::arg("model"), nb::arg("data"), "Before each step, from the first one on.")
      .def("change_times", &simulation::PhysicalFaults::change_times,
           "Times at which a fault begins or ends, in order, s.")
      .def(
          "take_stuck",
          [](simulation::PhysicalFaults& self) {
            std::vector<std::tuple<std::vector<int>, double, double>> taken;
            for (simulation::PhysicalFaults::Stuck& stuck : self.take_stuck())
              taken.emplace_back(std::move(stuck.actuators), stuck.start, stuck.end);
            return taken;
          },
          "Leaves stuck actuators to the caller: (actuators, start, end) of each fault, s.");
}

}  // namespace tendril::python
