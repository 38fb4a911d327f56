#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril fk`: tip poses of a table of states. docs/ik_command.md
CLI::App* add_fk_command(CLI::App& app, int& exit_code);

}  // namespace tendril
