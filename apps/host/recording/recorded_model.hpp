#pragma once

#include <string>

#include "apps/host/engine/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::host {

/// Names of the plugins of the model's instances, in order, separated by spaces; the attribute
/// `plugins` of a recording. A binary model contains only plugin numbers, which depend on the
/// plugins loaded by the program.
[[nodiscard]] std::string plugin_names(const mjModel& model);

/// The model of a recording, whichever process made it: the plugin numbers in the binary model are
/// replaced by those that the names have in this program, before the engine reads it. Calls
/// load_engine. Throws ModelError if a plugin is not loaded, and RolloutFormatError if the model
/// cannot be loaded or has other sizes than the rows. Tested by: replay_test.
[[nodiscard]] ModelPtr recorded_model(const RolloutReader& reader);

}  // namespace tendril::host
