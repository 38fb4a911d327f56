#include "binding/arm_controllers.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tendril/model/continuum/drive_damping.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// What an arm's body does against each coordinate.
std::vector<BodySpring> springs_of(const ContinuumDescription& arm, const Actuation& actuation,
                                   double numerical_damping_time) {
  const ContinuumRobot robot = arm.kinematics();
  std::vector<BodySpring> springs(static_cast<std::size_t>(robot.coordinate_count()));
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionPhysics& physics = arm.physics[static_cast<std::size_t>(i)];
    const auto k = static_cast<std::size_t>(robot.coordinate_index(i));
    const double time = std::max(physics.damping_time, numerical_damping_time);
    const double bend = physics.bending_stiffness / physics.unloaded_length;
    const double bend_damping = time * bend + damping_outside(arm, physics.bend);
    double lag = 0.0;
    for (const Chamber& chamber : arm.chambers)
      if (chamber.route.runs_through(i)) lag = std::max(lag, chamber.time_constant);
    const double bend_lag = is_driven(physics.bend) ? 0.0 : lag;
    // A planar arm has no other direction.
    const auto driven = [&](std::size_t at) {
      return actuation.moves_all() || (arm.is_planar() && at == k + 1 ? actuation.independent[k]
                                                                      : actuation.independent[at]);
    };
    springs[k] = {bend, bend_damping, physics.natural_bend[0], bend_lag, driven(k)};
    springs[k + 1] = {bend, bend_damping, physics.natural_bend[1], bend_lag, driven(k + 1)};
    if (!robot.section(i).is_extensible()) continue;
    springs[k + 2] = {physics.axial_stiffness,
                      time * physics.axial_stiffness + damping_outside(arm, physics.length_drive),
                      physics.unloaded_length - robot.section(i).length(),
                      is_driven(physics.length_drive) ? 0.0 : lag};
  }
  return springs;
}

/// Refuses a controller whose commands the actuators cannot follow.
void require_commands(const std::string& controller, const ContinuumDescription& arm,
                      CommandKind commands) {
  const auto refuse = [&](const std::string& what, const std::string& must, const char* kind) {
    throw ModelError("robot: " + what + ": must be " + must + ": " + controller + " commands " +
                     kind);
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
    throw ModelError("robot: has no tendons or chambers: " + controller +
                     " commands tensions, must have some");
}

}  // namespace

std::unique_ptr<ArmController> make_arm_controller(const ControllerKind& kind,
                                                   const Settings& settings,
                                                   const ContinuumDescription& description,
                                                   const ArmTiming& timing, SceneQuery& scene) {
  const auto* const make = kind.make.of<ArmContext>();
  if (make == nullptr) return nullptr;
  const ContinuumRobot robot = description.kinematics();
  const Actuation driven = actuation(description);
  const std::vector<BodySpring> springs =
      springs_of(description, driven, timing.numerical_damping_time);
  auto controller = (*make)({.robot = robot,
                             .settings = settings,
                             .timestep = timing.timestep,
                             .feed_force_limit = robot.base().feed_limit > 0.0
                                                     ? description.base_physics.feed_force_limit
                                                     : std::numeric_limits<double>::infinity(),
                             .guide_length = description.guide.length,
                             .guide_clearance = description.guide.clearance,
                             .body_radius = largest_radius(description),
                             .bending_stiffness = description.physics.back().bending_stiffness,
                             .name = description.name,
                             .springs = springs,
                             .actuation = driven,
                             .tendon_count = tendon_count(description),
                             .sees_contacts = settings.choice_index("measured") == 0,
                             .scene = scene});
  require_commands(kind.name, description, controller->commands());
  return controller;
}

void require_sensed_contacts(const ControllerKind& kind, ContactNeed contacts,
                             const ContinuumDescription& description) {
  const auto refuse = [&](const char* what) {
    throw ModelError("measured = sensors: " + kind.name + " works by " + what +
                     ": must be \"truth\"");
  };
  const auto observes = [&](SensorKind sensor) {
    return std::ranges::any_of(description.sensors, [&](const RobotSensor& table) {
      return std::ranges::any_of(table.sensors, [&](const EngineSensor& one) {
        return one.observed && one.observed->kind == sensor;
      });
    });
  };
  if (contacts == ContactNeed::Grip && !(std::ranges::all_of(description.physics,
                                                             [](const SectionPhysics& section) {
                                                               return is_driven(section.bend);
                                                             }) &&
                                         observes(SensorKind::Coordinates)))
    refuse("the moments of servos, of which a [[sensor]] of kind = \"bend_encoder\" would tell");
  if (contacts == ContactNeed::Tip && !observes(SensorKind::BaseForce))
    refuse("the force at the tip, of which a [[sensor]] of kind = \"base_force\" would tell");
}

}  // namespace tendril
