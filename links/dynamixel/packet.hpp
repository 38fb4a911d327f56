#pragma once

// Read this header first, then registers.hpp, bus.hpp, bus_file.hpp, servos.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tendril::dynamixel {

using Byte = std::uint8_t;

enum class Instruction : Byte {
  Ping = 0x01,
  Read = 0x02,
  Write = 0x03,
  Status = 0x55,  ///< answer of a servo; its first parameter is the error byte
  SyncRead = 0x82,
  SyncWrite = 0x83,
};

inline constexpr Byte kBroadcastId = 0xFE;
inline constexpr int kMaxId = 252;
inline constexpr std::size_t kPacketSize = 1024;  ///< of the longest packet, with stuffing

/// CRC-16 of the polynomial 0x8005, most significant bit first, from 0 on.
[[nodiscard]] std::uint16_t crc16(std::span<const Byte> bytes) noexcept;

/// Writes a packet of protocol 2.0 to `out` and returns it; nothing if it does not fit.
///
///     FF FF FD 00 | id | length, 2 bytes | instruction | parameters | CRC, 2 bytes
///
/// The length counts what follows it. A byte FD is put behind each FF FF FD from the instruction to
/// the last parameter, so that no header is in there. Low bytes come first.
/// Source: [Dynamixel2]. Held by: packet_test, with the packets of the manual.
[[nodiscard]] std::span<const Byte> write_packet(Byte id, Instruction instruction,
                                                 std::span<const Byte> parameters,
                                                 std::span<Byte> out) noexcept;

/// A packet without header, stuffing and CRC.
struct Packet {
  Byte id = 0;
  Instruction instruction = Instruction::Status;
  std::span<const Byte> parameters;  ///< valid until the next call of the parser
};

/// Finds packets in a stream of bytes that can be damaged anywhere.
/// What has a wrong CRC, an impossible length or a header inside is dropped up to the next header.
///
///     copy bytes to parser.space(); parser.received(count);
///     while (const auto packet = parser.next()) use(*packet);
class PacketParser {
 public:
  /// The free part of the buffer. Never empty after `next` has found nothing.
  [[nodiscard]] std::span<Byte> space() noexcept { return std::span(buffer_).subspan(size_); }
  /// Takes over so many bytes of `space()`.
  void received(std::size_t count) noexcept { size_ += count; }
  /// The next whole packet; nothing when more bytes are needed.
  [[nodiscard]] std::optional<Packet> next() noexcept;
  /// Forgets all bytes.
  void clear() noexcept { size_ = used_ = 0; }
  /// Packets that began with a header and were dropped.
  [[nodiscard]] long damaged() const noexcept { return damaged_; }

 private:
  void drop(std::size_t count) noexcept;
  void drop_packet() noexcept;

  std::array<Byte, kPacketSize> buffer_{};
  std::size_t size_ = 0;
  std::size_t used_ = 0;  ///< bytes of the packet that `next` has returned
  long damaged_ = 0;
};

}  // namespace tendril::dynamixel
