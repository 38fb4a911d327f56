#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulation/engine/divergence.hpp"
#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/metrics.hpp"
#include "simulation/experiment/motion_set.hpp"
#include "simulation/experiment/robot_watch.hpp"
#include "simulation/scene/physical_faults.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

class RunRecorder;

/// A scene ready to be stepped: compiled with the settings of one seed, at its initial state.
struct PreparedRun {
  Scene scene;
  DataPtr data;
  MotionSet motions;
  std::vector<Fault> faults;
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

/// The same in two parts, for data of another owner: what `prepare_run` gives without data, and the
/// initial state.
[[nodiscard]] PreparedRun compile_run(const Experiment& experiment, const RunChanges& changes);
void set_start(const Experiment& experiment, PreparedRun& run, const mjModel& model, mjData& data);

/// What describes a recording of the run. What the engine has to say of the model goes to
/// `notices`.
[[nodiscard]] RolloutAttributes recording_attributes(const Experiment& experiment,
                                                     const PreparedRun& run, const mjModel& model,
                                                     std::uint64_t seed,
                                                     const std::string& command_line,
                                                     std::vector<std::string>& notices);

/// Adds the metric of a check and returns its index. Throws ModelError `<origin>: check: metric =
/// …` if the scene cannot have it.
int add_check(Metrics& metrics, const Check& check);

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

/// Opens a recording of the model.
using OpenRecording = std::function<std::unique_ptr<RowSink>(
    const RolloutLayout&, const RolloutAttributes&, std::span<const std::byte> model_mjb)>;

/// Wall times of steps in constant memory, in buckets of 1 % width.
class StepTimeHistogram {
 public:
  void add(double time_us) noexcept;
  [[nodiscard]] StepTimes times() const;

 private:
  [[nodiscard]] double quantile(double q) const;

  std::array<std::uint64_t, 2600> counts_{};  // up to 2e9 us
  std::uint64_t count_ = 0;
  double sum_ = 0.0, max_ = 0.0;
};

/// An experiment under way. In each step: motions, faults, mj_step, divergence monitor, metrics,
/// recording. Row 0 of the recording is the initial state, row i the state after step i with the
/// mocap poses, controls, sensor data and contacts of step i.
class ExperimentRun {
 public:
  /// `experiment` and `run` must outlive it, as must `model` and `data`, which are at the start:
  /// those of `run`, or of another owner. Throws ModelError for a check that the scene cannot have.
  ExperimentRun(const Experiment& experiment, const PreparedRun& run, mjModel& model, mjData& data,
                const RunChanges& changes, std::string command_line, OnNotices on_notices = {});
  ~ExperimentRun();
  ExperimentRun(const ExperimentRun&) = delete;
  ExperimentRun& operator=(const ExperimentRun&) = delete;

  /// Begins a recording, before the first step.
  void record(const OpenRecording& open);

  /// Whether there is no step left: the run is over, has diverged or was interrupted.
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Makes one step; nothing when the run is done. Throws what the recording throws.
  void step();
  /// Ends the run before its time; nothing when it is done.
  void interrupt();
  /// Closes the recording and evaluates the metrics, once; interrupts a run that is not done.
  const RunResult& finish();

  [[nodiscard]] const RunResult& result() const noexcept { return result_; }

 private:
  using Clock = std::chrono::steady_clock;

  void diverged(std::string reason);
  void evaluate();

  const Experiment& experiment_;
  const PreparedRun& run_;
  mjModel& model_;
  mjData& data_;
  PhysicalFaults faults_;
  OnNotices on_notices_;
  RunResult result_;
  Metrics metrics_;
  std::vector<int> check_metrics_;
  int first_default_ = 0;
  RobotWatch watch_;
  std::unique_ptr<RunRecorder> recorder_;
  StepTimeHistogram step_times_;
  std::optional<DivergenceMonitor> monitor_;  // since the first step
  Clock::time_point start_;
  bool done_ = false, finished_ = false;
};

/// The summary as JSON text: experiment, seed, checks with value, limit and verdict, metrics, step
/// times, settings, versions, machine. Keys: docs/experiment_file.md. NaN and infinity become null.
[[nodiscard]] std::string summary_json(const Experiment& experiment, const RunResult& result);

/// Model name of the processor; empty if unknown.
[[nodiscard]] std::string processor_name();

/// Version of this program, `0.1.0`.
[[nodiscard]] const char* version() noexcept;

}  // namespace tendril::simulation
