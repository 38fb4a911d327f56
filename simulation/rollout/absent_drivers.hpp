#pragma once

#include <mujoco/mujoco.h>

#include <memory>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Robots of a recording that a driver outside the engine drove: the model's controllers know
/// nothing of it, so that they draw neither a target nor a plan.
class AbsentDrivers {
 public:
  AbsentDrivers();
  ~AbsentDrivers();
  AbsentDrivers(AbsentDrivers&&) noexcept;
  AbsentDrivers& operator=(AbsentDrivers&&) noexcept;

  /// Takes the controllers of these robots away from the data, which must not outlive this. Throws
  /// ModelError.
  void leave_out(const RolloutReader& reader, const mjModel& model, mjData& data);

 private:
  struct Nobody;
  std::unique_ptr<Nobody> nobody_;
};

}  // namespace tendril::simulation
