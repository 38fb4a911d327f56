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

/// Lists the files that an input of a command names, and those that they name in turn: texts of a
/// TOML file that are files of its folder, and what the engine reads for an MJCF file. Nothing for
/// other files, and for what cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> named_files(const std::filesystem::path& input);

}  // namespace tendril::simulation
