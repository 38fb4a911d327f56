#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tendril {

/// The interpreter for the Python package: TENDRIL_PYTHON, else `.venv` in a folder above the
/// program, else the one found when the program was built, else python3 on PATH.
[[nodiscard]] std::filesystem::path find_python();

/// Names the plugin library to Python, as TENDRIL_PLUGIN unless that is set. Not in a sanitized
/// build, whose library loads into sanitized programs alone.
void give_plugin_to_python();

/// `python -m MODULE ARGUMENTS`, for a module of the Python package: that of the wheel that the
/// program is in, of the installation, or of the source tree. Puts the package's folder first in
/// PYTHONPATH. Throws std::runtime_error when there is no package.
[[nodiscard]] std::vector<std::string> module_command(const std::string& module);

/// Runs a module of the package and waits for it. Returns nothing on success, else one line with
/// the problem and its remedy.
/// @param input  text on its stdin
[[nodiscard]] std::optional<std::string> run_module(const std::string& module,
                                                    const std::vector<std::string>& arguments,
                                                    std::string_view input = {});

}  // namespace tendril
