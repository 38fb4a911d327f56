#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// The first number of a recording that re-stepping does not reproduce bitwise.
struct ReplayDifference {
  std::int64_t step = 0;
  std::string field;       ///< `time`, `qpos`, …, `integration`; `engine` if the engine failed
  std::int64_t index = 0;  ///< within the field
  double recorded = 0.0;
  double replayed = 0.0;
  std::string reason;  ///< of `engine` only: its message
};

struct ReplayResult {
  std::int64_t rows = 0;            ///< in the recording
  std::int64_t compared_steps = 0;  ///< identical in every field
  std::optional<ReplayDifference> first_difference;
  std::string recorded_mujoco, replaying_mujoco;    ///< versions
  std::string recorded_tendril, replaying_tendril;  ///< versions

  [[nodiscard]] bool identical() const noexcept { return !first_difference.has_value(); }
  [[nodiscard]] bool same_versions() const noexcept {
    return recorded_mujoco == replaying_mujoco && recorded_tendril == replaying_tendril;
  }
};

/// Called periodically with the number of steps done and the recorded time reached [s].
using OnReplayProgress = std::function<void(std::int64_t steps, double time)>;

/// Steps the recorded model again from the state of row 0 and compares each row with the result:
/// time, qpos, qvel, act, ctrl, plugin_state and sensordata, and the whole integration state at
/// the rows that have one. Before step i the mocap poses and controls of row i are set, because
/// they were in effect during that step; a controller plugin recomputes its controls.
///
/// Of the log of a robot (`tendril drive`) a driver gets the recorded readings again, and its
/// commands are compared.
///
/// Replay needs row i to be the state after step i, row 0 the state before the first. Ends at the
/// first difference. Throws RolloutFormatError when the recording cannot be replayed (no rows, gaps
/// between steps, steps of another engine, a model of another MuJoCo version that does not load),
/// RolloutError, ModelError (engine, plugins). Tested by: replay_test.
[[nodiscard]] ReplayResult replay(RolloutReader& reader, const OnReplayProgress& on_progress = {});

}  // namespace tendril::simulation
