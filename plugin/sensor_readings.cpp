#include "plugin/sensor_readings.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

/// Calls `use` with each sensor of the engine that a robot's computer reads, in order.
template <class Use>
void for_each_sensor(const RobotDescription& robot, const Use& use) {
  for (const RobotSensor& sensor : sensors_of(robot))
    for (const EngineSensor& one : sensor.sensors) use(one);
}

}  // namespace

SensorReadings::SensorReadings(const InstanceContext& context) {
  const double timestep = context.model->opt.timestep;
  require_sampled(sensors_of(context.robot), timestep);
  const auto seed = static_cast<std::uint64_t>(context.settings.integer("sensor_seed"));
  for_each_sensor(context.robot, [&](const EngineSensor& one) {
    const auto width = static_cast<std::size_t>(one.width);
    constexpr std::size_t kTurn = 3;  // numbers of a rotation vector
    Reading& reading = readings_.emplace_back(Reading{
        MeasurementFaults(one.imperfections, one.is_orientation ? kTurn : width, timestep, seed),
        width, one.is_orientation});
    reading.memory = layout_.part(reading.faults.layout());
    if (one.is_late) reading.late = layout_.numbers(width);
    size_ += width;
  });
}

void SensorReadings::bind(const InstanceContext& context) {
  auto reading = readings_.begin();
  for_each_sensor(context.robot, [&](const EngineSensor& one) {
    reading++->address = context.model->sensor_adr[context.require(mjOBJ_SENSOR, one.name)];
  });
}

void SensorReadings::read(const mjData* d, std::span<const double> memory, std::span<double> next,
                          std::span<double> readings) const noexcept {
  auto out = readings.begin();
  for (const Reading& reading : readings_) {
    const std::span<double> values(out, reading.width);
    if (reading.late.size() > 0)
      std::ranges::copy(reading.late(memory), values.begin());
    else
      std::copy_n(d->sensordata + reading.address, reading.width, values.begin());
    if (reading.is_orientation)
      read_orientation(reading, d->time, reading.memory(memory), reading.memory(next), values);
    else
      reading.faults.apply(values, d->time, reading.memory(memory), reading.memory(next));
    out += static_cast<std::ptrdiff_t>(reading.width);
  }
}

void SensorReadings::read_orientation(const Reading& reading, double time,
                                      std::span<const double> memory, std::span<double> next,
                                      std::span<double> quaternion) noexcept {
  Eigen::Map<Eigen::Vector4d> q(quaternion.data());  // w, x, y, z
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  if (!reading.faults.apply(X, time, memory, next)) return;
  const Eigen::Quaterniond seen(X.linear());
  const Eigen::Vector4d numbers(seen.w(), seen.x(), seen.y(), seen.z());
  q = numbers.dot(q) < 0.0 ? Eigen::Vector4d(-numbers) : numbers;  // the nearer of two signs
}

void SensorReadings::end_step(const mjData* d, std::span<double> next) const noexcept {
  for (const Reading& reading : readings_) {
    if (reading.late.size() == 0) continue;
    const std::span<double> kept = reading.late(next);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const double value = d->sensordata[static_cast<std::size_t>(reading.address) + i];
      if (std::isfinite(value)) kept[i] = value;
    }
  }
}

std::optional<std::pair<std::size_t, int>> reading_range(const RobotDescription& robot,
                                                         std::string_view name) {
  std::size_t index = 0;
  std::optional<std::pair<std::size_t, int>> found;
  for_each_sensor(robot, [&](const EngineSensor& one) {
    if (names::reading(one.name) == name) found = {index, one.width};
    index += static_cast<std::size_t>(one.width);
  });
  return found;
}

}  // namespace tendril
