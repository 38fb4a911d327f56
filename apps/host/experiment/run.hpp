#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apps/host/engine/physical_faults.hpp"
#include "apps/host/engine/scene.hpp"
#include "apps/host/experiment/experiment.hpp"
#include "apps/host/experiment/motion_set.hpp"
#include "apps/host/experiment/robot_watch.hpp"
#include "apps/host/output_error.hpp"

namespace tendril::host {

/// A scene ready to be stepped: compiled with the settings of one seed, at its initial state.
struct PreparedRun {
  Scene scene;
  DataPtr data;
  MotionSet motions;
  std::vector<Fault> fault_list;
  PhysicalFaults faults;
  std::vector<Setting> settings;  ///< all applied settings, in order
  double timestep = 0.0;          ///< [s]
  long steps = 0;                 ///< of the whole run
};

/// Changes to an experiment from the command line.
struct RunChanges {
  std::optional<double> duration;  ///< [s]
  std::optional<std::uint64_t> seed;
  std::vector<Setting> settings;  ///< applied last
  std::string controller;         ///< plugin name for every robot file; empty: as in the files
};

/// Loads the scene with the experiment's settings, the draws of the seed and the changes; switches
/// off the engine's automatic reset, sets the keyframe and the motions at their start, and
/// evaluates the initial state (mj_forward). Throws ModelError.
[[nodiscard]] PreparedRun prepare_run(const Experiment& experiment, const RunChanges& changes);

struct Progress {
  double time = 0.0;              ///< simulated [s]
  double duration = 0.0;          ///< [s]
  double real_time_factor = 0.0;  ///< simulated time / wall time so far
};

struct RunOptions {
  RunChanges changes;
  std::filesystem::path recording;                   ///< file of the recording; empty: no recording
  std::string command_line;                          ///< for the recording and the summary
  std::function<void(const mjModel&)> on_loaded;     ///< called before the first step, may throw
  std::function<void(const Progress&)> on_progress;  ///< called about ten times per second
  const std::atomic<bool>* stop =
      nullptr;  ///< the run ends after the step in which it becomes true
};

enum class Outcome { Done, Diverged, Interrupted };

struct CheckResult {
  Check check;
  std::string unit;
  double value = std::numeric_limits<double>::quiet_NaN();
  bool holds = false;
};

/// Wall time of the engine's steps [us]; the quantiles to within 1 %.
struct StepTimes {
  double mean = 0.0, p50 = 0.0, p99 = 0.0, p999 = 0.0, max = 0.0;
};

struct RunResult {
  Outcome outcome = Outcome::Done;
  std::string reason;  ///< of a divergence: one line naming joint, value, step and time
  long steps = 0;      ///< done
  double timestep = 0.0;
  double simulated_time = 0.0;    ///< [s]
  double wall_time = 0.0;         ///< of the whole loop, recording and metrics included [s]
  double real_time_factor = 0.0;  ///< simulated_time / wall_time
  double duration = 0.0;          ///< requested [s]
  std::uint64_t seed = 0;
  StepTimes step_times;
  std::vector<CheckResult> checks;
  std::vector<std::pair<Metric, double>> metrics;
  std::vector<Setting> settings;
  std::vector<std::string> notices;
  std::string command_line;
  std::vector<RobotStatus> statuses;
  std::vector<SaturatedServo> saturated;
  std::vector<TouchedGeom> touched;
  /// Why the run does not pass although no check says so: a robot whose controller faulted or ended
  /// neither working nor finished, unless a check reads its status.
  std::vector<std::string> failures;

  [[nodiscard]] bool all_checks_hold() const noexcept;
  /// All checks hold and nothing else failed.
  [[nodiscard]] bool passes() const noexcept { return all_checks_hold() && failures.empty(); }
};

/// Called with the notices of the loaded scene before the first step, and with those of the run as
/// they come.
using OnNotices = std::function<void(std::span<const std::string>)>;

/// Runs an experiment headless at full speed. In each step: motions, mj_step, divergence
/// monitor, metrics, recording. Row 0 of the recording is the initial state, row i the state after
/// step i with the mocap poses, controls, sensor data and contacts of step i. Throws ModelError
/// (scene, checks) and RolloutError (recording).
[[nodiscard]] RunResult run_experiment(const Experiment& experiment, const RunOptions& options,
                                       const OnNotices& on_notices = {});

/// The summary as JSON text: experiment, seed, checks with value, limit and verdict, metrics, step
/// times, settings, versions, machine. Keys: docs/experiment_file.md. NaN and infinity become null.
[[nodiscard]] std::string summary_json(const Experiment& experiment, const RunResult& result);

/// Creates the folder and checks that files can be created in it. Throws OutputError.
void make_output_folder(const std::filesystem::path& folder);

/// Writes a text file. Throws OutputError.
void write_text_file(const std::filesystem::path& file, const std::string& text);

/// Model name of the processor; empty if unknown.
[[nodiscard]] std::string processor_name();

/// Version of this program, `0.1.0`.
[[nodiscard]] const char* version() noexcept;

}  // namespace tendril::host
