#pragma once

// For readers of robot files in this folder, not for users: the [controller] table.

#include <filesystem>

#include "tendril/robot_file/robot_file.hpp"
#include "tendril/robot_file/toml_fields.hpp"

namespace tendril::robot_file_detail {

/// The [controller] table, its settings in the order of the text.
[[nodiscard]] ControllerConfig read_controller(const Fields& fields);

/// Moves `controller.files` to `controller.settings`, as `tendril::read_setting_files`.
void read_setting_files(ControllerConfig& controller, const std::filesystem::path& folder);

}  // namespace tendril::robot_file_detail
