#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "links/dynamixel/bus.hpp"
#include "links/dynamixel/bus_file.hpp"

namespace tendril::dynamixel {

/// Measured state of a servo, in the unit of its actuator.
struct ServoReading {
  bool is_new = false;      ///< from the last `read`; otherwise the numbers are older
  bool is_stopped = false;  ///< by its watchdog, or because it has restarted: it ignores goals
  Byte hardware_error = 0;  ///< bits of register 70; 0: none
  double value = 0.0;       ///< change of length of a tendon [m], angle of a joint [rad]
  double rate = 0.0;        ///< of the value [m/s, rad/s]
  /// Tension [N], which is positive when the tendon is pulled, or torque on the joint [N m].
  /// NaN without `torque_constant`. Friction of the servo is in it.
  double force = std::numeric_limits<double>::quiet_NaN();
};

/// Result of `Servos::write`.
struct WriteResult {
  bool is_sent = false;
  int limited = 0;  ///< goals beyond 256 turns, which were moved to the end, and commands that are
                    ///< no numbers, which left the goal where it was
};

/// The servos of a bus file, in its order: commands of actuators to goals, counts to readings.
///
///     Servos servos(read_bus_file("bus.toml"), bus);   // torque is off
///     servos.torque_on();
///     each period: servos.read(deadline); ... servos.write(commands, deadline);
class Servos {
 public:
  /// Finds all servos, checks their models, switches torque off and sets mode and return delay.
  /// Throws ModelError, which names port and servo.
  Servos(BusDescription description, DynamixelBus& bus);

  [[nodiscard]] const BusDescription& description() const noexcept { return description_; }
  /// Makes the present angles the goals, starts the watchdogs and switches torque on, also after a
  /// watchdog has stopped a servo. Throws ModelError.
  void torque_on();
  /// Lets go. Throws ModelError naming the first servo that does not answer; the others let go.
  void torque_off();

  /// Reads all servos. Returns how many have answered. A silent servo takes all the time there is.
  int read(DynamixelBus::Clock::time_point deadline) noexcept;
  [[nodiscard]] std::span<const ServoReading> readings() const noexcept { return readings_; }
  /// Sends a goal to each servo.
  WriteResult write(std::span<const double> commands,
                    DynamixelBus::Clock::time_point deadline) noexcept;

 private:
  void set_up(const ServoDescription& servo);
  void take(std::size_t i) noexcept;
  void read_errors(DynamixelBus::Clock::time_point deadline) noexcept;
  void read_watchdogs(DynamixelBus::Clock::time_point deadline) noexcept;

  BusDescription description_;
  DynamixelBus* bus_;
  int watchdog_ = 0;            // counts of the register; 0: off
  bool has_alert_ = false;      // of any servo at the last `read`
  bool check_watchdog_ = true;  // a servo can have stopped since the last check
  std::vector<Byte> ids_;
  std::vector<Answer> answers_;
  std::vector<ServoReading> readings_;
  std::vector<std::int64_t> positions_;  // steps, without the wrap of 32 bits
  std::vector<std::int32_t> goals_;      // steps
  std::vector<Byte> bytes_;
};

/// `position` continued by a 32-bit counter, which can have wrapped once since then.
[[nodiscard]] std::int64_t continued(std::int64_t position, std::int32_t counter) noexcept;

}  // namespace tendril::dynamixel
