#include "tendril/model/snake/observations.hpp"

#include <cmath>

#include "tendril/model/joint_observations.hpp"
#include "tendril/model/reading_variance.hpp"
#include "tendril/model/snake/mjcf.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
SnakeObservations observations(const SnakeDescription& snake, double timestep) {
  using Part = SnakeObservations::Part;
  std::vector<std::string> joints;
  for (int j = 1; j <= snake.joints; ++j) joints.push_back(names::snake_joint(j));
  SnakeObservations all{.joints = joint_observations(snake.sensors, joints, timestep),
                        .imu = std::nullopt,
                        .parts = {}};
  for (const RobotSensor& table : snake.sensors) {
    for (const EngineSensor& one : table.sensors) {
      Part& part = all.parts.emplace_back(Part::None);
      if (one.type == "gyro") {
        part = Part::Rate;
        if (!all.imu) all.imu = SnakeObservations::Imu{};
        all.imu->rate_deviation = std::sqrt(reading_variance(one));
        all.imu->rate_bias = reading_bias(one);
        all.imu->delay = table.delay + (one.is_late ? timestep : 0.0);
      } else if (one.type == "accelerometer") {
        part = Part::Force;
        if (!all.imu) all.imu = SnakeObservations::Imu{};
        all.imu->force_deviation = hypotenuse(std::sqrt(reading_variance(one)), reading_bias(one));
      }
    }
  }
  return all;
}

}  // namespace tendril
