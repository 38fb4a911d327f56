#pragma once

// Read robot_driver.hpp first.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drive/arm_computer.hpp"
#include "drive/robot_driver.hpp"

namespace tendril {

/// The driver of a continuum arm whose base stands.
class ArmDriver final : public DriverOf<ArmController> {
 public:
  /// Throws ModelError, also for a controller that needs a scene or works by contacts of which no
  /// sensor tells.
  ArmDriver(ContinuumDescription robot, const ComputerOptions& options);

  [[nodiscard]] const ContinuumDescription& robot() const noexcept { return robot_; }
  [[nodiscard]] const std::string& text() const noexcept override { return robot_.text; }
  [[nodiscard]] std::span<const RobotSensor> sensors() const noexcept override {
    return robot_.sensors;
  }
  [[nodiscard]] Places places() const noexcept override {
    return {measurement_.X_BE, measurement_.X_BG, std::nullopt};
  }
  [[nodiscard]] std::vector<std::string> joints() const override { return computer_->joints(); }
  void joint_states(std::span<std::array<double, 2>> out) const noexcept override {
    computer_->joint_states(out);
  }

 private:
  void reset_own(std::span<double> own) noexcept override { computer_->reset(own); }
  void see(const Input& input, std::span<const double> own,
           std::span<double> next_own) noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> commands) noexcept override;
  void keep_own(std::span<const double> commands, std::span<double> own) noexcept override {
    computer_->keep(commands, own);
  }

  ContinuumDescription robot_;
  std::optional<ArmComputer> computer_;
};

}  // namespace tendril
