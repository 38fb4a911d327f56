#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tendril/system/file_descriptor.hpp"

namespace tendril::system {

/// A serial port, without translation of bytes. Linux.
class SerialPort {
 public:
  using Clock = std::chrono::steady_clock;

  /// Opens a port for this process alone. Throws std::system_error.
  /// @param baud  9600, 57600, 115200, 1000000, 2000000, 3000000 or 4000000
  SerialPort(const std::string& port, int baud);

  enum class Direction { In, Out };
  /// Waits until bytes can be read or written; false if there are none at that time.
  [[nodiscard]] bool wait(Direction direction, Clock::time_point until) const noexcept;

  /// Transfers as many bytes as is possible at once.
  /// @return  how many, which may be 0; -1: the port is gone
  [[nodiscard]] std::ptrdiff_t read(std::span<std::uint8_t> bytes) const noexcept;
  [[nodiscard]] std::ptrdiff_t write(std::span<const std::uint8_t> bytes) const noexcept;

  /// Drops the bytes that have arrived.
  void drop_input() const noexcept;

 private:
  FileDescriptor file_;
};

}  // namespace tendril::system
