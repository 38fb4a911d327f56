#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>
#include <vector>

#include "simulation/experiment/experiment_run.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Writes the rows of a run. Does not allocate per row: the views point into mjData, those of
/// contacts into a buffer that grows only when needed.
class RunRecorder {
 public:
  /// `model` must outlive it. Throws what `open` throws.
  RunRecorder(const mjModel& model, const RolloutAttributes& attributes, const OpenRecording& open);

  /// @param step          number of the row; 0: the state before the first step, without contacts
  /// @param step_time_us  wall time of the step
  void append(const mjData& data, long step, double step_time_us);

  void close(const std::string& outcome) { sink_->close(outcome); }

 private:
  const mjModel& model_;
  RolloutLayout layout_;
  std::unique_ptr<RowSink> sink_;
  std::vector<double> integration_;
  std::vector<ContactRow> contacts_;
};

}  // namespace tendril::simulation
