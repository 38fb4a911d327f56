#pragma once

#include <string>

#include "apps/host/engine/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::host {

/// Names of the plugins of the model's instances, in order, separated by spaces; the attribute
/// `plugins` of a recording. A binary model contains only plugin numbers, which depend on the
/// plugins loaded by the program.
[[nodiscard]] std::string plugin_names(const mjModel& model);

/// The model of a recording, with plugin instances bound by name so that it can run in this
/// program. Calls load_engine. Throws RolloutFormatError if the model cannot be loaded, and
/// ModelError if a plugin is not loaded.
[[nodiscard]] ModelPtr recorded_model(const RolloutReader& reader);

}  // namespace tendril::host
