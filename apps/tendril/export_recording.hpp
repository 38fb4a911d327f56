#pragma once

#include <cstdint>
#include <filesystem>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Writes the rows of a recording as a table, `.csv`, or as arrays for numpy, `.npz`; columns are
/// named by the tables of the recording (docs/recording.md). The file appears when it is complete.
/// Throws ModelError for another extension, RolloutError, and OutputError (also if there is no
/// Python, which writes NPZ). Tested by: rollout_command_test.
/// @return  rows written
std::int64_t export_recording(const std::filesystem::path& file, const std::filesystem::path& out);

}  // namespace tendril::simulation
