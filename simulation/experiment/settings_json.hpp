#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "simulation/engine/setting.hpp"

namespace tendril::simulation {

/// Returns a JSON list with key, value and origin of each setting.
[[nodiscard]] nlohmann::ordered_json settings_json(std::span<const Setting> settings);

}  // namespace tendril::simulation
