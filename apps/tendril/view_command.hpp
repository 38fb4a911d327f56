#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril view`. Exit code 0 when the window is closed; 2 bad input, 3 the scene diverged
/// before the time of the screenshot, 4 no display.
CLI::App* add_view_command(CLI::App& app, int& exit_code);

}  // namespace tendril
