#pragma once

#include <span>
#include <string_view>

namespace tendril {

/// One key of a table of a file: a row of docs/reference. Default and range are those that the
/// reader of the key passes to `Fields` (key_log.hpp).
struct KeyInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  /// Default in words, where the reader passes none: "half the range".
  std::string_view default_text = {};
  /// Range in words, where it depends on other keys: "[0, max_tension)".
  std::string_view allowed_text = {};
};

using KeyRows = std::span<const KeyInfo>;

}  // namespace tendril
