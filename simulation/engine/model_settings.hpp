#pragma once

#include <mujoco/mujoco.h>

#include <span>

#include "simulation/engine/setting.hpp"

namespace tendril::simulation {

/// Applies the settings `option.*`, `body.*` and `geom.*` to a compiled model; ignores those of
/// robot files, motions and the start. Throws ModelError `origin: key: value: allowed`.
void apply_model_settings(std::span<const Setting> settings, mjModel& model);

/// Applies the settings `joint.*` to the state from which a run starts. Throws ModelError as
/// apply_model_settings.
void apply_start_settings(std::span<const Setting> settings, const mjModel& model, mjData& data);

/// Returns the options of a model after the settings `option.*`. Throws ModelError as
/// apply_model_settings.
[[nodiscard]] mjOption option_with(std::span<const Setting> settings, mjOption option);

/// Returns the name of an integrator in MJCF; "unknown" for an invalid number.
[[nodiscard]] const char* integrator_name(int integrator) noexcept;

}  // namespace tendril::simulation
