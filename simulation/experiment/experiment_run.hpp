#pragma once

#include <mujoco/mujoco.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/engine/divergence.hpp"
#include "simulation/experiment/metrics.hpp"
#include "simulation/experiment/owned_inputs.hpp"
#include "simulation/experiment/prepared_run.hpp"
#include "simulation/experiment/robot_watch.hpp"
#include "simulation/experiment/run_result.hpp"
#include "simulation/experiment/step_times.hpp"
#include "simulation/scene/physical_faults.hpp"
#include "tendril/notice.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

class RunRecorder;

/// Adds the metric of a check and returns its index. Throws ModelError `<origin>: check: metric =
/// …` if the scene cannot have it.
int add_check(Metrics& metrics, const Check& check);

/// Called with the notices of the loaded scene before the first step, and with those of the run as
/// they come.
using OnNotices = std::function<void(std::span<const std::string>)>;

/// Opens a recording of the model.
using OpenRecording = std::function<std::unique_ptr<RowSink>(
    const RolloutLayout&, const RolloutAttributes&, std::span<const std::byte> model_mjb)>;

/// A step that another engine has made.
struct ForeignStep {
  std::span<const double> mocap_pos, mocap_quat, ctrl;  ///< in force during the step
  std::span<const double> qpos, qvel, act;              ///< the state after it; empty: MuJoCo's own
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
  /// @param more  attributes: `stepped_by` is the name of another engine that makes the steps,
  ///              `driven_by` the file of a remote controller; it cannot be replayed then
  void record(const OpenRecording& open, const RolloutAttributes& more = {});

  /// Tells whether there is no step left: the run is over, has diverged or was interrupted.
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Makes one step; nothing when the run is done. Throws what the recording throws.
  ///
  /// With `other`, which has the sizes of the model, the step's state is that of the other engine;
  /// contacts, sensors and controllers' measurements are those of the step that MuJoCo makes from
  /// the state before.
  void step(const ForeignStep* other = nullptr);
  /// Ends the run before its time; nothing when it is done.
  void interrupt();
  /// Closes the recording and evaluates the metrics, once; interrupts a run that is not done.
  const RunResult& finish();

  [[nodiscard]] const RunResult& result() const noexcept { return result_; }

 private:
  using Clock = std::chrono::steady_clock;

  void diverged(std::string reason);
  void evaluate();
  void tell_passing_robots();
  void tell_since(std::size_t known);
  void notice_at(double time, NoticeCode code, const std::string& text);

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
  OwnedInputs owned_;
  std::unique_ptr<RunRecorder> recorder_;
  StepTimeHistogram step_times_;
  std::optional<DivergenceMonitor> monitor_;  // since the first step
  Clock::time_point start_;
  bool done_ = false, finished_ = false;
};

}  // namespace tendril::simulation
