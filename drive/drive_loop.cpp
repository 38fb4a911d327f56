#include "drive/drive_loop.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/model_error.hpp"

namespace tendril {

const char* to_string(DriveState state) noexcept {
  switch (state) {
    case DriveState::Waiting:
      return "waiting for the robot";
    case DriveState::Running:
      return "running";
    case DriveState::Stale:
      return "held: no message of the robot";
    case DriveState::Stopped:
      return "stopped";
    case DriveState::Fault:
      return "held: controller fault";
  }
  return "?";
}

DriveLoop::DriveLoop(RobotDriver& driver, const DriveSafety& safety)
    : driver_(driver),
      safety_(safety),
      readings_(driver.ports().reading_count, 0.0),
      before_(driver.ports().actuators.size(), 0.0),
      arrived_(std::make_unique<bool[]>(driver.ports().sensor_count)) {
  if (!(safety.stale_after > 0.0))
    throw ModelError("stale_after = " + std::to_string(safety.stale_after) +
                     " s: must be positive");
  if (!(safety.speed_limit > 0.0))
    throw ModelError("speed_limit = " + std::to_string(safety.speed_limit) +
                     " ranges/s: must be positive");
}

void DriveLoop::reset() noexcept {
  driver_.reset();
  stop_.store(false, std::memory_order_relaxed);
  state_ = DriveState::Waiting;
  counts_ = {};
  has_target_ = false;
  std::ranges::fill(readings_, 0.0);
}

void DriveLoop::read(const Message& message) noexcept {
  std::size_t first = 0, sensor = 0;
  for (const RobotPorts::Channel& channel : driver_.ports().channels) {
    const auto width = static_cast<std::size_t>(channel.width);
    const std::span<const double> numbers = message.readings.subspan(first, width);
    const bool is_finite = std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
    if (is_finite) std::ranges::copy(numbers, readings_.begin() + static_cast<long>(first));
    if (!is_finite) ++counts_.discarded;
    if (channel.is_sensor) {
      arrived_[sensor] = is_finite && message.arrived[sensor];
      ++sensor;
    }
    first += width;
  }
  if (message.target != nullptr && message.target->matrix().allFinite()) {
    target_ = *message.target;
    has_target_ = true;
  }
}

bool DriveLoop::step(double time, const Message* message, std::span<double> commands) noexcept {
  ++counts_.steps;
  std::fill_n(arrived_.get(), driver_.ports().sensor_count, false);
  if (message != nullptr) {
    read(*message);
    last_message_ = time;
    if (state_ == DriveState::Waiting || state_ == DriveState::Stale) {
      state_ = DriveState::Running;
      last_step_ = time - driver_.timestep();
    }
  } else {
    ++counts_.without_message;
    if (state_ != DriveState::Waiting)
      counts_.longest_silence = std::max(counts_.longest_silence, time - last_message_);
    if (state_ == DriveState::Running && time - last_message_ > safety_.stale_after)
      state_ = DriveState::Stale;
  }
  const bool lacks_target = driver_.has_target() && !has_target_;
  if (stop_.load(std::memory_order_relaxed) && state_ != DriveState::Fault)
    state_ = DriveState::Stopped;
  if (state_ != DriveState::Running || lacks_target) {
    ++counts_.held;
    last_step_ = time;
    return false;
  }
  std::ranges::copy(commands, before_.begin());
  if (!driver_.step(time, readings_, {arrived_.get(), driver_.ports().sensor_count},
                    has_target_ ? &target_ : nullptr, commands)) {
    std::ranges::copy(before_, commands.begin());
    state_ = DriveState::Fault;
    ++counts_.held;
    return false;
  }
  const double elapsed = std::max(0.0, time - last_step_);
  last_step_ = time;
  bool is_limited = false;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& [low, high] = driver_.ports().actuators[i].range;
    const double most = safety_.speed_limit * (high - low) * elapsed;
    if (!std::isfinite(most) || std::abs(commands[i] - before_[i]) <= most) continue;
    commands[i] = before_[i] + std::copysign(most, commands[i] - before_[i]);
    is_limited = true;
  }
  if (is_limited) {
    ++counts_.limited;
    driver_.keep(commands);
  }
  return true;
}

}  // namespace tendril
