#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tendril {

/// The [controller] table of a robot file: plugin name and its settings as the plugin's config
/// strings.
struct ControllerConfig {
  /// The name of a plugin that stands for none, to leave out that of a robot file.
  static constexpr std::string_view kNoController = "none";
  /// The same for a controller outside the engine that does what the plugin adds to the physics.
  static constexpr std::string_view kElsewhere = "elsewhere";

  [[nodiscard]] static bool is_none(std::string_view name) noexcept {
    return name == kNoController || name == kElsewhere;
  }

  struct Setting {
    std::string key;
    std::string value;   ///< numbers with all their digits; lists (nested ones flattened) as their
                         ///< elements separated by spaces; `{ file = "NAME" }` as that file's text
    std::string origin;  ///< `arm.toml:12`
    bool operator==(const Setting&) const = default;
  };

  std::string plugin;             ///< empty: no controller, the servos stay under the user's ctrl
  std::vector<Setting> settings;  ///< in the order of the text; not `plugin`, `robot`, `arm`
  std::string origin;             ///< of `plugin`
  bool is_elsewhere = false;      ///< there is none in the model, but kElsewhere

  /// Value of a setting, null if it is not there.
  [[nodiscard]] const std::string* find(const std::string& key) const {
    for (const Setting& setting : settings)
      if (setting.key == key) return &setting.value;
    return nullptr;
  }
};

}  // namespace tendril
