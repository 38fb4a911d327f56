#pragma once

#include <Eigen/Core>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tendril/model/mechanism.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/sensor.hpp"

namespace tendril {

/// What the computer of a robot is told besides the robot file.
struct ComputerOptions {
  double timestep = 0.002;  ///< of the steps [s]
  /// What the integrator of a simulated robot adds to the damping of springs and servos
  /// (Mechanism::numerical_damping_time) [s]; 0: a robot.
  double numerical_damping_time = 0.0;
  /// From a reading to when a command that follows from it acts: the mean delays of the link, both
  /// ways [s]. The controller sees the robot as it is when its commands arrive: for the estimator
  /// all readings are late by this, and feed and spin go on at their speed.
  double link_delay = 0.0;
  /// Readings of forces, velocities and drums are those of the step before, as in a simulation;
  /// false: a robot's are as new as the others.
  bool are_forces_late = true;
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};  ///< world frame [m/s^2]
  /// Pose of the base, of a free snake at the start; nothing: as the robot file has it, upright
  /// [m].
  std::optional<Eigen::Matrix3d> R_WB = std::nullopt;
  std::optional<Eigen::Vector3d> p_WB = std::nullopt;
};

/// What a robot's computer reads and commands, in the order of its messages.
struct RobotPorts {
  struct Channel {
    std::string name;
    int width = 1;
    bool is_sensor = true;  ///< of a `[[sensor]]`; else what an actuator tells
    /// The actuator whose position it is, or whose force; empty: of none.
    std::string actuator{};
    bool is_force = false;
    std::string origin{};  ///< `arm.toml:12: sensor tracker`
  };
  struct Actuator {
    std::string name;
    std::array<double, 2> range;                           ///< of its commands; infinite: none
    enum class Kind { Force, Tendon, Hinge, Slide } kind;  ///< Force, or a position of the others
  };

  std::vector<Channel> channels;  ///< those of sensors first
  std::vector<Actuator> actuators;
  std::size_t sensor_count = 0, sensor_numbers = 0, reading_count = 0;

  /// @param tendons  names of the actuators that an EngineSensor counts
  void add_sensors(std::span<const RobotSensor> sensors, std::span<const std::string> tendons = {});
  void add_drive_reading(const std::string& name);
  void add_actuator(const Mechanism& mechanism, int actuator);
};

/// The mechanism of a robot with the timestep and the damping of the options.
[[nodiscard]] Mechanism driven_mechanism(const RobotDescription& robot,
                                         const ComputerOptions& options);

/// Makes sensors as late as the options say. Throws ModelError.
void prepare_sensors(std::vector<RobotSensor>& sensors, const ComputerOptions& options);

}  // namespace tendril
