#pragma once

#include <memory>
#include <span>

#include "controllers/snake_controller.hpp"

namespace tendril {

/// Settings of `tendril.snake`: `mode`, then those of SnakePathController and GaitController.
[[nodiscard]] std::span<const SettingInfo> snake_settings();

/// What it reports: the quantities of both.
[[nodiscard]] std::span<const Quantity> snake_quantities();

/// What `tendril.snake` is: by `mode` a GaitController or a SnakePathController. Throws ModelError
/// naming the setting, also for one that only the other mode has.
[[nodiscard]] std::unique_ptr<SnakeController> make_snake_controller(const SnakeContext& context);

}  // namespace tendril
