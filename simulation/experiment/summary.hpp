#pragma once

#include <string>

#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/run_result.hpp"

namespace tendril::simulation {

/// Returns the summary of a run as JSON text: experiment, seed, checks with value, limit and
/// verdict, metrics, step times, settings, versions, machine. Keys:
/// docs/reference/experiment_file.md. NaN and infinity become null.
[[nodiscard]] std::string summary_json(const Experiment& experiment, const RunResult& result);

}  // namespace tendril::simulation
