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
    if (one.sight) {
      reading.sight = Sight{.of = *one.sight};
      reading.seen = layout_.numbers(numbers + 1);
    }
    size_ += width;
    largest = std::max(largest, width);
  });
  seen_.resize(largest + 1);
}

void SensorReadings::bind(const mjModel* m, const RobotNames& names) {
  for (Reading& reading : readings_) {
    const int sensor = require_element(m, names, mjOBJ_SENSOR, reading.name);
    reading.address = m->sensor_adr[sensor];
    if (!reading.sight) continue;
    reading.sight->site = m->sensor_objid[sensor];
    reading.sight->body = m->site_bodyid[reading.sight->site];
    reading.sight->base = m->sensor_refid[sensor];
  }
}

bool SensorReadings::is_hidden(const mjModel* m, const mjData* d, const Sight& sight) noexcept {
  constexpr int kMost = 100;        // geoms that nothing touches, in the way
  constexpr double kBeyond = 1e-9;  // [m]
  using Vector = Eigen::Map<const Eigen::Vector3d>;
  using Matrix = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
  const Eigen::Vector3d marker = Vector(d->site_xpos + 3 * sight.site);
  const Eigen::Vector3d camera =
      Vector(d->xpos + 3 * sight.base) + Matrix(d->xmat + 9 * sight.base) * sight.of.camera;
  const double distance = (marker - camera).norm();
  // The marker is in the body: what is that near to it is the body itself.
  const double clear = distance - 2.0 * sight.of.radius;
  if (!(clear > 0.0)) return false;
  const Eigen::Vector3d direction = (marker - camera) / distance;
  double passed = 0.0;
  for (int i = 0; i < kMost; ++i) {
    const Eigen::Vector3d from = camera + passed * direction;
    int geom = -1;
    const double hit =
        mj_ray(m, d, from.data(), direction.data(), nullptr, true, sight.body, &geom, nullptr);
    if (hit < 0.0 || passed + hit >= clear) return false;
    if (m->geom_contype[geom] != 0 || m->geom_conaffinity[geom] != 0) return true;
    passed += hit + kBeyond;
  }
  return false;
}

void SensorReadings::read(const mjModel* m, const mjData* d, std::span<const double> memory,
                          std::span<double> next, std::span<double> readings,
                          std::span<bool> arrived) noexcept {
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
    if (reading.sight) {
      // A camera that does not see it knows it where it was last, at first where it starts.
      const std::span<double> last = reading.seen(next);
      const bool hidden = is_hidden(m, d, *reading.sight), first = seen[numbers] == 0.0;
      if (hidden && first) seen[numbers] = -1.0;
      if (hidden && !first)
        std::ranges::copy(last, seen.begin());
      else
        std::ranges::copy(seen, last.begin());
      std::copy_n(seen.begin(), reading.width, values.begin());
    }
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
