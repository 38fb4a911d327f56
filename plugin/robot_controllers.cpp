#include "plugin/robot_controllers.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "plugin/robot_binding.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

// ---- arms

namespace {

/// Returns the resistance of an arm's body to each coordinate.
std::vector<BodySpring> springs_of(const ContinuumDescription& arm, const mjModel* m) {
  const ContinuumRobot robot = arm.kinematics();
  std::vector<BodySpring> springs(static_cast<std::size_t>(robot.coordinate_count()));
  // The engine's part included (joint_damping).
  const double least = m->opt.integrator == mjINT_DISCRETE ? m->opt.timestep : 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionPhysics& physics = arm.physics[static_cast<std::size_t>(i)];
    const auto k = static_cast<std::size_t>(robot.coordinate_index(i));
    const double time = std::max(physics.damping_time, least);
    const double bend = physics.bending_stiffness / physics.unloaded_length;
    double lag = 0.0;
    for (const Chamber& chamber : arm.chambers)
      if (chamber.route.runs_through(i)) lag = std::max(lag, chamber.time_constant);
    const double bend_lag = is_driven(physics.bend) ? 0.0 : lag;
    springs[k] = {bend, time * bend, physics.natural_bend[0], bend_lag};
    springs[k + 1] = {bend, time * bend, physics.natural_bend[1], bend_lag};
    if (!robot.section(i).is_extensible()) continue;
    springs[k + 2] = {physics.axial_stiffness, time * physics.axial_stiffness,
                      physics.unloaded_length - robot.section(i).length(),
                      is_driven(physics.length_drive) ? 0.0 : lag};
  }
  return springs;
}

/// Refuses a controller whose commands the actuators cannot follow.
void require_commands(const InstanceContext& context, const ContinuumDescription& arm,
                      CommandKind commands) {
  const auto refuse = [&](const std::string& what, const std::string& must, const char* kind) {
    throw ModelError("robot: " + what + ": must be " + must + ": " + context.kind.name +
                     " commands " + kind);
  };
  for (std::size_t i = 0; i < arm.sections.size(); ++i) {
    const SectionPhysics& physics = arm.physics[i];
    const std::string section = "section " + std::to_string(i + 1);
    if (commands == CommandKind::Setpoints && is_motor(physics.bend))
      refuse(section + ": bend_command = \"moment\"", "\"angle\"", "setpoints");
    if (commands == CommandKind::Setpoints && is_motor(physics.length_drive))
      refuse(section + ": length_command = \"force\"", "\"length\"", "setpoints");
    if (commands == CommandKind::Moments && std::holds_alternative<ServoDrive>(physics.bend))
      refuse(section + ": bend_command = \"angle\"", "\"moment\"", "moments");
  }
  if (commands == CommandKind::Setpoints) return;
  const char* const kind = commands == CommandKind::Moments ? "moments" : "tensions";
  for (const Tendon& tendon : arm.tendons) {
    if (tendon.command == TendonCommand::Length)
      refuse("tendon " + tendon.name + ": command = \"length\"", "\"tension\"", kind);
  }
  if (commands == CommandKind::Tensions && tendon_count(arm) == 0)
    throw ModelError("robot: has no tendons or chambers: " + context.kind.name +
                     " commands tensions, must have some");
}

}  // namespace

std::unique_ptr<ArmController> make_controller(const InstanceContext& context,
                                               const ContinuumDescription& description,
                                               const Make<ArmContext>& make, SceneQuery& scene) {
  const ContinuumRobot robot = description.kinematics();
  const std::vector<BodySpring> springs = springs_of(description, context.model);
  auto controller = make({.robot = robot,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .feed_force_limit = robot.base().feed_limit > 0.0
                                                  ? description.base_physics.feed_force_limit
                                                  : std::numeric_limits<double>::infinity(),
                          .guide_length = description.guide.length,
                          .guide_clearance = description.guide.clearance,
                          .body_radius = largest_radius(description),
                          .bending_stiffness = description.physics.back().bending_stiffness,
                          .name = description.name,
                          .springs = springs,
                          .tendon_count = tendon_count(description),
                          .scene = scene});
  require_commands(context, description, controller->commands());
  return controller;
}

// ---- robots of joints

namespace {

/// Refuses a controller that commands other than what the joints take.
void require_joint_commands(const InstanceContext& context, const char* key, bool has_motors,
                            CommandKind commands) {
  const bool torques = commands != CommandKind::Setpoints;
  if (torques == has_motors) return;
  const auto word = [](bool motors) { return motors ? "\"torque\"" : "\"angle\""; };
  throw ModelError(std::string("robot: ") + key + " = " + word(has_motors) + ": must be " +
                   word(torques) + ": " + context.kind.name + " commands " +
                   (torques ? "torques" : "setpoints"));
}

struct SnakeStartPlace {
  Eigen::Vector2d center;  // of the snake
  double height;           // of the ground
};

/// Returns where the snake starts in the world.
SnakeStartPlace start_of(const InstanceContext& context, const SnakeDescription& snake) {
  if (snake.start) return {snake.start->position.head<2>(), snake.start->position.z()};
  const mjModel* m = context.model;
  const int base = context.require(mjOBJ_BODY, names::kBase);
  const ConstVector3 tail(m->body_pos + 3 * base);
  const double half =
      0.5 * std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), 0.0);
  const mjtNum* q = m->body_quat + 4 * base;
  return {(tail + Eigen::Quaterniond(q[0], q[1], q[2], q[3]) * Eigen::Vector3d(half, 0.0, 0.0))
              .head<2>(),
          tail.z() - snake.radius};
}

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

}  // namespace

std::unique_ptr<SnakeController> make_controller(const InstanceContext& context,
                                                 const SnakeDescription& snake,
                                                 const Make<SnakeContext>& make,
                                                 SceneQuery& scene) {
  const auto [center, height] = start_of(context, snake);
  auto controller = make({.link_lengths = snake.link_lengths,
                          .joint_limit = snake.joint_limit,
                          .radius = snake.radius,
                          .is_free = snake.base == SnakeBase::Free,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .feed_limit = snake.feed_limit,
                          .name = snake.name,
                          .start_center = center,
                          .ground_height = height,
                          .scene = scene});
  require_joint_commands(context, "joint_command", snake.joint_motors, controller->commands());
  return controller;
}

std::unique_ptr<MobileController> make_controller(const InstanceContext& context,
                                                  const MobileDescription& description,
                                                  const Make<MobileContext>& make,
                                                  SceneQuery& scene) {
  if (description.mounted)
    throw ModelError(
        "robot: its arm is a continuum arm: use a controller such as tendril.base_placement");
  const MobileRobot robot = robot_with_margin(description, context.settings);
  std::vector<BodyCapsule> capsules = description.capsules();
  if (capsules.empty()) capsules = standard_capsules(robot);
  const MobileStart pose = description.start_pose();
  std::vector<double> start{pose.base.x, pose.base.y, pose.base.heading};
  start.insert(start.end(), pose.joints.begin(), pose.joints.end());
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .capsules = capsules,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .name = description.name,
                          .start = start,
                          .scene = scene});
  require_joint_commands(context, "[arm] joint_command", description.joint_motors,
                         controller->commands());
  return controller;
}

std::unique_ptr<MobileController> make_controller(const InstanceContext& context,
                                                  const MobileDescription& description,
                                                  const Make<PlatformContext>& make,
                                                  SceneQuery& scene) {
  if (!description.mounted)
    throw ModelError("robot: its arm has discrete joints: use a controller such as tendril.mobile");
  const MobileContinuum robot = description.continuum();
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .platform_length = description.parameters.platform_length,
                          .platform_width = description.parameters.platform_width,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .name = description.name,
                          .platform_height = description.parameters.platform_height,
                          .arm_radius = largest_radius(description.mounted->robot),
                          .scene = scene});
  if (controller->commands() != CommandKind::Setpoints)
    throw ModelError("robot: its platform takes setpoints: " + context.kind.name +
                     " commands torques");
  return controller;
}

}  // namespace tendril
