#pragma once

// For readers of robot files in this folder, not for users: the [controller] table.

#include <filesystem>

#include "tendril/mjcf/robot_file.hpp"
#include "tendril/mjcf/toml_fields.hpp"

namespace tendril::mjcf_detail {

/// The [controller] table, its settings in the order of the text.
[[nodiscard]] ControllerConfig read_controller(const Fields& fields);

/// Moves `controller.files` to `controller.settings`, as `tendril::read_setting_files`.
void read_setting_files(ControllerConfig& controller, const std::filesystem::path& folder);

}  // namespace tendril::mjcf_detail
