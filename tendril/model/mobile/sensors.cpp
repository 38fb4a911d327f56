#include "tendril/model/mobile/sensors.hpp"

#include <algorithm>
#include <span>

#include "tendril/model/mobile/mjcf.hpp"
#include "tendril/model/sensor_reader.hpp"

namespace tendril {
namespace {

std::vector<std::string> platform_joints() {
  return {names::kPlatformX, names::kPlatformY, names::kHeading};
}

std::vector<std::string> joint_names(const MobileDescription& robot) {
  std::vector<std::string> joints;
  if (robot.mounted) return joints;
  for (std::size_t j = 1; j <= robot.links.size() + 2; ++j)
    joints.push_back(names::arm_joint(static_cast<int>(j)));
  return joints;
}

constexpr SensorRow<MobileDescription> kKinds[]{
    {"platform_pose",
     kPlatformQuantities,
     {},
     [](const Fields& /*fields*/, const MobileDescription& /*robot*/, RobotSensor& sensor) {
       add_platform_pose(sensor, platform_joints());
     }},
    kTipTracker<MobileDescription>,
    {"joint_encoder",
     {},
     kJointEncoderKeys,
     [](const Fields& fields, const MobileDescription& robot, RobotSensor& sensor) {
       add_joint_encoder(fields, joint_names(robot), sensor);
     }},
    {"motor_current",
     {},
     kMotorCurrentKeys,
     [](const Fields& fields, const MobileDescription& robot, RobotSensor& sensor) {
       add_motor_current(fields, joint_names(robot), sensor);
     }}};

}  // namespace

std::vector<RobotSensor> read_mobile_sensors(const Fields& top, const MobileDescription& robot) {
  // A continuum arm has sensors of its own.
  const std::span<const SensorRow<MobileDescription>> kinds(kKinds);
  return read_sensors<MobileDescription>(top, robot, robot.mounted ? kinds.first(1) : kinds);
}

JointObservations mobile_observations(const MobileDescription& robot, double timestep) {
  std::vector<std::string> joints = platform_joints();
  std::ranges::copy(joint_names(robot), std::back_inserter(joints));
  return joint_observations(robot.sensors, joints, timestep);
}

}  // namespace tendril
