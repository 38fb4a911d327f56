#pragma once

#include <mujoco/mujoco.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugin/controller_plugin.hpp"

namespace tendril::simulation {

/// Returns the quantities declared by the controllers of the library and of the loaded plugins.
[[nodiscard]] std::vector<ReportedQuantity> declared_quantities();

/// Returns whether a sensor of this name shows a quantity: it has the quantity's name, or that name
/// after a robot's prefix that ends in `_`.
[[nodiscard]] bool shows(std::string_view sensor, std::string_view quantity) noexcept;

/// Returns the quantity that a sensor of the model shows: of a controller's sensor the one that
/// this controller declares, of another sensor one of `declared`; none if no name fits.
[[nodiscard]] std::optional<ReportedQuantity> quantity_of(
    const mjModel& model, int sensor, std::span<const ReportedQuantity> declared);

}  // namespace tendril::simulation
