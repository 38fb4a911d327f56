#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "binding/arm_loop.hpp"
#include "drive/robot_ports.hpp"
#include "tendril/model/mechanism.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// An arm of a robot file as its computer has it: readings and the commands in force in, the state
/// of its chain out (ArmLoop), with the names of both. Its memory is the caller's.
class ArmComputer {
 public:
  /// The robot with the timestep, and with sensors as late as the options say. Throws ModelError.
  [[nodiscard]] static ContinuumDescription prepared(ContinuumDescription robot,
                                                     const ComputerOptions& options);

  /// Throws ModelError, see SensedArm.
  /// @param robot        `prepared`; must outlive it
  /// @param measurement  see ArmLoop
  ArmComputer(const ContinuumDescription& robot, const ComputerOptions& options,
              ArmMechanics::Options mechanics, ContactNeed contacts, ArmMeasurement& measurement);

  [[nodiscard]] const RobotPorts& ports() const noexcept { return ports_; }
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
  RobotPorts ports_;
  ArmMechanics::State start_, state_;  // straight; of the last step
  std::vector<double> tendon_commands_;
};

}  // namespace tendril
