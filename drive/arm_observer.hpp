#pragma once

#include <optional>
#include <span>
#include <vector>

#include "drive/arm_computer.hpp"
#include "tendril/estimation/arm_estimator.hpp"

namespace tendril {

/// The shape of a continuum arm, and the force on its tip, from its sensors and from what its
/// actuators are told, whoever tells them: the estimator of an ArmDriver without its controller.
/// Source: docs/theory/estimation.md. Tested by: arm_observer_test, against ArmDriver.
class ArmObserver {
 public:
  /// Throws ModelError, see SensedArm.
  ArmObserver(ContinuumDescription robot, const ComputerOptions& options);
  ArmObserver(const ArmObserver&) = delete;
  ArmObserver& operator=(const ArmObserver&) = delete;

  [[nodiscard]] const ContinuumDescription& robot() const noexcept { return robot_; }
  /// Names of readings and commands, in the order of `step`.
  [[nodiscard]] const ArmComputer& computer() const noexcept { return *computer_; }

  /// Back to rest where the robot file starts the arm.
  void reset() noexcept;
  /// Advances by a timestep.
  /// @param readings, arrived  see ArmComputer::sense
  /// @param commands  that the actuators have had since the last step
  void step(std::span<const double> readings, std::span<const bool> arrived,
            std::span<const double> commands) noexcept;
  /// The estimate of the last step, base frame. Valid until the next call.
  const ArmEstimate& estimate() noexcept;

 private:
  ContinuumDescription robot_;
  ArmMeasurement measurement_;
  std::optional<ArmComputer> computer_;
  std::vector<double> memory_;
  ArmEstimate estimate_;
  bool is_current_ = false;  // the estimate
};

}  // namespace tendril
