#include "simulation/rollout/replay.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <string>

#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"

namespace tendril::python {
namespace {

/// What `tendril rollout replay --json` says, of this process, which has controllers in Python.
nb::dict replayed(const std::filesystem::path& file) {
  mujoco();
  simulation::ReplayResult result;
  try {
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    RolloutReader reader(file);
    result = simulation::replay(reader);
  } catch (const RolloutError& error) {
    const nb::object type = nb::module_::import_("tendril._errors").attr("RecordingError");
    PyErr_SetString(type.ptr(), error.what());
    throw nb::python_error();
  }
  nb::dict found;
  found["identical"] = result.identical();
  found["rows"] = result.rows;
  found["compared_steps"] = result.compared_steps;
  found["first_difference"] = nb::none();
  if (result.first_difference) {
    const simulation::ReplayDifference& difference = *result.first_difference;
    nb::dict first;
    first["step"] = difference.step;
    first["field"] = difference.field;
    first["index"] = difference.index;
    first["recorded"] = nb::str(nb::repr(nb::float_(difference.recorded)));
    first["replayed"] = nb::str(nb::repr(nb::float_(difference.replayed)));
    first["reason"] = difference.reason;
    found["first_difference"] = first;
  }
  return found;
}

}  // namespace

void bind_replay(nb::module_& module) {
  module.def("replay", &replayed, nb::arg("file"),
             nb::sig("def replay(file: str | os.PathLike[str]) -> dict[str, typing.Any]"),
             "Steps a recording again in this process and compares every row.");
}

}  // namespace tendril::python
