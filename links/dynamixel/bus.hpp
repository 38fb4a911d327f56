#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "links/dynamixel/packet.hpp"
#include "links/dynamixel/registers.hpp"
#include "tendril/system/serial_port.hpp"

namespace tendril::dynamixel {

inline constexpr std::array kBaudRates{9600, 57600, 115200, 1000000, 2000000, 3000000, 4000000};
inline constexpr std::size_t kMaxServos = 64;    ///< of one request
inline constexpr std::size_t kMaxReadSize = 32;  ///< bytes of each servo in one request
inline constexpr int kMaxRoom = 7;               ///< see Block

/// Answer of a servo to a ping.
struct Device {
  int model_number = 0;
  int firmware = 0;
};

/// State of one servo after `sync_read`.
struct Answer {
  bool is_new = false;  ///< its bytes have arrived and are written
  bool alert = false;   ///< register 70, hardware_error, is not 0
  Byte error = 0;       ///< error number of a servo that refused the request, otherwise 0
};

/// Registers that are read together: the bytes [address, address + length).
///
/// The protocol does not number requests. So each request for a block reads 0 to `room` bytes more,
/// before it, in turn. The length of an answer then tells the request. An answer that is late by up
/// to `room` requests is not taken for that to a later one. Blocks that are read in turns have
/// different rooms, and lengths that no answers of two of them share.
struct Block {
  int address = 0;
  int length = 0;
  int room = kMaxRoom;  ///< bytes before the block that can be read, in [0, kMaxRoom]
};

/// Packets that a bus has dropped.
struct DroppedPackets {
  long damaged = 0;
  long unexpected = 0;  ///< of another servo, or the answer to an earlier request
};

/// A serial port with Dynamixel servos, protocol 2.0. Not for two threads at once.
///
/// `ping`, `read` and `write` are for the set-up: they try three times and throw
/// ModelError `<port>: servo <id>: <register> = <value>: <reason>`. `sync_read` and `sync_write`
/// are for a loop: they neither throw nor allocate, and return soon after `deadline`.
class DynamixelBus {
 public:
  using Clock = std::chrono::steady_clock;

  /// Opens a port, such as /dev/ttyUSB0, for this process alone. Throws ModelError.
  /// @param setup_time  how long `ping`, `read` and `write` wait for an answer, each time they try
  DynamixelBus(std::string port, int baud,
               Clock::duration setup_time = std::chrono::milliseconds(100));

  [[nodiscard]] const std::string& port() const noexcept { return port_; }
  /// False after the port has gone, as when a cable is unplugged. Calls then return at once.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] DroppedPackets dropped() const noexcept {
    return {.damaged = parser_.damaged(), .unexpected = unexpected_};
  }
  /// When the last request was sent.
  [[nodiscard]] Clock::time_point last_request() const noexcept { return last_request_; }

  /// Nothing if the servo does not answer.
  [[nodiscard]] std::optional<Device> ping(int id);
  /// Value of a register, with its sign.
  [[nodiscard]] std::int32_t read(int id, const Register& from);
  void write(int id, const Register& to, std::int32_t value);
  /// Throws ModelError `<port>: servo <id>: <reason>`.
  [[noreturn]] void refuse(int id, const std::string& reason) const;

  /// Reads a block of each servo; sends no request after the deadline.
  /// @param ids      all different, at most kMaxServos
  /// @param block    at most kMaxReadSize bytes
  /// @param data     `length` bytes for each servo; unchanged for one without a new answer
  /// @param answers  one for each servo
  /// @return         how many servos have answered
  int sync_read(std::span<const Byte> ids, const Block& block, std::span<Byte> data,
                std::span<Answer> answers, Clock::time_point deadline) noexcept;
  /// Writes `length` bytes of each servo, nothing after the deadline. Servos do not confirm that.
  /// @param data  `length` bytes for each servo, kMaxServos * 8 in all at most
  /// @return      whether all bytes were handed to the port
  bool sync_write(std::span<const Byte> ids, int address, int length, std::span<const Byte> data,
                  Clock::time_point deadline) noexcept;

 private:
  bool send(Byte id, Instruction instruction, std::span<const Byte> parameters,
            Clock::time_point deadline) noexcept;
  void receive(Clock::time_point until) noexcept;
  std::optional<std::vector<Byte>> exchange(int id, Instruction instruction,
                                            std::span<const Byte> parameters,
                                            std::size_t answer_size);
  std::optional<std::vector<Byte>> answer_of(int id, std::size_t size, Clock::time_point deadline);
  void drain();

  std::string port_;
  Clock::duration setup_time_;
  system::SerialPort serial_;
  bool is_open_ = true;
  PacketParser parser_;
  std::array<Byte, kPacketSize> outgoing_{};
  std::array<int, kMaxRoom + 1> requests_{};  ///< by the room of their blocks
  long unexpected_ = 0;
  Clock::time_point last_request_{};
};

/// The integer in the first `size` bytes, with its sign.
[[nodiscard]] std::int32_t integer_in(std::span<const Byte> bytes, int size) noexcept;
/// Writes the lowest `size` bytes of an integer.
void put_integer(std::int32_t value, int size, std::span<Byte> bytes) noexcept;

}  // namespace tendril::dynamixel
