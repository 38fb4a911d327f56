#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril plan`: all ways to reach or grasp on a planar scene, printed and drawn.
CLI::App* add_plan_command(CLI::App& app, int& exit_code);

}  // namespace tendril
