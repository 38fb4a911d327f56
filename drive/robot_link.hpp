#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tendril {

/// What the computer says with its commands.
enum class Order : std::uint8_t {
  Hello = 0,    ///< send me your messages; the commands mean nothing
  Command = 1,  ///< go there
  Hold = 2,     ///< stay; the commands are those held
};

/// A way to a robot, in real time. Both functions take a bounded time and allocate nothing.
class RobotLink {
 public:
  virtual ~RobotLink() = default;
  /// Sends one number for each actuator. Returns whether they are on their way.
  virtual bool send(Order order, double time, std::span<const double> commands) noexcept = 0;
  /// Takes the newest message that has come (RobotMessage). Returns whether one has; else nothing
  /// is written.
  virtual bool receive(std::span<double> message) noexcept = 0;
  /// What went over the link, a line for people.
  [[nodiscard]] virtual std::string summary() const = 0;
  /// Why the robot cannot be driven, after nothing has come; empty: it may be silent.
  [[nodiscard]] virtual std::string problem() const { return {}; }
  /// Whether the robot cannot be driven any more: the loop ends.
  [[nodiscard]] virtual bool has_failed() const noexcept { return false; }
  /// Takes hold of the robot, right before the loop. Throws ModelError if it cannot.
  virtual void begin() {}
  /// Lets go of the robot, after the last order. Throws ModelError if it cannot.
  virtual void finish() {}
};

}  // namespace tendril
