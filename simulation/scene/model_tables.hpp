#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Returns names and places of a model's elements, so that a recording can be read without the
/// engine: one JSON list per kind of element, in the model's order, as the attributes `sensors`,
/// `joints`, `actuators`, `bodies`, `geoms` and `robots` of
/// docs/reference/recording_file.md. Tested by: model_tables_test.
[[nodiscard]] RolloutAttributes model_tables(const mjModel& model);

/// Returns the names of the plugins of the model's instances, in order, separated by spaces; the
/// attribute `plugins` of a recording. A binary model contains only plugin numbers, which depend on
/// the plugins loaded by the process.
[[nodiscard]] std::string plugin_names(const mjModel& model);

}  // namespace tendril::simulation
