#pragma once

#include <memory>
#include <span>

#include "controllers/interface/snake_controller.hpp"

namespace tendril {

/// Settings of `tendril.snake`: `mode`, then those of SnakePathController and GaitController.
[[nodiscard]] std::span<const SettingInfo> snake_settings();

/// Quantities of `tendril.snake`: those of both controllers.
[[nodiscard]] std::span<const Quantity> snake_quantities();

/// Creates the controller `tendril.snake`: by `mode` a GaitController or a SnakePathController.
/// Throws ModelError naming the setting, also for a setting of the other mode.
[[nodiscard]] std::unique_ptr<SnakeController> make_snake_controller(const SnakeContext& context);

}  // namespace tendril
