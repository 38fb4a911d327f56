#pragma once

#include <CLI/CLI.hpp>

namespace tendril {

/// Adds `tendril rollout info FILE` and `tendril rollout replay FILE`. Exit code of replay: 0 every
/// step is the same bit for bit, 1 one differs. A file that is no recording: ModelError.
CLI::App* add_rollout_command(CLI::App& app, int& exit_code);

}  // namespace tendril
