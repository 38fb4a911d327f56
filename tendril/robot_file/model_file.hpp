#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tendril/robot_file/robot_file.hpp"

namespace tendril {

/// What a TOML model file describes, by its `kind`.
enum class ModelKind { Continuum, Snake, Mobile, Tube };

/// The kind of a file; `Continuum` when it names none or one that is not known (reading it then
/// says so). Throws ModelError for text that is not TOML.
[[nodiscard]] ModelKind model_kind(std::string_view toml, const std::string& file_name);

/// The MJCF that a TOML file stands for, by its `kind`: continuum robot, snake, mobile robot or
/// tube. `file_name` serves the messages; files that the robot names are relative to its folder.
/// Throws ModelError: `file:line: field: value: what is allowed`.
[[nodiscard]] std::string model_file_mjcf(std::string_view toml, const std::string& file_name);

/// Reads the file and gives its controller; none for a tube. Throws ModelError.
[[nodiscard]] ControllerConfig model_controller(std::string_view toml,
                                                const std::string& file_name);

/// The text with the overrides applied, by the kind of robot; see `with_overrides`. A tube has no
/// keys to override. Throws ModelError.
[[nodiscard]] std::string model_with_overrides(std::string_view toml,
                                               std::span<const RobotOverride> overrides,
                                               const std::string& file_name);

}  // namespace tendril
