#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril run`. Exit code: 0 done and all checks hold, 1 a check failed, 3 diverged, 130
/// interrupted.
CLI::App* add_run_command(CLI::App& app, int& exit_code);

/// The command line as one string, for recordings; set by main.
void set_command_line(int argc, char** argv);
[[nodiscard]] const std::string& command_line();

}  // namespace tendril
