#include "tendril/model/snake/sensors.hpp"

#include "tendril/model/sensor_reader.hpp"
#include "tendril/model/snake/mjcf.hpp"

namespace tendril {
namespace {

std::vector<std::string> joint_names(const SnakeDescription& snake) {
  std::vector<std::string> joints;
  for (int j = 1; j <= snake.joints; ++j) joints.push_back(names::snake_joint(j));
  return joints;
}

constexpr SensorRow<SnakeDescription> kKinds[]{
    kTipTracker<SnakeDescription>,
    {"joint_encoder",
     {},
     kJointEncoderKeys,
     [](const Fields& fields, const SnakeDescription& snake, RobotSensor& sensor) {
       add_joint_encoder(fields, joint_names(snake), sensor);
     }},
    {"imu", kImuQuantities, kImuKeys,
     [](const Fields& /*fields*/, const SnakeDescription& /*snake*/, RobotSensor& sensor) {
       add_imu(sensor, names::kTip);
     }},
    {"motor_current",
     {},
     kMotorCurrentKeys,
     [](const Fields& fields, const SnakeDescription& snake, RobotSensor& sensor) {
       add_motor_current(fields, joint_names(snake), sensor);
     }}};

}  // namespace

std::vector<RobotSensor> read_snake_sensors(const Fields& top, const SnakeDescription& snake) {
  return read_sensors<SnakeDescription>(top, snake, kKinds);
}

}  // namespace tendril
