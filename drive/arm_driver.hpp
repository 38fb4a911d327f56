#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "drive/arm_computer.hpp"

namespace tendril {

/// The controller of a continuum arm on the arm's own computer: readings in, commands of the
/// actuators out, once in a step. It runs the controller of the robot file with the estimator, the
/// servo law and the memory that the plugin runs (`measured = "sensors"`), and needs no engine.
/// Tested by: arm_driver_test, against the plugin.
class ArmDriver {
 public:
  using Options = ArmComputerOptions;
  using Channel = ArmComputer::Channel;
  using Actuator = ArmComputer::Actuator;

  /// Throws ModelError, also for a controller that needs a scene or works by contacts.
  ArmDriver(ContinuumDescription robot, const Options& options);
  ~ArmDriver();
  ArmDriver(const ArmDriver&) = delete;
  ArmDriver& operator=(const ArmDriver&) = delete;

  [[nodiscard]] std::span<const Channel> channels() const noexcept { return computer_->channels(); }
  [[nodiscard]] std::size_t reading_count() const noexcept { return computer_->reading_count(); }
  [[nodiscard]] std::size_t sensor_count() const noexcept { return computer_->sensor_count(); }
  [[nodiscard]] std::span<const Actuator> actuators() const noexcept {
    return computer_->actuators();
  }
  [[nodiscard]] const ControllerKind& kind() const noexcept { return *kind_; }
  [[nodiscard]] const ContinuumDescription& robot() const noexcept { return robot_; }
  /// Whether the controller follows a target.
  [[nodiscard]] bool has_target() const noexcept;
  /// Name of the body that is the target, as the robot file says.
  [[nodiscard]] const std::string& target_name() const noexcept { return target_name_; }

  /// Back to before the first step.
  void reset() noexcept;

  /// Makes a step: writes one command for each actuator. On entry the commands are those in force.
  /// Returns whether they are new: they are not after a fault of the controller, which lasts until
  /// a reset.
  /// @param time      [s], from any start
  /// @param readings  the newest of all channels, one after the other
  /// @param arrived   whether a sensor's has come since the last step
  /// @param target    base frame; must be there if the controller has one
  bool step(double time, std::span<const double> readings, std::span<const bool> arrived,
            const Eigen::Isometry3d* target, std::span<double> commands) noexcept;
  /// Keeps what the actuators were really given after a step, if that is not what it wrote.
  void keep(std::span<const double> commands) noexcept;

  /// Of the last step.
  [[nodiscard]] const ControllerReport& report() const noexcept { return report_; }
  [[nodiscard]] const ArmMeasurement& seen() const noexcept { return measurement_; }
  [[nodiscard]] const ArmCommand& command() const noexcept { return command_; }
  [[nodiscard]] const ArmComputer& computer() const noexcept { return *computer_; }
  /// What a controller that failed threw; empty: none did.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  class Scene;
  [[nodiscard]] std::span<double> own(std::vector<double>& memory) const noexcept;

  ContinuumDescription robot_;
  const ControllerKind* kind_ = nullptr;
  std::vector<SettingInfo> rows_;
  std::optional<Settings> settings_;
  std::unique_ptr<Scene> scene_;
  std::unique_ptr<ArmController> controller_;
  ArmMeasurement measurement_;
  ArmCommand command_;
  std::optional<ArmComputer> computer_;
  std::string target_name_, fault_;
  std::vector<double> memory_, next_;  // of the controller, then of the loop
  std::vector<double> own_values_;
  ControllerReport report_;
};

}  // namespace tendril
