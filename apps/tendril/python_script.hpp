#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tendril {

/// The interpreter for reports and drawings: TENDRIL_PYTHON, else `.venv` in a folder above the
/// program, else the one found when the program was built, else python3 on PATH.
[[nodiscard]] std::filesystem::path find_python();

/// A Python script of the source tree, e.g. apps/report/report.py: of the installation (by its path
/// or its file name), of the source tree above the program, or of the one it was built from; empty:
/// none.
[[nodiscard]] std::filesystem::path find_script(const std::filesystem::path& source);

/// Names the plugin library to Python, as TENDRIL_PLUGIN unless that is set. Not in a sanitized
/// build, whose library loads into sanitized programs alone.
void give_plugin_to_python();

/// Runs a script (see `find_script`) and waits for it. Returns nothing on success, else one line
/// with the problem and its remedy.
/// @param input  text on its stdin
[[nodiscard]] std::optional<std::string> run_script(const std::filesystem::path& source,
                                                    const std::vector<std::string>& arguments,
                                                    std::string_view input = {});

}  // namespace tendril
