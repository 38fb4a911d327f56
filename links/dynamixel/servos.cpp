#include "links/dynamixel/servos.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "tendril/model_error.hpp"

namespace tendril::dynamixel {
namespace {

using namespace registers;
using Time = DynamixelBus::Clock::time_point;

// Current, velocity and position are neighbors. The bytes before them are registers too.
constexpr Block kState{kPresentCurrent.address,
                       kPresentPosition.address + kPresentPosition.size - kPresentCurrent.address};
static_assert(kPresentCurrent.address + kPresentCurrent.size == kPresentVelocity.address &&
              kPresentVelocity.address + kPresentVelocity.size == kPresentPosition.address);
constexpr auto kStateSize = static_cast<std::size_t>(kState.length);
// The error with the register before it; no register is before the watchdog. So the answers to the
// three blocks have different lengths.
constexpr Block kErrorBlock{kHardwareError.address - 1, 2, 1};
constexpr Block kWatchdogBlock{kWatchdog.address, 1, 0};

/// A block of few bytes of all servos.
template <int kLength>
struct BlockOfAll {
  std::array<Byte, kMaxServos * kLength> data{};
  std::array<Answer, kMaxServos> answers{};

  int read(DynamixelBus& bus, const Block& block, std::span<const Byte> ids,
           Time deadline) noexcept {
    return bus.sync_read(ids, block, std::span(data).first(ids.size() * kLength),
                         std::span(answers).first(ids.size()), deadline);
  }
  [[nodiscard]] Byte last_byte(std::size_t i) const noexcept { return data[(i + 1) * kLength - 1]; }
};

/// The end of the first of so many equal parts of the time that is left.
Time part_of(Time deadline, int parts) {
  const auto now = DynamixelBus::Clock::now();
  return now + (deadline - now) / parts;
}

std::int32_t counts(double value, double unit) {
  return static_cast<std::int32_t>(std::lround(value / unit));
}

}  // namespace

std::int64_t continued(std::int64_t position, std::int32_t counter) noexcept {
  const auto step = static_cast<std::uint32_t>(counter) - static_cast<std::uint32_t>(position);
  return position + static_cast<std::int32_t>(step);
}

Servos::Servos(BusDescription description, DynamixelBus& bus)
    : description_(std::move(description)), bus_(&bus) {
  const std::size_t count = description_.servos.size();
  for (const ServoDescription& servo : description_.servos) {
    set_up(servo);
    ids_.push_back(static_cast<Byte>(servo.id));
    goals_.push_back(bus_->read(servo.id, kPresentPosition));
    positions_.push_back(goals_.back());
  }
  answers_.resize(count);
  readings_.resize(count);
  bytes_.resize(count * kStateSize);
}

void Servos::set_up(const ServoDescription& servo) {
  const auto device = bus_->ping(servo.id);
  if (!device)
    bus_->refuse(servo.id, "no answer: must be connected, powered and set to this baud rate");
  const auto& numbers = servo.family.model_numbers;
  const auto end = std::find(numbers.begin(), numbers.end(), 0);
  if (std::find(numbers.begin(), end, device->model_number) == end)
    bus_->refuse(servo.id,
                 fmt::format("model_number = {}: must be one of {} ({})", device->model_number,
                             fmt::join(numbers.begin(), end, ", "), servo.family.name));
  bus_->write(servo.id, kTorqueEnable, 0);
  const auto mode =
      servo.current_limit ? OperatingMode::CurrentBasedPosition : OperatingMode::ExtendedPosition;
  // Memory that wears: written only when it differs.
  if (bus_->read(servo.id, kOperatingMode) != static_cast<int>(mode))
    bus_->write(servo.id, kOperatingMode, static_cast<int>(mode));
  if (bus_->read(servo.id, kReturnDelay) != 0) bus_->write(servo.id, kReturnDelay, 0);
}

void Servos::torque_on() {
  watchdog_ = counts(description_.watchdog, kWatchdog.unit);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const ServoDescription& servo = description_.servos[i];
    bus_->write(servo.id, kWatchdog, 0);  // clears one that has stopped the servo
    if (servo.current_limit)
      bus_->write(servo.id, kGoalCurrent, counts(*servo.current_limit, servo.family.current_unit));
    goals_[i] = bus_->read(servo.id, kPresentPosition);
    positions_[i] = continued(positions_[i], goals_[i]);
    bus_->write(servo.id, kGoalPosition, goals_[i]);
  }
  for (const Byte id : ids_) {
    bus_->write(id, kTorqueEnable, 1);
    bus_->write(id, kWatchdog, watchdog_);
  }
  check_watchdog_ = true;
}

void Servos::torque_off() {
  watchdog_ = 0;
  check_watchdog_ = true;
  std::optional<ModelError> first;
  for (const Byte id : ids_) {
    try {
      bus_->write(id, kTorqueEnable, 0);
      bus_->write(id, kWatchdog, 0);
    } catch (const ModelError& error) {
      if (!first) first = error;
    }
  }
  if (first) throw *first;
}

int Servos::read(Time deadline) noexcept {
  const auto pause = DynamixelBus::Clock::now() - bus_->last_request();
  if (std::chrono::duration<double>(pause).count() > 0.5 * description_.watchdog)
    check_watchdog_ = true;
  // A silent servo must not take the time of the blocks that follow.
  const int count = bus_->sync_read(ids_, kState, bytes_, answers_,
                                    part_of(deadline, 1 + has_alert_ + check_watchdog_));
  has_alert_ = false;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    readings_[i].is_new = answers_[i].is_new;
    has_alert_ = has_alert_ || answers_[i].alert;
    if (answers_[i].is_new) take(i);
  }
  if (count < static_cast<int>(ids_.size())) check_watchdog_ = true;
  if (has_alert_) read_errors(part_of(deadline, 1 + check_watchdog_));
  if (check_watchdog_) read_watchdogs(deadline);
  return count;
}

/// Converts the bytes of servo i.
void Servos::take(std::size_t i) noexcept {
  const ServoDescription& servo = description_.servos[i];
  const auto bytes = std::span<const Byte>(bytes_).subspan(i * kStateSize, kStateSize);
  const auto number = [&](const Register& from) {
    return integer_in(bytes.subspan(static_cast<std::size_t>(from.address - kState.address)),
                      from.size);
  };
  positions_[i] = continued(positions_[i], number(kPresentPosition));
  const double scale = servo.direction * servo.ratio;
  ServoReading& reading = readings_[i];
  reading.value = scale * (static_cast<double>(positions_[i]) * kPresentPosition.unit - servo.zero);
  reading.rate = scale * number(kPresentVelocity) * kPresentVelocity.unit;
  if (servo.torque_constant) {
    const double torque =
        *servo.torque_constant * number(kPresentCurrent) * servo.family.current_unit;
    reading.force = (servo.is_tendon ? -1.0 : 1.0) * torque / scale + 0.0;  // not -0
  }
  if (!answers_[i].alert) reading.hardware_error = 0;
}

void Servos::read_errors(Time deadline) noexcept {
  BlockOfAll<kErrorBlock.length> errors;
  errors.read(*bus_, kErrorBlock, ids_, deadline);
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (errors.answers[i].is_new) readings_[i].hardware_error = errors.last_byte(i);
}

void Servos::read_watchdogs(Time deadline) noexcept {
  BlockOfAll<kWatchdogBlock.length> watchdogs;
  check_watchdog_ =
      watchdogs.read(*bus_, kWatchdogBlock, ids_, deadline) < static_cast<int>(ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (watchdogs.answers[i].is_new) readings_[i].is_stopped = watchdogs.last_byte(i) != watchdog_;
}

WriteResult Servos::write(std::span<const double> commands, Time deadline) noexcept {
  assert(commands.size() == ids_.size());
  WriteResult result;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const ServoDescription& servo = description_.servos[i];
    const double angle = servo.zero + commands[i] / (servo.direction * servo.ratio);
    const double steps = angle / kGoalPosition.unit;
    if (!(std::abs(steps) <= kMaxGoal)) ++result.limited;
    if (!std::isnan(steps))
      goals_[i] = static_cast<std::int32_t>(
          std::lround(std::clamp(steps, -double{kMaxGoal}, double{kMaxGoal})));
    put_integer(goals_[i], kGoalPosition.size,
                std::span(bytes_).subspan(i * static_cast<std::size_t>(kGoalPosition.size)));
  }
  const auto goal_bytes =
      std::span(bytes_).first(ids_.size() * static_cast<std::size_t>(kGoalPosition.size));
  result.is_sent =
      bus_->sync_write(ids_, kGoalPosition.address, kGoalPosition.size, goal_bytes, deadline);
  return result;
}

}  // namespace tendril::dynamixel
