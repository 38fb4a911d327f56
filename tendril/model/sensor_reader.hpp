#pragma once

// Private to tendril/model: reading of the `[[sensor]]` tables of all kinds of robots.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/model/sensor.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

/// A kind of sensor of a kind of robot.
template <class Robot>
struct SensorRow {
  std::string_view name;
  /// What it measures, if that is two quantities: "position in m, orientation in rad"
  /// (EngineSensor::quantity).
  std::string_view quantities;
  KeyRows keys;  ///< of its own
  /// Adds the sensors of the engine, and what they need in the model.
  void (*read)(const Fields& fields, const Robot& robot, RobotSensor& sensor);
};

/// Keys of several kinds.
namespace sensor_key {
inline constexpr KeyInfo kPlaces{
    "places", "", "where on the body: fractions of its length from the base", "required"};
inline constexpr KeyInfo kJoints{"joints", "", "of snakes and mobile robots: names of joints",
                                 "all"};
inline constexpr KeyInfo kActuators{
    "actuators", "", "of motors: names of tendons, of snakes and mobile robots those of joints",
    "all"};
inline constexpr KeyInfo kCamera{
    "camera", "m",
    "of markers: place of a camera in the frame of the base. A marker is not seen while a geom "
    "that can touch others is between it and the camera",
    "all are seen"};
inline constexpr KeyInfo kBacklash{"backlash", "unit of the kind",
                                   "of an encoder: width of the dead zone that it follows with"};
inline constexpr KeyInfo kBias{
    "bias", "unit of the kind",
    "of an imu: standard deviation of an offset that a run starts with and that wanders within an "
    "hour; two numbers"};
inline constexpr KeyInfo kTorqueConstant{
    "torque_constant", "N m/A, N/A",
    "of a motor: torque or force of the actuator over its current"};
}  // namespace sensor_key

/// Reads places on the body: fractions of its length.
[[nodiscard]] std::vector<double> read_places(const Fields& fields);
/// Reads some of these names, by default all. `what` says what they name: "tendons".
[[nodiscard]] std::vector<std::string> read_names(const Fields& fields, std::string_view key,
                                                  const std::vector<std::string>& known);

// ---- sensors of the engine

/// Adds one that measures an element: `object` is its attribute, "tendon".
void add_element_sensor(RobotSensor& sensor, const std::string& element, const char* type,
                        const char* object);
/// Adds one of a site's position or orientation in the frame of the base.
void add_frame_sensor(RobotSensor& sensor, const std::string& name, const char* type,
                      const std::string& site);
/// Adds two of a site, late ones of three numbers.
void add_site_sensors(RobotSensor& sensor, const std::string& site, const char* first,
                      const char* second);
inline constexpr std::string_view kImuQuantities =
    "angular velocity in rad/s, acceleration in m/s^2";
inline void add_imu(RobotSensor& sensor, const std::string& site) {
  add_site_sensors(sensor, site, "gyro", "accelerometer");
}
inline constexpr std::string_view kTrackerQuantities = "position in m, orientation in rad";
/// Adds those of the tip's pose in the frame of the base.
void add_tip_tracker(RobotSensor& sensor);
inline constexpr std::string_view kPlatformQuantities = "position in m, heading in rad";
/// Positions of the joints of a platform: x, y, heading.
void add_platform_pose(RobotSensor& sensor, std::span<const std::string> joints);
/// Joint positions of the joints that the table names.
void add_joint_encoder(const Fields& fields, const std::vector<std::string>& joints,
                       RobotSensor& sensor);
/// Currents of the motors that the table names: forces of actuators over a constant.
void add_motor_current(const Fields& fields, const std::vector<std::string>& actuators,
                       RobotSensor& sensor);

/// Kinds that several kinds of robots have.
template <class Robot>
inline constexpr SensorRow<Robot> kTipTracker{
    "tip_tracker", kTrackerQuantities, {}, [](const Fields&, const Robot&, RobotSensor& sensor) {
      add_tip_tracker(sensor);
    }};
inline constexpr KeyInfo kJointEncoderKeys[]{sensor_key::kJoints, sensor_key::kBacklash};
inline constexpr KeyInfo kImuKeys[]{sensor_key::kBias};
inline constexpr KeyInfo kMotorCurrentKeys[]{sensor_key::kActuators, sensor_key::kTorqueConstant};

// ---- parts of read_sensors

struct SensorTable {
  const Fields& fields;
  std::string_view quantities;
  KeyRows keys;
};
/// Index of the kind among these names.
[[nodiscard]] std::size_t sensor_kind(const Fields& fields,
                                      std::span<const std::string_view> kinds);
/// Reads what comes before the keys of the kind.
[[nodiscard]] RobotSensor read_head(const SensorTable& table, std::span<const RobotSensor> others);
/// Reads what is between the sensors of the engine and the readings.
void read_imperfections(const SensorTable& table, RobotSensor& sensor);

/// Reads the sensors of a robot whose other tables are read. Throws ModelError.
template <class Robot>
[[nodiscard]] std::vector<RobotSensor> read_sensors(const Fields& top, const Robot& robot,
                                                    std::span<const SensorRow<Robot>> kinds) {
  std::vector<std::string_view> names;
  for (const SensorRow<Robot>& kind : kinds) names.push_back(kind.name);
  std::vector<RobotSensor> sensors;
  for (const Fields& fields : top.tables("sensor")) {
    const SensorRow<Robot>& kind = kinds[sensor_kind(fields, names)];
    const SensorTable table{fields, kind.quantities, kind.keys};
    RobotSensor sensor = read_head(table, sensors);
    kind.read(fields, robot, sensor);
    read_imperfections(table, sensor);
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

}  // namespace tendril
