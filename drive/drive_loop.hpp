#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "drive/robot_driver.hpp"

namespace tendril {

/// Limits outside the controller, for whatever it is.
struct DriveSafety {
  /// Without a message of the robot for so long the commands are held [s].
  double stale_after = 0.1;
  /// Largest speed of a command, in ranges of its actuator per second; infinite: none.
  double speed_limit = std::numeric_limits<double>::infinity();
};

enum class DriveState : std::uint8_t {
  Waiting,  ///< for the robot's first message; nothing is commanded
  Running,
  Stale,    ///< no message has come for too long: commands are held until one comes
  Stopped,  ///< by `stop`: commands are held until a reset
  Fault,    ///< of the controller: commands are held until a reset
};
[[nodiscard]] const char* to_string(DriveState state) noexcept;

/// A driver with its safety. What is held does not change: neither the commands, nor the
/// controller's memory. Nothing is commanded that the actuators' ranges do not allow, and a number
/// of a message that is not finite did not come. Allocates nothing after construction.
/// Tested by: drive_loop_test.
class DriveLoop {
 public:
  /// `driver` must outlive it. Throws ModelError for limits that are not positive.
  DriveLoop(RobotDriver& driver, const DriveSafety& safety);

  void reset() noexcept;
  /// Holds all commands from the next step on. May be called from any thread and from a signal
  /// handler.
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }

  /// A message of the robot, or several since the last step.
  struct Message {
    std::span<const double> readings;
    std::span<const bool> arrived;  ///< sensors with a new reading in any of them
    const Eigen::Isometry3d* target = nullptr;
  };
  /// Makes a step.
  /// @param message   null: none has come
  /// @param commands  on entry those in force, or where the actuators are
  /// Returns whether they are to be sent.
  bool step(double time, const Message* message, std::span<double> commands) noexcept;

  [[nodiscard]] DriveState state() const noexcept { return state_; }
  struct Counts {
    long steps = 0, held = 0;  ///< held: in a state other than Running
    long without_message = 0;
    long limited = 0;              ///< a command was slowed down
    long discarded = 0;            ///< numbers that were not finite
    double longest_silence = 0.0;  ///< [s]
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const RobotDriver& driver() const noexcept { return driver_; }

 private:
  /// Takes over the numbers that are finite.
  void read(const Message& message) noexcept;

  RobotDriver& driver_;
  DriveSafety safety_;
  std::atomic<bool> stop_ = false;
  DriveState state_ = DriveState::Waiting;
  Counts counts_;
  double last_message_ = 0.0, last_step_ = 0.0;
  std::vector<double> readings_, before_;
  std::unique_ptr<bool[]> arrived_;  // as many as sensors
  Eigen::Isometry3d target_ = Eigen::Isometry3d::Identity();
  bool has_target_ = false;
};

}  // namespace tendril
