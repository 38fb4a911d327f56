#pragma once

#include "simulation/scene/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Returns the model of a recording, whichever process made it: the plugin numbers in the binary
/// model are replaced by those that the names have in this program, before the engine reads it.
/// Calls load_engine. Throws ModelError if a plugin is not loaded, and RolloutFormatError if the
/// model cannot be loaded or has other sizes than the rows. Tested by: replay_test.
[[nodiscard]] ModelPtr recorded_model(const RolloutReader& reader);

}  // namespace tendril::simulation
