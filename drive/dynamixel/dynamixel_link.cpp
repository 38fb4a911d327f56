#include "drive/dynamixel/dynamixel_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

// Parts of a step that reading and writing may take.
constexpr double kReadPart = 0.6, kWritePart = 0.2;

dynamixel::DynamixelBus::Clock::duration part_of(double timestep, double part) {
  return std::chrono::duration_cast<dynamixel::DynamixelBus::Clock::duration>(
      std::chrono::duration<double>(part * timestep));
}

}  // namespace

DynamixelLink::DynamixelLink(const std::filesystem::path& bus_file, const RobotPorts& ports,
                             double timestep, bool is_alone)
    : file_(bus_file.string()),
      description_(dynamixel::read_bus_file(bus_file)),
      bus_((bind_actuators(ports), bind_sensors(ports, is_alone), description_.port),
           description_.baud),
      servos_(description_, bus_),
      packer_(ports),
      read_time_(part_of(timestep, kReadPart)),
      write_time_(part_of(timestep, kWritePart)),
      readings_(ports.reading_count, std::numeric_limits<double>::quiet_NaN()),
      commands_(ports.actuators.size()),
      goals_(description_.servos.size()),
      sensor_count_(ports.sensor_count),
      arrived_(std::make_unique<bool[]>(sensor_count_)) {}

DynamixelLink::~DynamixelLink() {
  try {
    finish();
  } catch (const std::exception&) {  // who wants to know calls it
  }
}

void DynamixelLink::begin() {
  servos_.torque_on();
  is_on_ = true;
  heard_.assign(goals_.size(), Clock::now());
}

void DynamixelLink::finish() {
  if (!is_on_) return;
  is_on_ = false;
  servos_.torque_off();
}

std::size_t DynamixelLink::servo_of(const std::string& actuator) const {
  const auto found =
      std::ranges::find(description_.servos, actuator, &dynamixel::ServoDescription::actuator);
  if (found == description_.servos.end())
    throw ModelError(fmt::format("{}: servo: no actuator = {}: must be there, the robot has it",
                                 file_, actuator));
  return static_cast<std::size_t>(found - description_.servos.begin());
}

/// Finds the servo of each actuator.
void DynamixelLink::bind_actuators(const RobotPorts& ports) {
  using Kind = RobotPorts::Actuator::Kind;
  std::vector<std::string> names;
  for (const RobotPorts::Actuator& actuator : ports.actuators) names.push_back(actuator.name);
  for (const dynamixel::ServoDescription& servo : description_.servos) {
    const auto refuse = [&](const std::string& what) {
      throw ModelError(
          fmt::format("{}: servo {}: actuator = {}: {}", file_, servo.id, servo.actuator, what));
    };
    const auto actuator =
        std::ranges::find(ports.actuators, servo.actuator, &RobotPorts::Actuator::name);
    if (actuator == ports.actuators.end())
      refuse(fmt::format("must be one of the robot: {}", fmt::join(names, ", ")));
    if (actuator->kind != Kind::Tendon && actuator->kind != Kind::Hinge)
      refuse("must be a tendon whose length is commanded, or a joint whose angle is");
    if (actuator->kind == Kind::Tendon && !servo.is_tendon)
      refuse("is a tendon: must have a radius");
    if (actuator->kind == Kind::Hinge && servo.is_tendon) refuse("is a joint: must have no radius");
  }
  for (const std::string& name : names) servos_of_.push_back(servo_of(name));
}

/// Finds the servo of each reading.
void DynamixelLink::bind_sensors(const RobotPorts& ports, bool is_alone) {
  std::size_t sensor = 0, reading = 0;
  for (const RobotPorts::Channel& channel : ports.channels) {
    const Channel next{sensor++, reading, 0, channel.is_force};
    reading += static_cast<std::size_t>(channel.width);
    if (channel.actuator.empty() && !is_alone) continue;
    if (channel.actuator.empty())
      throw ModelError(
          fmt::format("{}: servos do not measure it: must be a drum_encoder, a tendon_force or a "
                      "joint_encoder",
                      channel.origin));
    channels_.push_back(next);
    channels_.back().servo = servo_of(channel.actuator);
    const dynamixel::ServoDescription& servo = description_.servos[channels_.back().servo];
    if (channel.is_force && !servo.torque_constant)
      throw ModelError(
          fmt::format("{}: servo {}: torque_constant: is missing, must be there for the {}", file_,
                      servo.id, channel.origin.substr(channel.origin.rfind("sensor "))));
  }
}

bool DynamixelLink::receive(std::span<double> message) noexcept {
  const Clock::time_point now = Clock::now();
  const int count = servos_.read(now + read_time_);
  const std::span<const dynamixel::ServoReading> seen = servos_.readings();
  reads_ += static_cast<long>(seen.size());
  answers_ += count;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i].is_new) heard_[i] = now;
  look_for_failure(now);
  if (count == 0 || has_failed()) return false;
  for (const Channel& channel : channels_) {
    const dynamixel::ServoReading& reading = seen[channel.servo];
    readings_[channel.reading] = channel.is_force ? reading.force : reading.value;
    arrived_[channel.sensor] = reading.is_new;
  }
  for (std::size_t i = 0; i < commands_.size(); ++i) commands_[i] = seen[servos_of_[i]].value;
  packer_.pack(readings_, {arrived_.get(), sensor_count_}, {}, commands_, nullptr, message);
  return true;
}

void DynamixelLink::look_for_failure(Clock::time_point now) noexcept {
  if (!bus_.is_open()) failure_ = Failure::Port;
  const std::span<const dynamixel::ServoReading> seen = servos_.readings();
  for (std::size_t i = 0; i < seen.size() && !has_failed(); ++i) {
    failed_ = i;
    const double silence = std::chrono::duration<double>(now - heard_[i]).count();
    if (seen[i].hardware_error != 0)
      failure_ = Failure::Hardware;
    else if (seen[i].is_stopped)
      failure_ = Failure::Stopped;
    else if (silence > description_.watchdog)
      failure_ = Failure::Silent;
  }
}

bool DynamixelLink::send(Order order, double /*time*/, std::span<const double> commands) noexcept {
  if (order == Order::Hello || has_failed()) return false;
  for (std::size_t i = 0; i < commands.size(); ++i) goals_[servos_of_[i]] = commands[i];
  const dynamixel::WriteResult result = servos_.write(goals_, Clock::now() + write_time_);
  writes_ += result.is_sent ? 1 : 0;
  limited_ += result.limited;
  return result.is_sent;
}

std::string DynamixelLink::summary() const {
  const dynamixel::DroppedPackets dropped = bus_.dropped();
  return fmt::format(
      "servos: {} of {} reads answered, {} packets damaged, {} unexpected; {} commands sent, {} "
      "goals beyond their turns",
      answers_, reads_, dropped.damaged, dropped.unexpected, writes_, limited_);
}

std::string DynamixelLink::problem() const {
  if (failure_ == Failure::None) return {};
  if (failure_ == Failure::Port) return fmt::format("{}: the port has gone", description_.port);
  const dynamixel::ServoDescription& servo = description_.servos[failed_];
  std::string what;
  if (failure_ == Failure::Hardware)
    what = fmt::format("hardware_error = {:#04x}", servos_.readings()[failed_].hardware_error);
  else if (failure_ == Failure::Stopped)
    what = "its watchdog has stopped it, or it has restarted";
  else
    what = fmt::format("no answer for {:g} s", description_.watchdog);
  return fmt::format("{}: servo {} ({}): {}", description_.port, servo.id, servo.actuator, what);
}

}  // namespace tendril
