#include "tendril/robot_file/overrides.hpp"

#include <fmt/format.h>

#include "tendril/model_error.hpp"

namespace tendril::robot_file_detail {

toml::table override_value(const RobotOverride& change, const std::string& file_name) {
  try {
    toml::table table = toml::parse("value = " + change.value);
    if (table.size() == 1) return table;
  } catch (const toml::parse_error&) {
    // Not a TOML value: a bare word, if it looks like one.
  }
  const bool is_word =
      !change.value.empty() && change.value.find_first_of("\"'[]{}=#,\n\r\t ") == std::string::npos;
  if (!is_word) {
    throw ModelError(fmt::format("{}: {} = {}: must be a TOML value or a bare word", file_name,
                                 change.key, change.value));
  }
  return toml::table{{"value", change.value}};
}

toml::table& ensured_table(toml::table& top, std::string_view key) {
  if (!top.contains(key)) top.insert(key, toml::table{});
  return *top.get(key)->as_table();
}

}  // namespace tendril::robot_file_detail
