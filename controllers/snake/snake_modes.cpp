#include "controllers/snake/snake_modes.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/snake/gait_controller.hpp"
#include "controllers/snake/snake_path_controller.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

enum class Mode { Gait, Path };

bool has(std::span<const SettingInfo> settings, std::string_view name) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const SettingInfo& info) { return name == info.name; });
}

}  // namespace

std::span<const SettingInfo> snake_settings() {
  static const std::vector<SettingInfo> all = [] {
    std::vector<SettingInfo> infos{setting::choice(
        "mode", "gait path",
        "gait: a free snake moves by gaits; path: a carriage feeds it along a path, or on a fixed "
        "base it unfolds along one; its body follows its head")};
    // The settings common to both, `speed` and `target`, are listed once.
    for (const auto settings : {SnakePathController::settings(), GaitController::settings()}) {
      for (const SettingInfo& info : settings)
        if (!has(infos, info.name)) infos.push_back(info);
    }
    return infos;
  }();
  return all;
}

std::span<const Quantity> snake_quantities() {
  static const std::vector<Quantity> all =
      joined_quantities({GaitController::kQuantities, SnakePathController::kQuantities});
  return all;
}

std::unique_ptr<SnakeController> make_snake_controller(const SnakeContext& context) {
  const bool is_path = context.settings.choice<Mode>("mode") == Mode::Path;
  const auto own = is_path ? SnakePathController::settings() : GaitController::settings();
  for (const SettingInfo& info : snake_settings()) {
    if (std::string_view(info.name) != "mode" && context.settings.has(info.name) &&
        !has(own, info.name)) {
      throw ModelError(std::string(info.name) + ": needs mode = " + (is_path ? "gait" : "path"));
    }
  }
  if (!is_path && context.is_fixed())
    throw ModelError("mode = gait: needs base.kind = \"free\": a fixed base does not move");
  if (is_path) return std::make_unique<SnakePathController>(context);
  return std::make_unique<GaitController>(context);
}

}  // namespace tendril
