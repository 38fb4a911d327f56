#include "links/dynamixel/packet.hpp"

#include <algorithm>

namespace tendril::dynamixel {
namespace {

constexpr std::array<Byte, 4> kHeader{0xFF, 0xFF, 0xFD, 0x00};
constexpr std::size_t kInstructionAt = 7;   // behind header, id and length
constexpr std::size_t kShortestLength = 3;  // instruction and CRC

constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000u) != 0 ? 0x8005u : 0u);
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

Byte low_byte(std::size_t word) { return static_cast<Byte>(word & 0xFF); }
Byte high_byte(std::size_t word) { return static_cast<Byte>(word >> 8); }
std::size_t word_at(std::span<const Byte> bytes, std::size_t at) {
  return bytes[at] | static_cast<std::size_t>(bytes[at + 1]) << 8;
}

/// Says which bytes of a body are followed by a byte of stuffing.
class StuffingRule {
 public:
  /// Takes the next byte of the packet; true if the last three are FF FF FD.
  bool operator()(Byte byte) noexcept {
    recent_ = ((recent_ << 8) | byte) & 0xFFFFFFu;
    return recent_ == 0xFFFFFDu;
  }

 private:
  std::uint32_t recent_ = 0;
};

/// Position of the first header, also of one that is cut off by the end.
std::size_t header_position(std::span<const Byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::size_t count = std::min(kHeader.size(), bytes.size() - at);
    if (std::equal(kHeader.begin(), kHeader.begin() + static_cast<std::ptrdiff_t>(count),
                   bytes.begin() + static_cast<std::ptrdiff_t>(at)))
      return at;
  }
  return bytes.size();
}

bool has_header(std::span<const Byte> bytes) {
  return std::search(bytes.begin(), bytes.end(), kHeader.begin(), kHeader.end()) != bytes.end();
}

}  // namespace

std::uint16_t crc16(std::span<const Byte> bytes) noexcept {
  static constexpr auto kTable = crc_table();
  unsigned crc = 0;
  for (const Byte byte : bytes) crc = ((crc << 8) & 0xFFFFu) ^ kTable[(crc >> 8) ^ byte];
  return static_cast<std::uint16_t>(crc);
}

std::span<const Byte> write_packet(Byte id, Instruction instruction,
                                   std::span<const Byte> parameters, std::span<Byte> out) noexcept {
  const std::size_t capacity = std::min(out.size(), kPacketSize);
  if (capacity < kInstructionAt + kShortestLength + parameters.size()) return {};
  std::copy(kHeader.begin(), kHeader.end(), out.begin());
  out[4] = id;
  out[kInstructionAt] = static_cast<Byte>(instruction);
  std::size_t size = kInstructionAt + 1;
  StuffingRule needs_stuffing;
  needs_stuffing(out[kInstructionAt]);
  for (const Byte parameter : parameters) {
    const std::size_t stuffing = needs_stuffing(parameter) ? 1 : 0;
    if (size + 1 + stuffing + 2 > capacity) return {};
    out[size++] = parameter;
    if (stuffing != 0) out[size++] = 0xFD;
  }
  const std::size_t length = size + 2 - kInstructionAt;
  out[5] = low_byte(length);
  out[6] = high_byte(length);
  const std::uint16_t crc = crc16(out.first(size));
  out[size++] = low_byte(crc);
  out[size++] = high_byte(crc);
  return out.first(size);
}

std::optional<Packet> PacketParser::next() noexcept {
  drop(used_);
  used_ = 0;
  for (;;) {
    drop(header_position(std::span(buffer_).first(size_)));
    if (size_ < kInstructionAt) return {};
    const std::size_t length = word_at(buffer_, 5);
    const std::size_t total = kInstructionAt + length;
    if (length < kShortestLength || total > kPacketSize) {
      drop_packet();
      continue;
    }
    const std::size_t body_end = total - 2;
    const auto body = std::span(buffer_).first(std::min(size_, body_end)).subspan(kInstructionAt);
    if (has_header(body)) {
      drop_packet();
      continue;
    }
    if (size_ < total) return {};
    if (crc16(std::span(buffer_).first(body_end)) != word_at(buffer_, body_end)) {
      drop_packet();
      continue;
    }
    std::size_t end = kInstructionAt;
    StuffingRule is_stuffed;
    bool is_stuffing = false;
    for (std::size_t at = kInstructionAt; at < body_end; ++at) {
      const Byte byte = buffer_[at];
      if (!(is_stuffing && byte == 0xFD)) buffer_[end++] = byte;
      is_stuffing = is_stuffed(byte);
    }
    used_ = total;
    return Packet{.id = buffer_[4],
                  .instruction = static_cast<Instruction>(buffer_[kInstructionAt]),
                  .parameters = std::span(buffer_).first(end).subspan(kInstructionAt + 1)};
  }
}

void PacketParser::drop(std::size_t count) noexcept {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(count),
            buffer_.begin() + static_cast<std::ptrdiff_t>(size_), buffer_.begin());
  size_ -= count;
}

void PacketParser::drop_packet() noexcept {
  ++damaged_;
  drop(1);
}

}  // namespace tendril::dynamixel
