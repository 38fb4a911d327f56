#include "drive/udp_link.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "drive/robot_message.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

static_assert(std::endian::native == std::endian::little, "datagrams are little-endian");

constexpr std::array<char, 4> kMagic{'T', 'D', 'L', '1'};
constexpr std::size_t kHeader = 24, kChecksum = 4;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrc = crc_table();

/// CRC-32 of IEEE 802.3.
std::uint32_t crc32(std::span<const std::byte> bytes) noexcept {
  std::uint32_t c = 0xFFFFFFFFU;
  for (const std::byte b : bytes)
    c = kCrc[(c ^ std::to_integer<std::uint32_t>(b)) & 0xFF] ^ (c >> 8);
  return c ^ 0xFFFFFFFFU;
}

template <class Value>
void put(std::vector<std::byte>& bytes, std::size_t at, const Value& value) noexcept {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <class Value>
Value get(std::span<const std::byte> bytes, std::size_t at) noexcept {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Opens a socket for an address HOST:PORT.
system::UdpSocket connected(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto refusal = [&](const std::string& why) {
    return ModelError("link: udp:" + address + ": " + why);
  };
  if (colon == std::string::npos || colon == 0) throw refusal("must be udp:HOST:PORT");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (port.empty() || !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
    throw refusal("port " + port + ": must be a number");
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  try {
    return {host, port};
  } catch (const std::runtime_error& error) {
    throw refusal(error.what());
  }
}

}  // namespace

std::uint32_t UdpLink::signature(const RobotPorts& ports) {
  std::string text;
  for (const RobotPorts::Channel& channel : ports.channels)
    text += channel.name + " " + std::to_string(channel.width) + "\n";
  text += "\n";
  for (const RobotPorts::Actuator& actuator : ports.actuators) text += actuator.name + "\n";
  return crc32(std::as_bytes(std::span(text)));
}

UdpLink::UdpLink(const std::string& address, const RobotPorts& ports)
    : address_(address),
      socket_(connected(address)),
      signature_(signature(ports)),
      numbers_(RobotMessage(ports).size()),
      out_(kHeader + sizeof(double) * (1 + ports.actuators.size()) + kChecksum),
      in_(kHeader + sizeof(double) * numbers_ + kChecksum + 1) {}

bool UdpLink::send(Order order, double time, std::span<const double> commands) noexcept {
  put(out_, 0, kMagic);
  put(out_, 4, signature_);
  put(out_, 8, ++sent_);
  put(out_, 16, time);
  put(out_, kHeader, static_cast<double>(order));
  std::memcpy(out_.data() + kHeader + sizeof(double), commands.data(), commands.size_bytes());
  const std::size_t end = out_.size() - kChecksum;
  put(out_, end, crc32(std::span(out_).first(end)));
  const bool taken = socket_.send(out_);
  if (taken) ++counts_.sent;
  return taken;
}

bool UdpLink::receive(std::span<double> message) noexcept {
  constexpr int kMost = 1000;  // in one step, whoever sends them
  bool any = false;
  for (int i = 0; i < kMost; ++i) {
    const auto size = socket_.receive(in_);
    if (!size) return any;
    const std::span<const std::byte> bytes(in_.data(), *size);
    const bool has_header = bytes.size() >= kHeader + kChecksum &&
                            get<std::array<char, 4>>(bytes, 0) == kMagic &&
                            get<std::uint32_t>(bytes, bytes.size() - kChecksum) ==
                                crc32(bytes.first(bytes.size() - kChecksum));
    if (!has_header) {
      ++counts_.damaged;
      continue;
    }
    if (get<std::uint32_t>(bytes, 4) != signature_) {
      ++counts_.strange;
      continue;
    }
    if (bytes.size() + 1 != in_.size()) {
      ++counts_.damaged;
      continue;
    }
    const auto number = get<std::uint64_t>(bytes, 8);
    if (number <= newest_) {
      ++counts_.overtaken;
      continue;
    }
    if (newest_ > 0) counts_.missing += static_cast<long>(number - newest_ - 1);
    newest_ = number;
    ++counts_.received;
    std::memcpy(message.data(), in_.data() + kHeader, sizeof(double) * numbers_);
    any = true;
  }
  return any;
}

std::string UdpLink::summary() const {
  const auto text = [](long count, const char* what) { return std::to_string(count) + what; };
  return "messages: " + text(counts_.received, " received, ") +
         text(counts_.missing, " missing, ") + text(counts_.overtaken, " overtaken, ") +
         text(counts_.damaged, " damaged, ") + text(counts_.strange, " of another robot; ") +
         text(counts_.sent, " sent");
}

std::string UdpLink::problem() const {
  if (counts_.strange == 0 || counts_.received > 0) return {};
  return "udp:" + address_ +
         ": sends messages of another robot: its sensors and actuators must be those of the robot "
         "file";
}

}  // namespace tendril
