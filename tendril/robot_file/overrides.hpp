#pragma once

// For readers of robot files in this folder, not for users: changes to a robot file's text.

#include <string>
#include <string_view>

#include "tendril/robot_file/robot_file.hpp"
#include "tendril/robot_file/toml_fields.hpp"

namespace tendril::robot_file_detail {

/// The TOML value that an override's text stands for, as the only entry `value` of a table. Throws
/// ModelError.
[[nodiscard]] toml::table override_value(const RobotOverride& change, const std::string& file_name);

/// The table `key` of the top level, added if the text has none.
[[nodiscard]] toml::table& ensured_table(toml::table& top, std::string_view key);

}  // namespace tendril::robot_file_detail
