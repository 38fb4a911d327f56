#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "simulation/experiment/experiment_run.hpp"
#include "simulation/files/output_error.hpp"

namespace tendril::simulation {

struct Progress {
  double time = 0.0;              ///< simulated [s]
  double duration = 0.0;          ///< [s]
  double real_time_factor = 0.0;  ///< simulated time / wall time so far
};

struct RunOptions {
  RunChanges changes = {};
  std::filesystem::path recording = {};  ///< file of the recording; empty: no recording
  std::string command_line = {};         ///< for the recording and the summary
  std::function<void(const mjModel&)> on_loaded = {};  ///< called before the first step, may throw
  /// Called with the run at its start, before `on_loaded`; may throw.
  std::function<void(PreparedRun&)> on_ready = {};
  std::function<void()> on_end = {};  ///< called after the last step, also when it throws
  RolloutAttributes attributes = {};  ///< of the recording, besides its own
  std::function<void(const Progress&)> on_progress = {};  ///< called about ten times per second
  const std::atomic<bool>* stop =
      nullptr;  ///< the run ends after the step in which it becomes true
};

/// Runs an experiment headless at full speed (ExperimentRun). Throws ModelError (scene, checks) and
/// RolloutError (recording).
[[nodiscard]] RunResult run_experiment(const Experiment& experiment, const RunOptions& options,
                                       const OnNotices& on_notices = {});

/// Creates the folder and checks that files can be created in it. Throws OutputError.
void make_output_folder(const std::filesystem::path& folder);

/// Writes a text file. Throws OutputError.
void write_text_file(const std::filesystem::path& file, const std::string& text);

}  // namespace tendril::simulation
