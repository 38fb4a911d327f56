#include "tendril/model/continuum/drives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/drive_damping.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

namespace names {
std::string bend(int section, char axis) { return fmt::format("s{}_{}", section, axis); }
std::string length(int section) { return fmt::format("s{}_z", section); }
}  // namespace names

namespace {

/// Fraction of a servo's damping that acts in parallel to the servo, outside its force limit. The
/// engine treats a servo at its limit as a constant force; with all the damping inside the limit a
/// light section then oscillates between both limits indefinitely.
constexpr double kDampingOutside = 0.5;

/// Keys of one drive, and the words of its command.
struct DriveKeys {
  std::string_view servo, command, gain, damping_time, limit;
  std::string_view coordinate, effort;  // what the commands of servo and motor are
  Range gains;
};
constexpr DriveKeys kBendKeys{.servo = "bend_servo",
                              .command = "bend_command",
                              .gain = "bend_gain",
                              .damping_time = "bend_damping_time",
                              .limit = "bend_torque_limit",
                              .coordinate = "angle",
                              .effort = "moment",
                              .gains = kNotNegativeNumber};
constexpr DriveKeys kLengthKeys{.servo = "length_servo",
                                .command = "length_command",
                                .gain = "length_gain",
                                .damping_time = "length_damping_time",
                                .limit = "length_force_limit",
                                .coordinate = "length",
                                .effort = "force",
                                .gains = kPositiveNumber};

/// In the order of both.
constexpr KeyInfo kKeys[]{
    {kBendKeys.servo, "",
     "a servo sets the bend; with tendons or chambers the default is `false`. Without any of them "
     "the section is an elastic rod"},
    {kBendKeys.command, "",
     "`\"moment\"`: a motor instead of the servo, whose command is the moment in N m "
     "([moments](#moments-and-torques)). Needs `compliance = \"section\"`"},
    {kBendKeys.gain, "N m/rad",
     "kp of the servo. 0: an elastic body under a moment; the command is its bend without contact"},
    {kBendKeys.damping_time, "s", "kv / kp"},
    {kBendKeys.limit, "N m",
     "of servo or motor. A section holds at most `limit * length / EI` rad"},
    {kLengthKeys.servo, "",
     "a servo sets the length; with [chambers](#chamber) the default is `false`. Without it, loads "
     "and chambers stretch an elastic backbone"},
    {kLengthKeys.command, "",
     "`\"force\"`: a motor instead of the servo, whose command is the force in N that lengthens "
     "the section"},
    {kLengthKeys.gain, "N/m", "kp of the servo"},
    {kLengthKeys.damping_time, "s", "kv / kp"},
    {kLengthKeys.limit, "N", "of servo or motor"}};

/// Actuators instead of a drive: none, tendons, or chambers and perhaps tendons.
enum class Replacement { None, Tendons, Chambers };

/// @param moved  what the replacement does: "the section is bent by its tendons"
Drive read_drive(const Fields& fields, const DriveKeys& keys, const ServoDrive& usual,
                 std::string_view moved) {
  if (!fields.boolean(keys.servo, moved.empty())) {
    for (const std::string_view key : {keys.command, keys.gain, keys.damping_time, keys.limit}) {
      if (!fields.has(key)) continue;
      fields.refuse(key, moved.empty() ? fmt::format("needs {} = true", keys.servo)
                                       : fmt::format("{}; needs {} = true, a servo besides them",
                                                     moved, keys.servo));
    }
    return NoDrive{};
  }
  const double limit = fields.number(keys.limit, usual.limit, kPositiveNumber);
  if (!fields.choice<bool>(keys.command, {{keys.coordinate, false}, {keys.effort, true}})) {
    return ServoDrive{
        .gain = fields.number(keys.gain, usual.gain, keys.gains),
        .damping_time = fields.number(keys.damping_time, usual.damping_time, kNotNegativeNumber),
        .limit = limit};
  }
  for (const std::string_view key : {keys.gain, keys.damping_time}) {
    if (fields.has(key))
      fields.refuse(key, fmt::format("needs {} = \"{}\": a motor has no gains", keys.command,
                                     keys.coordinate));
  }
  return MotorDrive{limit};
}

void read_bend(const Fields& fields, Replacement replacement, Compliance compliance,
               SectionPhysics& physics) {
  physics.bend =
      read_drive(fields, kBendKeys, kBendServo,
                 replacement == Replacement::None      ? ""
                 : replacement == Replacement::Tendons ? "the section is bent by its tendons"
                                                       : "the section is bent by its chambers");
  physics.gives_way = fields.has(kBendKeys.servo) && !is_driven(physics.bend);
  if (is_motor(physics.bend) && compliance == Compliance::Link) {
    fields.refuse("bend_command",
                  "needs compliance = \"section\": one moment bends the whole section");
  }
}

void read_length(const Fields& fields, Replacement replacement, const SectionParameters& section,
                 SectionPhysics& physics) {
  const bool is_extensible = section.variable_length > 0.0;
  for (const std::string_view key : {kLengthKeys.servo, kLengthKeys.command})
    if (!is_extensible && fields.has(key)) fields.refuse(key, "needs variable_length > 0");
  const bool has_chambers = is_extensible && replacement == Replacement::Chambers;
  physics.length_drive =
      read_drive(fields, kLengthKeys, kLengthServo,
                 has_chambers ? "the section is lengthened by its chambers" : "");
  if (is_driven(physics.length_drive) && fields.has("unloaded_length")) {
    fields.refuse("unloaded_length",
                  "needs length_servo = false: a servo sets the length of the unloaded section");
  }
  if (!is_extensible) physics.length_drive = NoDrive{};
}

Replacement replacement_of_drives(const ContinuumDescription& robot, int section) {
  const auto runs_through = [section](const auto& one) { return one.route.runs_through(section); };
  if (std::any_of(robot.chambers.begin(), robot.chambers.end(), runs_through))
    return Replacement::Chambers;
  return std::any_of(robot.tendons.begin(), robot.tendons.end(), runs_through)
             ? Replacement::Tendons
             : Replacement::None;
}

/// Damping of a servo as it is written: without the timestep kp that `discrete` adds, because it
/// evaluates the servo at the end of the step [N m s/rad] or [N s/m].
struct ServoDamping {
  double outside;  ///< in the tendon or joint
  double inside;   ///< in the servo, as far as its force limit allows
};
ServoDamping damping_of(const ServoDrive& servo, const ContinuumDescription& robot) {
  const double time = robot.written_damping_time(servo.damping_time);
  const double outside = std::min(kDampingOutside * servo.damping_time, time);
  return {outside * servo.gain, (time - outside) * servo.gain};
}

/// Adds a servo with the stiffness of what it moves fed forward; half of its damping is in the
/// tendon or joint:
///     F = (kp + stiffness) ctrl - kp q - damping_of(drive).inside q'
/// and less by stiffness `natural`, so that the command is the coordinate; without a gain it adds
/// to the natural one.
struct ServoElement {
  std::string name;
  std::string_view transmission;  ///< "joint" or "tendon"
  ServoDrive drive;
  double stiffness;
  double range;  ///< of the command
  double natural = 0.0;
  double start;  ///< command in the keyframe
};
void add_servo(const ServoElement& servo, ArmDocument& arm) {
  const double kp = servo.drive.gain, limit = servo.drive.limit;
  const double constant = kp > 0.0 ? 0.0 - servo.stiffness * servo.natural : 0.0;
  const double kv = damping_of(servo.drive, arm.robot).inside;
  arm.mjcf.add_actuator("general",
                        {{"name", servo.name},
                         {servo.transmission, servo.name},
                         {"gaintype", "fixed"},
                         {"biastype", "affine"},
                         {"gainprm", kp + servo.stiffness},
                         {"biasprm", fmt::format("{} -{} -{}", number_text(constant),
                                                 number_text(kp), number_text(kv))},
                         {"ctrlrange", {-servo.range, servo.range}},
                         {"forcerange", {-limit, limit}}},
                        servo.start);
}

/// Adds a fixed tendon over joints, whose length is their sum.
void add_sum(const std::string& name, const Drive& drive, const std::vector<std::string>& joints,
             ArmDocument& arm) {
  XmlNode& tendon = arm.mjcf.tendon.add(
      "fixed", {{"name", name}, {"damping", damping_outside(arm.robot, drive)}});
  for (const std::string& joint : joints) tendon.add("joint", {{"joint", joint}, {"coef", 1}});
}

/// Commanded or natural angle about an axis of bending: the hinges about x sum to -v.
double about(char axis, double u, double v) { return axis == 'y' ? u : -v; }

/// Bend of the whole section by its two tendons.
void write_section_bend(ArmDocument& arm, std::size_t i) {
  const SectionPhysics& physics = arm.robot.physics[i];
  const int section = static_cast<int>(i) + 1;
  for (const char axis : bend_axes(arm.robot.sections[i])) {
    const std::string name = names::bend(section, axis);
    std::vector<std::string> hinges;
    for (const Link& link : arm.links)
      if (link.section == section && link.has_hinges())
        hinges.push_back(names::hinge(section, link.index, axis));
    add_sum(name, physics.bend, hinges, arm);
    const double natural = about(axis, physics.natural_bend[0], physics.natural_bend[1]);
    const auto [start_u, start_v] = arm.start_bend(i);
    const double start = about(axis, start_u, start_v);
    if (const auto* const servo = std::get_if<ServoDrive>(&physics.bend)) {
      add_servo({.name = name,
                 .transmission = "tendon",
                 .drive = *servo,
                 .stiffness = physics.bend_stiffness(),
                 .range = bend_command_limit(arm.robot.sections[i]),
                 .natural = natural,
                 .start = start},
                arm);
    } else {
      arm.mjcf.add_motor(name, "tendon", limit_of(physics.bend),
                         physics.bend_stiffness() * (start - natural));
    }
  }
}

/// Bend of a section by a servo on every hinge.
void write_link_bends(ArmDocument& arm, std::size_t i, const ServoDrive& servo) {
  const double range = bend_command_limit(arm.robot.sections[i]);
  const auto [start_u, start_v] = arm.start_bend(i);
  for (const Link& link : arm.links) {
    if (link.section != static_cast<int>(i) + 1 || !link.has_hinges()) continue;
    const double fraction = link.bend_fraction;
    for (const char axis : bend_axes(arm.robot.sections[i])) {
      add_servo({.name = names::hinge(link.section, link.index, axis),
                 .transmission = "joint",
                 .drive = {servo.gain / fraction, servo.damping_time, servo.limit},
                 .stiffness = link.hinge_stiffness,
                 .range = range * fraction,
                 .natural = link.natural(axis),
                 .start = fraction * about(axis, start_u, start_v)},
                arm);
    }
  }
}

void write_length(ArmDocument& arm, std::size_t i) {
  const SectionPhysics& physics = arm.robot.physics[i];
  const int section = static_cast<int>(i) + 1;
  const std::string name = names::length(section);
  std::vector<std::string> slides;
  for (const Link& link : arm.links)
    if (link.section == section) slides.push_back(names::slide(section, link.index));
  add_sum(name, physics.length_drive, slides, arm);
  if (const auto* const servo = std::get_if<ServoDrive>(&physics.length_drive)) {
    add_servo({.name = name,
               .transmission = "tendon",
               .drive = *servo,
               .stiffness = physics.axial_stiffness,
               .range = arm.robot.sections[i].variable_length / 2.0,
               .start = arm.start_extension(i)},
              arm);
  } else {
    arm.mjcf.add_motor(name, "tendon", limit_of(physics.length_drive), 0.0);
  }
}

}  // namespace

double limit_of(const Drive& drive) noexcept {
  if (const auto* const servo = std::get_if<ServoDrive>(&drive)) return servo->limit;
  if (const auto* const motor = std::get_if<MotorDrive>(&drive)) return motor->limit;
  return 0.0;
}

KeyRows drive_keys() { return kKeys; }

void read_drives(const Fields& top, ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("section");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Replacement replacement = replacement_of_drives(robot, static_cast<int>(i));
    read_bend(tables[i], replacement, robot.compliance, robot.physics[i]);
    read_length(tables[i], replacement, robot.sections[i], robot.physics[i]);
  }
}

double bend_command_limit(const SectionParameters& section) {
  return std::max(1.5 * section.bend_angle_limit, 1.0);
}

int drive_tendon_count(const ContinuumDescription& robot) {
  int count = 0;
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const SectionPhysics& physics = robot.physics[i];
    if (is_driven(physics.bend) && robot.compliance == Compliance::Section)
      count += static_cast<int>(bend_axes(robot.sections[i]).size());
    if (is_driven(physics.length_drive)) ++count;
  }
  return count;
}

void write_drives(ArmDocument& arm) {
  for (std::size_t i = 0; i < arm.robot.sections.size(); ++i) {
    const SectionPhysics& physics = arm.robot.physics[i];
    if (is_driven(physics.bend)) {
      if (arm.robot.compliance == Compliance::Section)
        write_section_bend(arm, i);
      else
        write_link_bends(arm, i, std::get<ServoDrive>(physics.bend));
    }
    if (is_driven(physics.length_drive)) write_length(arm, i);
  }
}

double damping_outside(const ContinuumDescription& robot, const Drive& drive) {
  const auto* const servo = std::get_if<ServoDrive>(&drive);
  return servo ? damping_of(*servo, robot).outside : 0.0;
}

double hinge_damping(const ContinuumDescription& robot, const SectionPhysics& physics,
                     double bend_fraction) {
  if (robot.compliance != Compliance::Link) return 0.0;
  return damping_outside(robot, physics.bend) / bend_fraction;
}

}  // namespace tendril
