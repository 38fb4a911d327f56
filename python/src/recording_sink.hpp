#pragma once

#include <nanobind/nanobind.h>

#include "simulation/experiment/experiment_run.hpp"

namespace tendril::python {

namespace nb = nanobind;

/// Opens recordings with h5py: `create` is tendril._recording_file.create. Rows are encoded here,
/// and chunks are handed to h5py's compiled functions, in the thread that steps. Ctrl-C waits for
/// the end of a block.
[[nodiscard]] simulation::OpenRecording python_recording(nb::object create);

}  // namespace tendril::python
