#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "binding/arm_loop.hpp"
#include "tendril/model/mechanism.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// What the computer of an arm is told besides the robot file.
struct ArmComputerOptions {
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
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};            ///< world frame [m/s^2]
  Eigen::Matrix3d R_WB = Eigen::Matrix3d::Identity();  ///< orientation of the base, which stays
};

/// An arm of a robot file as its computer has it: readings and the commands in force in, the state
/// of its chain out (ArmLoop), with the names of both. Its memory is the caller's.
class ArmComputer {
 public:
  /// A reading of the robot, in the order of `sense`.
  struct Channel {
    std::string name;
    int width = 1;
    bool is_sensor = true;  ///< of a `[[sensor]]`; else of the actuators (ArmLoop::DriveReading)
  };
  struct Actuator {
    std::string name;
    std::array<double, 2> range;  ///< of its commands; infinite: none
  };

  /// The robot with the timestep, and with sensors as late as the options say. Throws ModelError.
  [[nodiscard]] static ContinuumDescription prepared(ContinuumDescription robot,
                                                     const ArmComputerOptions& options);

  /// Throws ModelError, see SensedArm.
  /// @param robot        `prepared`; must outlive it
  /// @param measurement  see ArmLoop
  ArmComputer(const ContinuumDescription& robot, const ArmComputerOptions& options,
              ArmMechanics::Options mechanics, ContactNeed contacts, ArmMeasurement& measurement);

  [[nodiscard]] std::span<const Channel> channels() const noexcept { return channels_; }
  [[nodiscard]] std::size_t reading_count() const noexcept { return reading_count_; }
  [[nodiscard]] std::size_t sensor_count() const noexcept { return sensor_count_; }
  [[nodiscard]] std::span<const Actuator> actuators() const noexcept { return actuators_; }
  [[nodiscard]] ArmLoop& loop() noexcept { return *loop_; }
  [[nodiscard]] const ArmLoop& loop() const noexcept { return *loop_; }

  /// Writes the memory of the start, and forgets the state.
  void reset(std::span<double> own) noexcept {
    loop_->layout().reset(own);
    state_ = start_;
  }
  /// Finds the state, and the commands of the tendons then in force, from the readings.
  /// @param readings  the newest of all channels, one after the other
  /// @param arrived   whether a sensor's has come since the last step
  /// @param own,next  memory of the loop, and a copy of it, written; may be the same
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<const double> own, std::span<double> next) noexcept;
  /// Keeps in the memory what the actuators are given after the last `sense`.
  void keep(std::span<const double> commands, std::span<double> own) const noexcept {
    loop_->keep(state_, commands, own);
  }
  [[nodiscard]] const ArmMechanics::State& state() const noexcept { return state_; }
  [[nodiscard]] std::span<const double> tendon_commands() const noexcept {
    return tendon_commands_;
  }

  /// Names of the joints of the model of the arm, feed and spin last.
  [[nodiscard]] std::vector<std::string> joints() const;
  /// Position and speed of each of them, as the last step has found them [rad], [m].
  void joint_states(std::span<std::array<double, 2>> out) const noexcept;

 private:
  double link_delay_;
  Mechanism mechanism_;
  std::unique_ptr<ArmLoop> loop_;
  std::vector<Channel> channels_;
  std::vector<Actuator> actuators_;
  std::size_t reading_count_ = 0, sensor_numbers_ = 0, sensor_count_ = 0;
  ArmMechanics::State start_, state_;  // straight; of the last step
  std::vector<double> tendon_commands_;
};

}  // namespace tendril
