#include "tendril/model/tendon_mjcf.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tendril/kinematics/tension_distribution.hpp"
#include "tendril/model/continuum_mjcf.hpp"
#include "tendril/model/tendon_file.hpp"

namespace tendril {
namespace {

std::string friction_of(const Tendon& tendon) {
  if (tendon.friction == 0.0) return {};
  return fmt::format(" frictionloss=\"{}\" {}", number_text(tendon.friction), kFrictionThatHolds);
}

}  // namespace

void write_tendon(MjcfWriter& writer, const Tendon& tendon,
                  const std::vector<TendonJoint>& joints) {
  std::string attributes = friction_of(tendon);
  if (tendon.chamber && tendon.chamber->volume_range) {
    const auto& [low, high] = *tendon.chamber->volume_range;
    attributes = " solreflimit=\"0.004 1\" range=\"" + number_text(low / tendon.chamber->area) +
                 " " + number_text(high / tendon.chamber->area) + "\"";
  }
  writer.line("    <fixed name=\"{}\"{}>", tendon.name, attributes);
  for (const TendonJoint& joint : joints)
    writer.line("      <joint joint=\"{}\" coef=\"{}\"/>", joint.joint, joint.coefficient);
  writer.line("    </fixed>");
}

std::string site_name(const Tendon& tendon, std::size_t number) {
  return fmt::format("{}_{}", tendon.name, number);
}

double length_of(const std::vector<TendonSite>& sites) {
  double length = 0.0;
  for (std::size_t i = 1; i < sites.size(); ++i)
    length += (sites[i].p_base - sites[i - 1].p_base).norm();
  return length;
}

void write_tendon(MjcfWriter& writer, const Tendon& tendon, const std::vector<TendonSite>& sites) {
  constexpr double kWidth = 0.06;  // of the distance
  writer.line("    <spatial name=\"{}\" width=\"{}\" rgba=\"0.15 0.15 0.17 1\"{}>", tendon.name,
              kWidth * tendon.route.base_distance, friction_of(tendon));
  for (std::size_t i = 0; i < sites.size(); ++i)
    writer.line("      <site site=\"{}\"/>", site_name(tendon, i + 1));
  writer.line("    </spatial>");
}

void write_tendon_actuator(MjcfWriter& writer, const Tendon& tendon, double range, double way,
                           double straight) {
  if (tendon.chamber) {
    const Chamber& chamber = *tendon.chamber;
    const std::string dynamics =
        chamber.time_constant > 0.0
            ? " dyntype=\"filterexact\" dynprm=\"" + number_text(chamber.time_constant) + "\""
            : "";
    if (pushes(tendon)) {
      writer.line(
          "    <general name=\"{0}\" tendon=\"{0}\" gear=\"{1}\"{2} ctrlrange=\"{3} {4}\" "
          "forcerange=\"{3} {4}\"/>",
          tendon.name, chamber.area, dynamics, chamber.min_pressure, chamber.max_pressure);
      return;
    }
    const double blocked = chamber.tension_per_pressure();
    writer.line(
        "    <general name=\"{0}\" tendon=\"{0}\" gear=\"-1\"{1} gaintype=\"affine\" "
        "gainprm=\"{2} -{3} 0\" ctrlrange=\"0 {4}\" forcerange=\"0 {5}\"/>",
        tendon.name, dynamics, blocked, blocked / (way * chamber.free_contraction()),
        chamber.max_pressure, blocked * chamber.max_pressure);
    return;
  }
  if (tendon.command == TendonCommand::Tension) {
    writer.line(
        "    <general name=\"{0}\" tendon=\"{0}\" gear=\"-1\" ctrlrange=\"0 {1}\" "
        "forcerange=\"0 {1}\"/>",
        tendon.name, tendon.max_tension);
    return;
  }
  writer.line(
      "    <general name=\"{0}\" tendon=\"{0}\" gear=\"-1\" gaintype=\"fixed\" biastype=\"affine\" "
      "gainprm=\"-{1}\" biasprm=\"{2} -{1} -{3}\" ctrlrange=\"-{4} {4}\" forcerange=\"0 {5}\"/>",
      tendon.name, tendon.stiffness, tendon.pretension - tendon.stiffness * straight,
      tendon.damping_time * tendon.stiffness, range, tendon.max_tension);
}

void write_tendon_sensors(MjcfWriter& writer, const ContinuumDescription& robot) {
  if (robot.tendons.empty()) return;
  writer.line("  <sensor>");
  for (const Tendon& tendon : robot.tendons) {
    if (pushes(tendon)) {
      writer.line("    <actuatorfrc name=\"{}\" actuator=\"{}\"/>",
                  names::chamber_pressure(tendon.name), tendon.name);
      writer.line("    <actuatorpos name=\"{}\" actuator=\"{}\"/>",
                  names::chamber_volume(tendon.name), tendon.name);
      continue;
    }
    writer.line("    <tendonpos name=\"{}\" tendon=\"{}\"/>", names::tendon_length(tendon.name),
                tendon.name);
    writer.line("    <actuatorfrc name=\"{}\" actuator=\"{}\"/>",
                names::tendon_tension(tendon.name), tendon.name);
  }
  writer.line("  </sensor>");
}

std::vector<double> tendon_ranges(const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  const TendonMap map(kinematics, tendon_routes(robot));
  std::vector<double> ranges;
  for (std::size_t t = 0; t < robot.tendons.size(); ++t) {
    const Tendon& tendon = robot.tendons[t];
    double range = tendon.max_tension / tendon.stiffness;
    const double largest_distance = std::max(tendon.route.base_distance, tendon.route.end_distance);
    for (int i = 0; i < kinematics.section_count(); ++i) {
      const SectionParameters& section = robot.sections[static_cast<std::size_t>(i)];
      const int k = kinematics.coordinate_index(i);
      const auto row = map.jacobian().row(static_cast<Eigen::Index>(t));
      const double lever = tendon.route.turn == 0.0 ? row.segment<2>(k).norm() : largest_distance;
      if (tendon.route.runs_through(i)) range += lever * bend_command_limit(section);
      if (kinematics.section(i).is_extensible())
        range += row[k + 2] * section.variable_length / 2.0;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<double> tendon_start_commands(const ContinuumDescription& robot) {
  const auto count = static_cast<Eigen::Index>(robot.tendons.size());
  const ContinuumRobot kinematics = robot.kinematics();
  const TendonMap map(kinematics, tendon_routes(robot));
  Eigen::VectorXd bends = Eigen::VectorXd::Zero(kinematics.coordinate_count()), moments = bends;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const auto section = static_cast<std::size_t>(i);
    const int k = kinematics.coordinate_index(i);
    bends[k] = robot.start->bends[section];
    const SectionPhysics& physics = robot.physics[section];
    const double length = rest_length(robot.sections[section]);
    for (int axis = 0; axis < 2; ++axis) {
      moments[k + axis] = (bends[k + axis] - physics.natural_bend[static_cast<std::size_t>(axis)]) *
                          physics.bending_stiffness / physics.unloaded_length;
    }
    // The start pose's lengths are at half their range.
    if (kinematics.section(i).is_extensible())
      moments[k + 2] = physics.axial_stiffness * (length - physics.unloaded_length);
  }
  Eigen::VectorXd low(count), high(count);
  for (Eigen::Index t = 0; t < count; ++t) {
    const Tendon& tendon = robot.tendons[static_cast<std::size_t>(t)];
    std::tie(low[t], high[t]) = tendon.tension_range();
  }
  TensionDistribution distribution(moments_of_tendons(robot), low, high);
  Eigen::VectorXd tensions(count);
  distribution.distribute(moments(coordinates_of_tendons(robot)), tensions);
  const Eigen::VectorXd lengths = map.jacobian() * bends;
  std::vector<double> commands;
  for (Eigen::Index t = 0; t < count; ++t) {
    const Tendon& tendon = robot.tendons[static_cast<std::size_t>(t)];
    switch (tendon.command) {
      case TendonCommand::Length:
        commands.push_back(lengths[t] - (tensions[t] - tendon.pretension) / tendon.stiffness);
        break;
      case TendonCommand::Tension:
        commands.push_back(tensions[t]);
        break;
      case TendonCommand::Pressure:
        commands.push_back(tensions[t] / tendon.chamber->tension_per_pressure());
        break;
    }
  }
  return commands;
}

}  // namespace tendril
