#include "drive/robot_ports.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/model_error.hpp"

namespace tendril {

void RobotPorts::add_sensors(std::span<const RobotSensor> sensors,
                             std::span<const std::string> tendons) {
  for (const RobotSensor& sensor : sensors)
    for (const EngineSensor& one : sensor.sensors) {
      Channel& channel = channels.emplace_back(Channel{one.name, one.width});
      channel.is_force = one.tension_of >= 0;
      channel.origin = sensor.origin + ": sensor " + sensor.name;
      if (const int tendon = std::max(one.drum_of, one.tension_of); tendon >= 0)
        channel.actuator = tendons[static_cast<std::size_t>(tendon)];
      else if (one.type == "jointpos")  // the actuator of a joint has its name
        channel.actuator = one.attributes.front().second;
      sensor_numbers += static_cast<std::size_t>(one.width);
      ++sensor_count;
    }
  reading_count = sensor_numbers + channels.size() - sensor_count;
}

void RobotPorts::add_drive_reading(const std::string& name) {
  channels.push_back({name, 1, false});
  ++reading_count;
}

void RobotPorts::add_actuator(const Mechanism& mechanism, int actuator) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Mechanism::Actuator& of = mechanism.actuators[static_cast<std::size_t>(actuator)];
  const bool is_limited = of.command_range[1] > of.command_range[0];
  Actuator::Kind kind = Actuator::Kind::Force;
  if (of.bias != std::array<double, 3>{}) {
    const bool is_slide =
        of.joint >= 0 && mechanism.joints[static_cast<std::size_t>(of.joint)].is_slide;
    kind = of.tendon >= 0 ? Actuator::Kind::Tendon
           : is_slide     ? Actuator::Kind::Slide
                          : Actuator::Kind::Hinge;
  }
  actuators.push_back({of.name,
                       is_limited ? of.command_range : std::array<double, 2>{-kInfinity, kInfinity},
                       kind});
}

Mechanism driven_mechanism(const RobotDescription& robot, const ComputerOptions& options) {
  Mechanism mechanism = robot_mechanism(robot);
  mechanism.timestep = options.timestep;
  mechanism.numerical_damping_time = options.numerical_damping_time;
  return mechanism;
}

void prepare_sensors(std::vector<RobotSensor>& sensors, const ComputerOptions& options) {
  if (!(options.timestep > 0.0 && std::isfinite(options.timestep)))
    throw ModelError("timestep = " + std::to_string(options.timestep) + " s: must be positive");
  if (!(options.link_delay >= 0.0 && std::isfinite(options.link_delay)))
    throw ModelError("link_delay = " + std::to_string(options.link_delay) +
                     " s: must be at least 0");
  require_sampled(sensors, options.timestep);
  for (RobotSensor& sensor : sensors) {
    sensor.delay += options.link_delay;
    for (EngineSensor& one : sensor.sensors) one.is_late = one.is_late && options.are_forces_late;
  }
}

}  // namespace tendril
