#pragma once

#include <mujoco/mujoco.h>

#include <string>

namespace tendril::host {

/// Switches the engine's automatic reset off: with it a diverging run starts again from t = 0
/// unseen.
void disable_autoreset(mjModel& model) noexcept;

/// Watches a run for values that are no longer physics.
class DivergenceMonitor {
 public:
  /// Forgets the past: warnings already counted in `data` are not reported.
  explicit DivergenceMonitor(const mjData& data) noexcept;

  /// Whether the state after a step is sane: every position, velocity and acceleration finite and
  /// within +-1e10, every control finite, contact and constraint buffers large enough. No
  /// allocation while all is well.
  [[nodiscard]] bool healthy(const mjModel& model, const mjData& data) const noexcept;

  /// One line for the state that `healthy` refused:
  /// `diverged at step 123, t = 0.246 s: joint 'slide': velocity = nan m/s`.
  [[nodiscard]] std::string reason(const mjModel& model, const mjData& data, long step) const;

 private:
  int warnings_[mjNWARNING];
};

}  // namespace tendril::host
