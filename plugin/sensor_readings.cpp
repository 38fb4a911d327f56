#include "plugin/sensor_readings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/kinematics/rotation.hpp"

namespace tendril {
namespace {

/// Calls `use` with each sensor of the engine that a robot's computer reads, in order.
template <class Use>
void for_each_sensor(const RobotDescription& robot, const Use& use) {
  for (const RobotSensor& sensor : sensors_of(robot))
    for (const EngineSensor& one : sensor.sensors) use(one);
}

/// The rotation vector of a quaternion, and back: of the two signs the one nearer to what it was.
void to_rotation_vector(std::span<const double> quaternion, std::span<double> vector) noexcept {
  const Eigen::Quaterniond q(quaternion[0], quaternion[1], quaternion[2], quaternion[3]);
  Eigen::Vector3d::Map(vector.data()) = rotation_vector(q.normalized().toRotationMatrix());
}
void to_quaternion(std::span<const double> vector, std::span<double> quaternion) noexcept {
  const Eigen::Quaterniond seen(rotation_by(Eigen::Vector3d::Map(vector.data())));
  const Eigen::Vector4d numbers(seen.w(), seen.x(), seen.y(), seen.z());
  Eigen::Map<Eigen::Vector4d> q(quaternion.data());
  q = numbers.dot(q) < 0.0 ? Eigen::Vector4d(-numbers) : numbers;
}

constexpr std::size_t kTurn = 3;  // numbers of a rotation vector

}  // namespace

SensorReadings::SensorReadings(const RobotDescription& robot, double timestep, std::uint64_t seed) {
  require_sampled(sensors_of(robot), timestep);
  std::size_t largest = kTurn;
  for_each_sensor(robot, [&](const EngineSensor& one) {
    const auto width = static_cast<std::size_t>(one.width);
    const std::size_t numbers = one.is_orientation ? kTurn : width;
    Reading& reading = readings_.emplace_back(
        Reading{MeasurementFaults(one.imperfections, numbers + 1, timestep, seed, true), width,
                one.is_orientation});
    reading.memory = layout_.part(reading.faults.layout());
    reading.sample = layout_.index(-1, std::numeric_limits<int>::max(), -1);
    reading.name = one.name;
    if (one.is_late) reading.late = layout_.numbers(width);
    size_ += width;
    largest = std::max(largest, width);
  });
  seen_.resize(largest + 1);
}

void SensorReadings::bind(const mjModel* m, const RobotNames& names) {
  for (Reading& reading : readings_)
    reading.address = m->sensor_adr[require_element(m, names, mjOBJ_SENSOR, reading.name)];
}

void SensorReadings::read(const mjData* d, std::span<const double> memory, std::span<double> next,
                          std::span<double> readings, std::span<bool> arrived) noexcept {
  auto out = readings.begin();
  auto has_arrived = arrived.begin();
  for (const Reading& reading : readings_) {
    const std::span<double> values(out, reading.width);
    const bool is_late = reading.late.size() > 0;
    if (is_late)
      std::ranges::copy(reading.late(memory), values.begin());
    else
      std::copy_n(d->sensordata + reading.address, reading.width, values.begin());
    const std::size_t numbers = reading.is_orientation ? kTurn : reading.width;
    const std::span<double> seen = std::span(seen_).first(numbers + 1);
    if (reading.is_orientation)
      to_rotation_vector(values, seen);
    else
      std::ranges::copy(values, seen.begin());
    seen[numbers] = reading.faults.step(reading.memory(memory));
    const bool differs =
        reading.faults.apply(seen, d->time, reading.memory(memory), reading.memory(next));
    if (differs && reading.is_orientation)
      to_quaternion(seen, values);
    else if (differs)
      std::copy_n(seen.begin(), reading.width, values.begin());
    // The first sample of a late one is of before the first step.
    const int sample = to_index(seen[numbers], -1, std::numeric_limits<int>::max());
    *has_arrived++ = sample != reading.sample(memory) && !(is_late && sample == 0);
    reading.sample(next) = sample;
    out += static_cast<std::ptrdiff_t>(reading.width);
  }
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
