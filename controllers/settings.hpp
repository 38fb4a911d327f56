#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tendril {

/// One setting of a controller, as `tendril` and plugin/README.md show it.
struct SettingInfo {
  const char* name;
  const char* unit;           ///< "m", "1/s", "" …
  const char* default_value;  ///< as text; "" if the setting may be absent
  const char* meaning;
};

/// Closed or open range of a number.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;  ///< `low` itself is not allowed
};

/// The settings of one controller instance: name -> text, read strictly. Every reader throws
/// ModelError
/// `<setting> = <text>: must be …` when the text is not wholly a value of the kind, or outside the
/// range.
class Settings {
 public:
  Settings() = default;
  explicit Settings(std::vector<std::pair<std::string, std::string>> values)
      : values_(std::move(values)) {}

  /// Text of a setting, empty if it is not given.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;
  [[nodiscard]] bool has(std::string_view name) const noexcept { return !text(name).empty(); }

  [[nodiscard]] double number(std::string_view name, double default_value,
                              const Range& range) const;
  [[nodiscard]] bool boolean(std::string_view name, bool default_value) const;
  /// Numbers separated by spaces; empty if not given.
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
  /// Index of the text in `choices`.
  [[nodiscard]] int choice(std::string_view name, std::span<const char* const> choices,
                           int default_choice) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace tendril
