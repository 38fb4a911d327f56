#pragma once

#include <mujoco/mujoco.h>

#include <span>

#include "simulation/engine/setting.hpp"

namespace tendril::simulation {

/// Applies the settings `option.*`, `body.*` and `geom.*` to a compiled model; ignores those of
/// robot files and motions. Throws ModelError `origin: key: value: allowed`.
void apply_model_settings(std::span<const Setting> settings, mjModel& model);

/// Returns the options of a model after the settings `option.*`. Throws ModelError as
/// apply_model_settings.
[[nodiscard]] mjOption option_with(std::span<const Setting> settings, mjOption option);

/// Returns the name of an integrator in MJCF; "unknown" for an invalid number.
[[nodiscard]] const char* integrator_name(int integrator) noexcept;

}  // namespace tendril::simulation
