#include "binding/mobile_controllers.hpp"

#include <vector>

#include "binding/joint_commands.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// The robot with joint ranges reduced by the setting `limit_margin` at either end.
MobileRobot robot_with_margin(const MobileDescription& description, const Settings& settings) {
  const double margin = settings.number("limit_margin");
  MobileRobotParameters parameters = description.parameters;
  const auto shrink = [margin](JointLimits& limits) {
    if (limits.max - limits.min <= 2.0 * margin)
      throw ModelError("limit_margin: must be less than half of every joint's range");
    limits.min += margin;
    limits.max -= margin;
  };
  shrink(parameters.yaw);
  for (ArmLink& link : parameters.links) shrink(link.limits);
  shrink(parameters.roll);
  return MobileRobot(parameters);
}

std::unique_ptr<MobileController> make_joint_controller(
    const ControllerKind& kind, const Settings& settings, const MobileDescription& description,
    double timestep, const Make<MobileContext>& make, SceneQuery& scene) {
  if (description.mounted)
    throw ModelError(
        "robot: its arm is a continuum arm: use a controller such as tendril.base_placement");
  const MobileRobot robot = robot_with_margin(description, settings);
  std::vector<BodyCapsule> capsules = description.capsules();
  if (capsules.empty()) capsules = standard_capsules(robot);
  const MobileStart pose = description.start_pose();
  std::vector<double> start{pose.base.x, pose.base.y, pose.base.heading};
  start.insert(start.end(), pose.joints.begin(), pose.joints.end());
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .capsules = capsules,
                          .settings = settings,
                          .timestep = timestep,
                          .name = description.name,
                          .start = start,
                          .scene = scene});
  require_joint_commands(kind.name, "[arm] joint_command", description.joint_motors,
                         controller->commands());
  return controller;
}

/// Of a platform that carries a continuum arm.
std::unique_ptr<MobileController> make_platform_controller(
    const ControllerKind& kind, const Settings& settings, const MobileDescription& description,
    double timestep, const Make<PlatformContext>& make, SceneQuery& scene) {
  if (!description.mounted)
    throw ModelError("robot: its arm has discrete joints: use a controller such as tendril.mobile");
  const MobileContinuum robot = description.continuum();
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .platform_length = description.parameters.platform_length,
                          .platform_width = description.parameters.platform_width,
                          .settings = settings,
                          .timestep = timestep,
                          .name = description.name,
                          .platform_height = description.parameters.platform_height,
                          .arm_radius = largest_radius(description.mounted->robot),
                          .scene = scene});
  if (controller->commands() != CommandKind::Setpoints)
    throw ModelError("robot: its platform takes setpoints: " + kind.name + " commands torques");
  return controller;
}

}  // namespace

std::unique_ptr<MobileController> make_mobile_controller(const ControllerKind& kind,
                                                         const Settings& settings,
                                                         const MobileDescription& robot,
                                                         double timestep, SceneQuery& scene) {
  if (const auto* const make = kind.make.of<MobileContext>())
    return make_joint_controller(kind, settings, robot, timestep, *make, scene);
  if (const auto* const make = kind.make.of<PlatformContext>())
    return make_platform_controller(kind, settings, robot, timestep, *make, scene);
  return nullptr;
}

}  // namespace tendril
