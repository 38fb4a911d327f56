#pragma once

#include <string>

#include "apps/host/engine/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::host {

/// Names of the plugins behind the model's instances, in their order, separated by spaces; the
/// recording's attribute `plugins`. A binary model keeps only numbers, which depend on what a
/// program has loaded.
[[nodiscard]] std::string plugin_names(const mjModel& model);

/// The model of a recording, ready to run in this program: its plugin instances are bound by name.
/// Calls load_engine. Throws RolloutFormatError when the model does not load, and ModelError when a
/// plugin is not there.
[[nodiscard]] ModelPtr recorded_model(const RolloutReader& reader);

}  // namespace tendril::host
