#include "links/dynamixel/bus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <system_error>

#include "tendril/model_error.hpp"

namespace tendril::dynamixel {
namespace {

using namespace std::chrono_literals;
using Direction = system::SerialPort::Direction;

constexpr int kTries = 3;
constexpr auto kQuietTime = 100ms;
constexpr auto kDrainTime = 500ms;

constexpr Byte kAlert = 0x80;
constexpr std::array<const char*, 8> kErrors{
    "no error",         "result fail",       "instruction error", "CRC error",
    "data range error", "data length error", "data limit error",  "access error"};

system::SerialPort opened(const std::string& port, int baud) {
  if (std::find(kBaudRates.begin(), kBaudRates.end(), baud) == kBaudRates.end())
    throw ModelError(
        fmt::format("{}: baud = {}: must be one of: {}", port, baud, fmt::join(kBaudRates, ", ")));
  try {
    return {port, baud};
  } catch (const std::system_error& error) {
    throw ModelError(fmt::format("{}: {}", port, error.code().message()));
  }
}

}  // namespace

std::int32_t integer_in(std::span<const Byte> bytes, int size) noexcept {
  std::uint32_t bits = 0;
  for (int i = size; i-- > 0;) bits = bits << 8 | bytes[static_cast<std::size_t>(i)];
  const int unused = 32 - 8 * size;
  return static_cast<std::int32_t>(bits << unused) >> unused;
}

void put_integer(std::int32_t value, int size, std::span<Byte> bytes) noexcept {
  for (int i = 0; i < size; ++i)
    bytes[static_cast<std::size_t>(i)] =
        static_cast<Byte>(static_cast<std::uint32_t>(value) >> 8 * i);
}

DynamixelBus::DynamixelBus(std::string port, int baud, Clock::duration setup_time)
    : port_(std::move(port)), setup_time_(setup_time), serial_(opened(port_, baud)) {}

void DynamixelBus::refuse(int id, const std::string& reason) const {
  throw ModelError(
      fmt::format("{}: servo {}: {}", port_, id, is_open_ ? reason : "the port is gone"));
}

std::optional<Device> DynamixelBus::ping(int id) {
  const auto answer = exchange(id, Instruction::Ping, {}, 4);
  if (!answer || answer->size() != 4) return {};
  return Device{.model_number = integer_in(std::span(*answer).subspan(1), 2) & 0xFFFF,
                .firmware = (*answer)[3]};
}

std::int32_t DynamixelBus::read(int id, const Register& from) {
  std::array<Byte, 4> parameters{};
  put_integer(from.address, 2, parameters);
  put_integer(from.size, 2, std::span(parameters).subspan(2));
  const auto answer =
      exchange(id, Instruction::Read, parameters, 1 + static_cast<std::size_t>(from.size));
  if (!answer) refuse(id, fmt::format("{}: no answer", from.name));
  if (const int error = (*answer)[0] & ~kAlert; error != 0)
    refuse(id, fmt::format("{}: {}", from.name, kErrors[std::size_t(error) % kErrors.size()]));
  return integer_in(std::span(*answer).subspan(1), from.size);
}

void DynamixelBus::write(int id, const Register& to, std::int32_t value) {
  std::array<Byte, 6> parameters{};
  put_integer(to.address, 2, parameters);
  put_integer(value, to.size, std::span(parameters).subspan(2));
  const auto answer =
      exchange(id, Instruction::Write,
               std::span(parameters).first(2 + static_cast<std::size_t>(to.size)), 1);
  if (!answer) refuse(id, fmt::format("{} = {}: no answer", to.name, value));
  if (const int error = (*answer)[0] & ~kAlert; error != 0)
    refuse(id, fmt::format("{} = {}: {}", to.name, value,
                           kErrors[std::size_t(error) % kErrors.size()]));
}

int DynamixelBus::sync_read(std::span<const Byte> ids, const Block& block, std::span<Byte> data,
                            std::span<Answer> answers, Clock::time_point deadline) noexcept {
  const auto size = static_cast<std::size_t>(block.length);
  assert(ids.size() <= kMaxServos && size <= kMaxReadSize && block.address >= block.room &&
         block.room <= kMaxRoom);
  assert(data.size() == size * ids.size() && answers.size() == ids.size());
  std::fill(answers.begin(), answers.end(), Answer{});
  const int more = ++requests_[static_cast<std::size_t>(block.room)] % (block.room + 1);
  const auto answer_size = static_cast<std::size_t>(1 + more + block.length);
  std::array<Byte, 4 + kMaxServos> parameters{};
  put_integer(block.address - more, 2, parameters);
  put_integer(block.length + more, 2, std::span(parameters).subspan(2));
  std::copy(ids.begin(), ids.end(), parameters.begin() + 4);
  if (!send(kBroadcastId, Instruction::SyncRead, std::span(parameters).first(4 + ids.size()),
            deadline))
    return 0;

  int count = 0;
  std::size_t done = 0;  // servos that have answered or refused
  for (bool is_last = false; is_open_ && done < ids.size() && !is_last;) {
    is_last = Clock::now() >= deadline;
    receive(deadline);
    while (const auto packet = parser_.next()) {
      if (packet->instruction != Instruction::Status) continue;  // an echo of the request
      const auto i =
          static_cast<std::size_t>(std::find(ids.begin(), ids.end(), packet->id) - ids.begin());
      const auto bytes = packet->parameters;
      const bool is_refusal = bytes.size() == 1 && (bytes[0] & ~kAlert) != 0;
      if (i == ids.size() || answers[i].is_new || answers[i].error != 0 ||
          (bytes.size() != answer_size && !is_refusal)) {
        ++unexpected_;
        continue;
      }
      answers[i] = {.is_new = (bytes[0] & ~kAlert) == 0,
                    .alert = (bytes[0] & kAlert) != 0,
                    .error = static_cast<Byte>(bytes[0] & ~kAlert)};
      ++done;
      if (!answers[i].is_new) continue;
      ++count;
      std::copy(bytes.end() - block.length, bytes.end(),
                data.begin() + static_cast<std::ptrdiff_t>(i * size));
    }
  }
  return count;
}

bool DynamixelBus::sync_write(std::span<const Byte> ids, int address, int length,
                              std::span<const Byte> data, Clock::time_point deadline) noexcept {
  const auto size = static_cast<std::size_t>(length);
  std::array<Byte, 4 + kMaxServos * 9> parameters{};
  assert(ids.size() <= kMaxServos && size <= 8 && data.size() == size * ids.size());
  put_integer(address, 2, parameters);
  put_integer(length, 2, std::span(parameters).subspan(2));
  std::size_t end = 4;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    parameters[end++] = ids[i];
    for (const Byte byte : data.subspan(i * size, size)) parameters[end++] = byte;
  }
  return send(kBroadcastId, Instruction::SyncWrite, std::span(parameters).first(end), deadline);
}

/// Drops what has arrived before, and sends a packet.
bool DynamixelBus::send(Byte id, Instruction instruction, std::span<const Byte> parameters,
                        Clock::time_point deadline) noexcept {
  auto left = write_packet(id, instruction, parameters, outgoing_);
  assert(!left.empty());
  if (Clock::now() >= deadline) return false;
  serial_.drop_input();
  parser_.clear();
  last_request_ = Clock::now();
  while (is_open_ && !left.empty()) {
    const std::ptrdiff_t count = serial_.write(left);
    if (count < 0)
      is_open_ = false;
    else if (count > 0)
      left = left.subspan(static_cast<std::size_t>(count));
    else if (!serial_.wait(Direction::Out, deadline))
      return false;
  }
  return is_open_;
}

/// Hands what the port has to the parser; waits for it no longer than `until`.
void DynamixelBus::receive(Clock::time_point until) noexcept {
  if (!serial_.wait(Direction::In, until)) return;
  const std::ptrdiff_t count = serial_.read(parser_.space());
  if (count < 0)
    is_open_ = false;
  else
    parser_.received(static_cast<std::size_t>(count));
}

/// Parameters of the servo's answer: so many, or an error alone.
std::optional<std::vector<Byte>> DynamixelBus::exchange(int id, Instruction instruction,
                                                        std::span<const Byte> parameters,
                                                        std::size_t answer_size) {
  for (int attempt = 0; attempt < kTries && is_open_; ++attempt) {
    const auto deadline = Clock::now() + setup_time_;
    send(static_cast<Byte>(id), instruction, parameters, deadline);
    const auto answer = answer_of(id, answer_size, deadline);
    if (!answer || attempt > 0) drain();
    if (answer) return answer;
  }
  return {};
}

std::optional<std::vector<Byte>> DynamixelBus::answer_of(int id, std::size_t size,
                                                         Clock::time_point deadline) {
  for (bool is_last = false; is_open_ && !is_last;) {
    is_last = Clock::now() >= deadline;
    receive(deadline);
    while (const auto packet = parser_.next()) {
      if (packet->instruction != Instruction::Status) continue;
      const auto bytes = packet->parameters;
      const bool is_error = bytes.size() == 1 && (bytes[0] & ~kAlert) != 0;
      if (packet->id == id && (bytes.size() == size || is_error))
        return std::vector<Byte>(bytes.begin(), bytes.end());
      ++unexpected_;
    }
  }
  return {};
}

/// Waits until nothing has arrived for a while, so that no late answer is taken for the next one.
void DynamixelBus::drain() {
  const auto end = Clock::now() + kDrainTime;
  while (is_open_ && Clock::now() < end && serial_.wait(Direction::In, Clock::now() + kQuietTime)) {
    parser_.clear();
    receive(Clock::now());
  }
}

}  // namespace tendril::dynamixel
