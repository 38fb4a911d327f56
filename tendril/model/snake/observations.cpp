#include "tendril/model/snake/observations.hpp"

#include <cmath>

#include "tendril/model/reading_variance.hpp"
#include "tendril/model/snake/mjcf.hpp"

namespace tendril {
namespace {

constexpr double kJointModel = 1e-5;  // [rad], least deviation of an encoder

/// Index of the joint that an encoder measures; -1: it is no encoder.
int joint_of(const EngineSensor& sensor, int joints) {
  if (sensor.type != "jointpos") return -1;
  for (int j = 1; j <= joints; ++j)
    if (sensor.attributes.front().second == names::snake_joint(j)) return j - 1;
  return -1;
}

}  // namespace

SnakeObservations observations(const SnakeDescription& snake, double timestep) {
  using Kind = SnakeObservations::Use::Kind;
  SnakeObservations all;
  all.encoders.resize(static_cast<std::size_t>(snake.joints));
  for (const RobotSensor& table : snake.sensors) {
    for (const EngineSensor& one : table.sensors) {
      SnakeObservations::Use& use = all.uses.emplace_back();
      use.width = one.width;
      const double deviation = std::sqrt(reading_variance(one));
      const double delay = table.delay + (one.is_late ? timestep : 0.0);
      if (const int joint = joint_of(one, snake.joints); joint >= 0) {
        use.kind = Kind::Joint;
        use.joint = joint;
        all.encoders[static_cast<std::size_t>(joint)] = {std::hypot(deviation, kJointModel), delay};
      } else if (one.type == "gyro") {
        use.kind = Kind::Rate;
        if (!all.imu) all.imu = SnakeObservations::Imu{};
        all.imu->rate_deviation = deviation;
        all.imu->rate_bias = reading_bias(one);
        all.imu->delay = delay;
      } else if (one.type == "accelerometer") {
        use.kind = Kind::Force;
        if (!all.imu) all.imu = SnakeObservations::Imu{};
        all.imu->force_deviation = std::hypot(deviation, reading_bias(one));
      }
    }
  }
  return all;
}

}  // namespace tendril
