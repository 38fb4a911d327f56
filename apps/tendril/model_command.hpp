#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril model`: the MJCF that a robot or tube file stands for.
CLI::App* add_model_command(CLI::App& app, int& exit_code);

}  // namespace tendril
