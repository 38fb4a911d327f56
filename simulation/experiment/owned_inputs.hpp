#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

namespace tendril::simulation {

/// Inputs of a model that a run writes itself in each step.
struct OwnedInput {
  mjtNum* mjData::*field;  ///< ctrl, mocap_pos or mocap_quat
  int address, size;
  std::string name;   ///< "ctrl of A_s1_x"
  std::string owner;  ///< who writes it, and what to do instead
};

/// Finds what a program writes to owned inputs between two steps, where it has no effect.
class OwnedInputs {
 public:
  OwnedInputs(std::vector<OwnedInput> inputs, const mjData& data);

  /// Looks, before a step, for what has been written since the last one.
  void before_step(const mjData& data) noexcept;
  /// Tells whether the step has overwritten an input for the first time. No allocation.
  [[nodiscard]] bool after_step(const mjData& data) noexcept;
  /// Says, after a step for which `after_step` returned true, which input that was.
  [[nodiscard]] std::string overwritten() const;

 private:
  struct Entry {
    OwnedInput input;
    std::vector<mjtNum> last, written;
    bool is_written = false, is_new = false, is_told = false;
  };
  std::vector<Entry> entries_;
  double time_;
};

}  // namespace tendril::simulation
