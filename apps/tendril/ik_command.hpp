#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril ik`: states that bring the tip to a table of targets. docs/ik_command.md
CLI::App* add_ik_command(CLI::App& app, int& exit_code);

}  // namespace tendril
