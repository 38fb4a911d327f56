#pragma once

#include <string>
#include <string_view>

namespace tendril {

/// The MJCF that a TOML file stands for, by its `kind`: continuum robot or tube. `file_name` serves
/// the messages; files that the robot names are relative to its folder. Throws ModelError:
/// `file:line: field: value: what is allowed`.
[[nodiscard]] std::string model_file_mjcf(std::string_view toml, const std::string& file_name);

}  // namespace tendril
