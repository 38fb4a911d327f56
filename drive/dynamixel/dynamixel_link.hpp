#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "drive/robot_link.hpp"
#include "drive/robot_message.hpp"
#include "drive/robot_ports.hpp"
#include "links/dynamixel/servos.hpp"

namespace tendril {

/// Servos of a bus file (docs/guide/dynamixel.md) that pull the tendons of an arm, or turn the
/// joints of a snake. Their angles are the readings of drum and joint encoders, their currents
/// those of tendon forces. `receive` and `send` take less than a step together and allocate
/// nothing. Tested by: dynamixel_drive_test.
class DynamixelLink final : public RobotLink {
 public:
  /// Finds the servos. Throws ModelError naming a servo without answer, an actuator without servo,
  /// or a sensor that servos cannot give.
  /// @param is_alone  no other link gives that sensor (CombinedLink)
  DynamixelLink(const std::filesystem::path& bus_file, const RobotPorts& ports, double timestep,
                bool is_alone);
  /// Switches torque off if `finish` has not.
  ~DynamixelLink() override;
  DynamixelLink(const DynamixelLink&) = delete;
  DynamixelLink& operator=(const DynamixelLink&) = delete;

  bool send(Order order, double time, std::span<const double> commands) noexcept override;
  bool receive(std::span<double> message) noexcept override;
  [[nodiscard]] std::string summary() const override;
  [[nodiscard]] std::string problem() const override;
  /// A servo has stopped, has a hardware error, or has been silent for the time of its watchdog; or
  /// the port has gone.
  [[nodiscard]] bool has_failed() const noexcept override { return failure_ != Failure::None; }
  /// Switches torque on where the servos are.
  void begin() override;
  void finish() override;

 private:
  using Clock = dynamixel::DynamixelBus::Clock;
  enum class Failure { None, Port, Silent, Stopped, Hardware };
  /// A sensor of the driver that is the angle or the force of a servo.
  struct Channel {
    std::size_t sensor, reading;
    std::size_t servo;
    bool is_force;
  };
  [[nodiscard]] std::size_t servo_of(const std::string& actuator) const;
  void bind_actuators(const RobotPorts& ports);
  void bind_sensors(const RobotPorts& ports, bool is_alone);
  void look_for_failure(Clock::time_point now) noexcept;

  std::string file_;
  dynamixel::BusDescription description_;
  std::vector<std::size_t> servos_of_;  // of each actuator of the driver
  std::vector<Channel> channels_;
  dynamixel::DynamixelBus bus_;  // opened after all of that
  dynamixel::Servos servos_;
  RobotMessage packer_;
  Clock::duration read_time_, write_time_;
  bool is_on_ = false;
  std::vector<double> readings_, commands_, goals_;
  std::size_t sensor_count_;
  std::unique_ptr<bool[]> arrived_;
  std::vector<Clock::time_point> heard_;  // of each servo
  Failure failure_ = Failure::None;
  std::size_t failed_ = 0;  // a servo
  long reads_ = 0, answers_ = 0, writes_ = 0, limited_ = 0;
};

}  // namespace tendril
