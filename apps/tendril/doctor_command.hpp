#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril doctor`: what is found, loaded, in which version, and what to do about what is
/// not. Exit code 1 when something that simulation needs is missing; what only pictures and reports
/// need is a remark.
CLI::App* add_doctor_command(CLI::App& app, int& exit_code);

}  // namespace tendril
