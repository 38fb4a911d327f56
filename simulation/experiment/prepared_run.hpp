#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/motion_set.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

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
  std::optional<double> duration = {};  ///< [s]
  std::optional<std::uint64_t> seed = {};
  std::vector<Setting> settings = {};  ///< applied last
  std::string controller = {};         ///< plugin name for every robot file; empty: as in the files
  std::vector<AddedSensor> sensors = {};
};

/// Loads the scene with the experiment's settings, the draws of the seed and the changes; switches
/// off the engine's automatic reset, sets the keyframe and the motions at their start, and
/// evaluates the initial state (mj_forward). Throws ModelError.
[[nodiscard]] PreparedRun prepare_run(const Experiment& experiment, const RunChanges& changes);

/// Does the same in two parts, for data of another owner: compile_run leaves `data` out, set_start
/// makes the initial state.
[[nodiscard]] PreparedRun compile_run(const Experiment& experiment, const RunChanges& changes);
void set_start(const Experiment& experiment, PreparedRun& run, const mjModel& model, mjData& data);

/// Returns the attributes that describe a recording of the run. What the engine has to say of the
/// model goes to `notices`.
[[nodiscard]] RolloutAttributes recording_attributes(const Experiment& experiment,
                                                     const PreparedRun& run, const mjModel& model,
                                                     std::uint64_t seed,
                                                     const std::string& command_line,
                                                     std::vector<std::string>& notices);

}  // namespace tendril::simulation
