#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "simulation/engine/setting.hpp"
#include "simulation/experiment/experiment.hpp"

namespace tendril::simulation {

/// Lists the files that a run of the experiment may read: the experiment, its scene with all that
/// the engine reads for it, robot files and what these name, files named by settings, for every
/// choice of `[vary]`. Texts of settings count if a file of that name lies in the folder of the
/// experiment or of a robot. Sorted, without repetitions. Throws ModelError for a file that cannot
/// be read.
/// @param settings  later than those of the experiment, as `--set`
[[nodiscard]] std::vector<std::filesystem::path> input_files(
    const Experiment& experiment, std::span<const Setting> settings = {});

}  // namespace tendril::simulation
