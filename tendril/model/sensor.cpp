#include "tendril/model/sensor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tendril/model/mjcf_document.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

namespace names {
std::string reading(const std::string& sensor) { return sensor + "_reading"; }
}  // namespace names

namespace {

void require_free(const MjcfDocument& mjcf, const RobotSensor& sensor, const std::string& name) {
  const auto& others = mjcf.sensor.children();
  const bool is_taken = std::any_of(others.begin(), others.end(), [&](const auto& other) {
    const std::string* const its = other->find("name");
    return its != nullptr && *its == name;
  });
  if (is_taken) {
    throw ModelError(
        fmt::format("{}: sensor {}: name = {}: the model has a sensor {}: must be another name",
                    sensor.origin, sensor.name, sensor.name, name));
  }
}

}  // namespace

void require_sampled(std::span<const RobotSensor> sensors, double timestep) {
  constexpr double kRounding = 1e-9;
  constexpr double kMaxSamples = 100'000;
  for (const RobotSensor& sensor : sensors) {
    const std::string place = fmt::format("{}: sensor {}", sensor.origin, sensor.name);
    if (sensor.rate * timestep > 1.0 + kRounding) {
      throw ModelError(fmt::format(
          "{}: rate = {:g}: must be at most {:g} Hz, one sample in each timestep of {:g} s", place,
          sensor.rate, 1.0 / timestep, timestep));
    }
    if (sensor.delay / timestep > kMaxSamples) {
      throw ModelError(fmt::format(
          "{}: delay = {:g}: must be at most {:g} s, {:g} samples with the timestep of {:g} s",
          place, sensor.delay, kMaxSamples * timestep, kMaxSamples, timestep));
    }
  }
}

void write_sensors(std::span<const RobotSensor> sensors, const std::string& plugin,
                   MjcfDocument& mjcf) {
  for (const RobotSensor& sensor : sensors) {
    const auto add = [&](std::string_view type, const std::string& name) -> XmlNode& {
      require_free(mjcf, sensor, name);
      XmlNode& node = mjcf.sensor.add(type, {{"name", name}});
      if (type == "plugin") node.set("plugin", plugin).set("instance", names::kController);
      return node;
    };
    for (const EngineSensor& one : sensor.sensors) {
      if (one.type == "plugin" && plugin.empty()) continue;
      XmlNode& node = add(one.type, one.name);
      for (const auto& [key, value] : one.attributes) node.set(key, value);
      if (!plugin.empty()) add("plugin", names::reading(one.name));
    }
  }
}

}  // namespace tendril
