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

#include "binding/arm_loop.hpp"
#include "controllers/controller_kind.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// The controller of a continuum arm on the arm's own computer: readings in, commands of the
/// actuators out, once in a step. It runs the controller of the robot file with the estimator, the
/// servo law and the memory that the plugin runs (`measured = "sensors"`), and needs no engine.
/// Tested by: arm_driver_test, against the plugin.
class ArmDriver {
 public:
  struct Options {
    double timestep = 0.002;  ///< of the steps [s]
    /// What the integrator of a simulated robot adds to the damping of springs and servos
    /// (Mechanism::numerical_damping_time) [s]; 0: a robot.
    double numerical_damping_time = 0.0;
    /// From a reading to when a command that follows from it acts: the mean delays of the link,
    /// both ways [s]. The controller sees the robot as it is when its commands arrive: for the
    /// estimator all readings are late by this, and feed and spin go on at their speed.
    double link_delay = 0.0;
    /// Readings of forces, velocities and drums are those of the step before, as in a simulation;
    /// false: a robot's are as new as the others.
    bool are_forces_late = true;
    Eigen::Vector3d gravity{0.0, 0.0, -9.81};            ///< world frame [m/s^2]
    Eigen::Matrix3d R_WB = Eigen::Matrix3d::Identity();  ///< orientation of the base, which stays
  };
  /// A reading of the robot, in the order of `step`.
  struct Channel {
    std::string name;
    int width = 1;
    bool is_sensor = true;  ///< of a `[[sensor]]`; else of the actuators (ArmLoop::DriveReading)
  };
  struct Actuator {
    std::string name;
    std::array<double, 2> range;  ///< of its commands; infinite: none
  };

  /// Throws ModelError, also for a controller that needs a scene or works by contacts.
  ArmDriver(ContinuumDescription robot, const Options& options);
  ~ArmDriver();
  ArmDriver(const ArmDriver&) = delete;
  ArmDriver& operator=(const ArmDriver&) = delete;

  [[nodiscard]] std::span<const Channel> channels() const noexcept { return channels_; }
  [[nodiscard]] std::size_t reading_count() const noexcept { return reading_count_; }
  [[nodiscard]] std::size_t sensor_count() const noexcept { return sensor_count_; }
  [[nodiscard]] std::span<const Actuator> actuators() const noexcept { return actuators_; }
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
  /// Names of the joints of the model of the arm, feed and spin last.
  [[nodiscard]] std::vector<std::string> joints() const;
  /// Position and speed of each of them, as the last step has found them [rad], [m].
  void joint_states(std::span<std::array<double, 2>> out) const noexcept;
  /// What a controller that failed threw; empty: none did.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  class Scene;
  [[nodiscard]] std::span<double> own(std::vector<double>& memory) const noexcept;

  double link_delay_;

  ContinuumDescription robot_;
  Mechanism mechanism_;
  const ControllerKind* kind_ = nullptr;
  std::vector<SettingInfo> rows_;
  std::optional<Settings> settings_;
  std::unique_ptr<Scene> scene_;
  std::unique_ptr<ArmController> controller_;
  ArmMeasurement measurement_;
  ArmCommand command_;
  std::unique_ptr<ArmLoop> loop_;
  std::vector<Channel> channels_;
  std::vector<Actuator> actuators_;
  std::size_t reading_count_ = 0, sensor_numbers_ = 0, sensor_count_ = 0;
  std::string target_name_, fault_;
  std::vector<double> memory_, next_;  // of the controller, then of the loop
  ArmMechanics::State state_;
  std::vector<double> tendon_commands_, own_values_;
  ControllerReport report_;
};

}  // namespace tendril
