#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril tables [NAME...]`: the published experiments, measured beside published. Exit
/// code: 0 done, 1 a solution was claimed that forward kinematics refutes, 2 bad usage
/// (ModelError), 130 interrupted (what was finished is kept).
CLI::App* add_tables_command(CLI::App& app, int& exit_code);

}  // namespace tendril
