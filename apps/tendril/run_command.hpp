#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tendril/command_line.hpp"
#include "apps/tendril/image_arguments.hpp"
#include "simulation/rollout/run.hpp"

namespace tendril {

inline constexpr int kExitCheckFailed = 1;

/// What commands that run an experiment have in common.
struct RunArguments {
  std::string file;
  std::string out;
  std::string duration;
  std::string seed;
  std::string controller;
  std::vector<std::string> set;
  ImageArguments image;
  std::optional<double> frame_rate;
  bool sensed = false;
  bool json = false;
  bool list_files = false;
  bool video = false;
  bool no_record = false;
  bool no_report = false;
  bool quiet = false;
};

/// Adds the options of results, seed, settings and video.
void add_run_options(const Command& command, const std::shared_ptr<RunArguments>& arguments);

/// The duration that is given [s]. Throws ModelError.
[[nodiscard]] double run_duration(const RunArguments& arguments);

/// Runs an experiment and prints its verdict. Returns the exit code of `tendril run`.
/// @param change     made to the options before the run
/// @param more_lines printed after the robots
[[nodiscard]] int run_experiment_command(
    const RunArguments& arguments, const std::function<void(simulation::RunOptions&)>& change = {},
    const std::function<std::string()>& more_lines = {});

}  // namespace tendril
