#pragma once

#include <mujoco/mujoco.h>

#include <string>

namespace tendril::simulation {

/// Switches off the engine's automatic reset, which would silently restart a diverging run at t =
/// 0.
void disable_autoreset(mjModel& model) noexcept;

/// Monitors a run for divergence.
class DivergenceMonitor {
 public:
  /// Resets the monitor: warnings already counted in `data` are not reported.
  explicit DivergenceMonitor(const mjData& data) noexcept;

  /// Returns whether the state after a step is valid: every position, velocity and acceleration
  /// finite and within +-1e10, every control finite, contact and constraint buffers large enough.
  /// Does not allocate for a valid state.
  [[nodiscard]] bool healthy(const mjModel& model, const mjData& data) const noexcept;

  /// Returns the message for a state that `healthy` rejected:
  /// `diverged at step 123, t = 0.246 s: joint 'slide': velocity = nan m/s`.
  [[nodiscard]] std::string reason(const mjModel& model, const mjData& data, long step) const;

 private:
  int warnings_[mjNWARNING];
};

}  // namespace tendril::simulation
