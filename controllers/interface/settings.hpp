#pragma once

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/range.hpp"

namespace tendril {

/// One setting of a controller. The reader takes default and range from this row; documentation and
/// error messages are derived from it.
struct SettingInfo {
  enum class Type {
    Number,
    Integer,
    Numbers,
    Flag,
    Choice,
    Text,
    GeomName,      ///< a geom of the scene
    BodyName,      ///< a body of the scene
    ObstacleNames  ///< geoms and bodies of the scene, separated by spaces
  };

  const char* name;
  Type type;
  const char* unit;           ///< "m", "1/s", "" ...
  const char* default_value;  ///< as text; "" if the setting may be absent
  Range range;                ///< of a number, of an integer, of each of several numbers
  const char* choices;        ///< words separated by spaces; the first is the default
  const char* meaning;
};

/// Rows of settings tables.
namespace setting {

/// @param default_value  as text, "0.05"; "" if there is none: `Settings::optional_number`
constexpr SettingInfo number(const char* name, const char* unit, const char* default_value,
                             const Range& range, const char* meaning) {
  return {name, SettingInfo::Type::Number, unit, default_value, range, "", meaning};
}
constexpr SettingInfo integer(const char* name, const char* default_value, int low, int high,
                              const char* meaning) {
  const Range range{static_cast<double>(low), static_cast<double>(high)};
  return {name, SettingInfo::Type::Integer, "", default_value, range, "", meaning};
}
/// A list of numbers, which may be absent.
constexpr SettingInfo numbers(const char* name, const char* unit, const char* meaning) {
  return {name, SettingInfo::Type::Numbers, unit, "", {}, "", meaning};
}
constexpr SettingInfo flag(const char* name, bool default_value, const char* meaning) {
  return {name, SettingInfo::Type::Flag, "", default_value ? "true" : "false", {}, "", meaning};
}
/// One of several words, separated by spaces; the first is the default.
constexpr SettingInfo choice(const char* name, const char* choices, const char* meaning) {
  return {name, SettingInfo::Type::Choice, "", "", {}, choices, meaning};
}
constexpr SettingInfo text(const char* name, const char* default_value, const char* meaning) {
  return {name, SettingInfo::Type::Text, "", default_value, {}, "", meaning};
}
// Names in the scene, for the questions of a SceneQuery.
constexpr SettingInfo geom_name(const char* name, const char* default_value, const char* meaning) {
  return {name, SettingInfo::Type::GeomName, "", default_value, {}, "", meaning};
}
constexpr SettingInfo body_name(const char* name, const char* default_value, const char* meaning) {
  return {name, SettingInfo::Type::BodyName, "", default_value, {}, "", meaning};
}
/// Returns the row of a selection of obstacles. It may be absent: then all that the robot can
/// touch.
constexpr SettingInfo obstacle_names(const char* name, const char* meaning) {
  return {name, SettingInfo::Type::ObstacleNames, "", "", {}, "", meaning};
}

}  // namespace setting

/// Default of a row as shown in the documentation.
[[nodiscard]] std::string default_text(const SettingInfo& info);

/// The settings of one controller instance, read strictly by the rows of its table. Every reader
/// throws ModelError `<setting> = <text>: must be ...` if the whole text is not a value of the
/// row's type within its range, and std::logic_error for a setting that has no row of that type.
class Settings {
 public:
  using Texts = std::vector<std::pair<std::string, std::string>>;

  /// @param rows  must outlive the settings
  explicit Settings(std::span<const SettingInfo> rows, Texts values = {})
      : rows_(rows), values_(std::move(values)) {}

  /// Tells whether it is given.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Returns the value as given, or the row's default.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::optional<double> optional_number(std::string_view name) const;
  [[nodiscard]] int integer(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  /// Empty if not given.
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
  /// The enumerator whose value is the index of the word among the row's choices.
  template <class E>
  [[nodiscard]] E choice(std::string_view name) const {
    return static_cast<E>(choice_index(name));
  }
  [[nodiscard]] int choice_index(std::string_view name) const;
  /// A name in the scene, or several, by a row of this type; empty if none is given.
  [[nodiscard]] std::string_view scene_name(std::string_view name, SettingInfo::Type type) const;

  /// Names of the rows whose values have been read; `has` is no reading.
  [[nodiscard]] const std::set<std::string_view>& reads() const noexcept { return reads_; }

 private:
  [[nodiscard]] const SettingInfo& row(std::string_view name) const;
  [[nodiscard]] const SettingInfo& row(std::string_view name, SettingInfo::Type type) const;
  [[nodiscard]] std::string_view given(std::string_view name) const noexcept;

  std::span<const SettingInfo> rows_;
  Texts values_;
  mutable std::set<std::string_view> reads_;
};

/// Concatenates tables of settings.
[[nodiscard]] std::vector<SettingInfo> joined(
    std::initializer_list<std::span<const SettingInfo>> tables);

}  // namespace tendril
