#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding/arm_model.hpp"
#include "controllers/arm/contact_response.hpp"
#include "controllers/arm/sensed_arm.hpp"
#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// What of a step of a continuum arm needs no engine: from the state of its chain, or the readings
/// of its sensors, to the controller's measurement, and from its command to the setpoints of the
/// actuators. The plugin and the computer of a robot run the same steps.
class ArmLoop {
 public:
  /// Its memory: the last setpoint of the feed servo, the last commanded coordinates, the moments
  /// of the servos in the last step, the last commands of the tendons and of the sections' turns,
  /// with twist the means of SectionTwists and that of what is left of its displacement of the tip,
  /// and, if the controller sees its sensors, the memory of the SensedArm.
  struct Memory {
    Memory(const ContinuumDescription& description, bool is_sensed, ContactNeed contacts,
           double timestep);
    MemoryLayout layout;
    Slot<double> feed_setpoint = layout.number();
    MatrixSlot<Eigen::VectorXd> command;
    Block moments, tendons, turns, twists;
    MatrixSlot<Eigen::VectorXd> swing_mean;
    std::optional<SensedArm::Memory> sensed;
    Block sensed_block;
  };

  /// @param options  see ArmModel
  /// @param measurement  of the arm's sizes; what is the same in every step is set
  ArmLoop(const Mechanism& mechanism, const ContinuumDescription& description,
          ArmMechanics::Options options, bool is_sensed, ContactNeed contacts,
          ArmMeasurement& measurement);
  ArmLoop(const ArmLoop&) = delete;
  ArmLoop& operator=(const ArmLoop&) = delete;

  /// Lets the controller see its sensors, which tell of the contacts that it needs. Throws
  /// ModelError, see SensedArm.
  /// @param gravity  world frame, of the body
  /// @param R_WB     orientation of a base that stands (SensedArm)
  void use_sensors(const Mechanism& mechanism, const ContinuumDescription& description,
                   const Eigen::Vector3d& gravity, const std::optional<Eigen::Matrix3d>& R_WB);
  [[nodiscard]] bool is_sensed() const noexcept { return sensed_.has_value(); }
  /// Null: the controller sees the truth.
  [[nodiscard]] const SensedArm* sensed() const noexcept { return sensed_ ? &*sensed_ : nullptr; }
  /// What the sensors tell, after `use_sensors`.
  [[nodiscard]] ArmEstimate empty_estimate() const { return sensed_->empty_estimate(); }
  void estimate(std::span<const double> own, ArmEstimate& estimate) noexcept {
    sensed_->estimate(memory_.sensed_block(own), estimate);
  }

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return memory_.layout; }
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const ArmModel& model() const noexcept { return model_; }
  [[nodiscard]] const ArmMechanics& mechanics() const noexcept { return model_.mechanics; }

  /// Finds the state of the chain from readings (SensedArm::sense), whose base, feed and spin are
  /// set.
  /// @param tendon_commands  of the last step; of chambers their pressures now
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<const double> tendon_commands, std::span<double> next_own,
             ArmMechanics::State& state) noexcept;
  /// Fills in the contacts of which the sensors tell, if the controller needs them, and the
  /// response of the tip, if it senses it: after `sense` and `measure`.
  void sense_contacts(const ArmMechanics::State& state, const ArmController& controller,
                      std::span<double> next_own, ArmMeasurement& out) noexcept;
  /// Fills in what follows from a state of the chain.
  void measure(const ArmMechanics::State& state, std::span<const double> tendon_commands,
               std::span<const double> own, ArmMeasurement& out) noexcept;
  /// Writes the setpoints of the actuators, those of the tendons last.
  /// @param state  of the last `measure`
  void setpoints(const ArmMechanics::State& state, const ArmMeasurement& measurement,
                 const ArmCommand& command, std::span<double> next_own,
                 std::span<double> setpoints) noexcept;
  /// Keeps in the memory what the actuators were given.
  void keep(const ArmMechanics::State& state, std::span<const double> setpoints,
            std::span<double> next_own) noexcept;

  /// What the robot's computer reads besides its sensors, because the actuators tell it: positions
  /// and speeds of feed, spin and the sections' turns, then the pressures of chambers that take
  /// time.
  struct DriveReading {
    std::string name;  ///< "feed", "feed_rate", "spin", "spin_rate", "s1_turn", ..., of a chamber
    int actuator;      ///< of the mechanism
  };
  [[nodiscard]] std::span<const DriveReading> drive_readings() const noexcept { return drives_; }
  /// Takes them to a state, and to the commands in force of the tendons (`sense`), which are else
  /// those of the last step.
  void read_drives(std::span<const double> readings, std::span<const double> own,
                   ArmMechanics::State& state, std::span<double> tendon_commands) const noexcept;

 private:
  ContinuumRobot robot_;
  ArmModel model_;
  Memory memory_;
  double timestep_;
  Eigen::VectorXd twist_swing_;  // of the last `measure`
  std::vector<DriveReading> drives_;
  std::vector<std::size_t> slow_tendons_;  // of the chambers among these
  std::optional<SensedArm> sensed_;
  std::optional<ContactResponse> response_;  // to the contacts that are sensed
  double length_;                            // of the straight arm [m]
};

[[nodiscard]] bool is_finite(const ArmCommand& command) noexcept;

/// Sets the command to what a controller finds that sets nothing.
void forget(ArmCommand& command, CommandKind kind, const ArmMeasurement& measured) noexcept;

}  // namespace tendril
