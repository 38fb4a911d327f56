#pragma once

// Read sensed_snake.hpp first.

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "binding/driven_joint.hpp"
#include "binding/sensed_snake.hpp"
#include "tendril/model/mechanism.hpp"

namespace tendril {

/// What of a step of a snake needs no engine: from the states of its joints, or the readings of its
/// sensors, to the controller's measurement, and from its command to the setpoints of the
/// actuators.
class SnakeLoop {
 public:
  /// Its memory: the joints' torques in the last step, and that of the SensedSnake, if the
  /// controller sees its sensors.
  struct Memory {
    /// @param base  nothing: the controller sees the truth
    Memory(int joint_count, std::optional<SensedSnake::Base> base);
    MemoryLayout layout;
    MatrixSlot<Eigen::VectorXd> torque;
    Block sensed;
  };

  /// Throws ModelError naming a joint or actuator that the mechanism lacks.
  /// @param gravity  world frame [m/s^2]
  /// @param base     see Memory
  SnakeLoop(const Mechanism& mechanism, const SnakeDescription& snake, CommandKind commands,
            const Eigen::Vector3d& gravity, std::optional<SensedSnake::Base> base);

  /// What the sensors of a snake with this controller tell of its pose.
  [[nodiscard]] static SensedSnake::Base base_of(const SnakeDescription& snake,
                                                 const SnakeController& controller) noexcept;
  /// Lets the controller see its sensors. Throws ModelError for a snake or a controller of which
  /// they do not tell enough, see SensedSnake too.
  void use_sensors(const Mechanism& mechanism, const SnakeDescription& snake,
                   const SnakeController& controller, const std::string& controller_name);
  [[nodiscard]] bool is_sensed() const noexcept { return sensed_.has_value(); }
  /// Null: the controller sees the truth.
  [[nodiscard]] const SensedSnake* sensed() const noexcept { return sensed_ ? &*sensed_ : nullptr; }

  /// Those of the hinges from the tail on, then that of the carriage.
  [[nodiscard]] std::span<const DrivenJoint> joints() const noexcept { return joints_; }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return memory_.layout; }

  /// What the robot's computer reads besides its sensors: position and speed of a carriage, whose
  /// motor has an encoder.
  [[nodiscard]] std::vector<std::string> drive_readings() const;

  /// Fills in what follows from the states of the joints: angles, rates and loads.
  void measure(std::span<const JointState> states, std::span<const double> own,
               SnakeMeasurement& out) const noexcept;
  /// Replaces what sensors do not measure (SensedSnake::sense). The state of the carriage, whose
  /// motor has an encoder, is set in `states`.
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<double> next_own, SnakeMeasurement& seen,
             std::span<JointState> states) noexcept;
  /// Of a snake that sees its sensors, see SensedSnake.
  void read_angles(std::span<const double> readings, std::span<const bool> arrived,
                   Eigen::VectorXd& q) noexcept {
    sensed_->read_angles(readings, arrived, q);
  }
  void place(const Eigen::Isometry3d& X_WT, SnakeMeasurement& seen,
             std::span<JointState> states) noexcept;
  /// Writes the setpoints of the actuators, and keeps them.
  /// @param states  that the controller saw
  void setpoints(std::span<const JointState> states, const SnakeCommand& command,
                 std::span<double> next_own, std::span<double> setpoints) const noexcept;
  /// Keeps in the memory the torques of setpoints that the actuators were given.
  void keep(std::span<const JointState> states, std::span<const double> setpoints,
            std::span<double> next_own) const noexcept;

 private:
  void measure_gravity(std::span<const JointState> states, SnakeMeasurement& out) const noexcept;

  std::vector<DrivenJoint> joints_;
  CommandKind commands_;
  Eigen::Vector3d gravity_;
  double timestep_;
  Memory memory_;
  std::optional<SensedSnake> sensed_;
};

[[nodiscard]] bool is_finite(const SnakeCommand& command) noexcept;

/// Sets the command to what a controller finds that sets nothing.
void forget(SnakeCommand& command, CommandKind kind, const SnakeMeasurement& measured) noexcept;

}  // namespace tendril
