#include "tendril/model/continuum/drive_values.hpp"

#include <fmt/format.h>

#include "tendril/kinematics/turning.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/names.hpp"

namespace tendril {
namespace {

bool turns(const SectionParameters& section) {
  return section.rotation == SectionRotation::Turning;
}

}  // namespace

DriveValues::DriveValues(const ContinuumDescription& robot)
    : robot_(robot), kinematics_(robot.kinematics()) {
  if (robot.base.feed_limit > 0.0) add(names::kFeed, "m");
  if (robot.base.spin) add(names::kSpin, "rad");
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    layouts_.push_back(link_layout(robot, i));
    add_section(robot, i);
  }
  for (const Tendon& tendon : robot.tendons)
    add(tendon.name, tendon.command == TendonCommand::Length ? "m" : "N");
  for (const Chamber& chamber : robot.chambers) add(chamber.name, "Pa");
}

void DriveValues::add(std::string name, std::string unit) {
  drives_.push_back({std::move(name), std::move(unit)});
}

void DriveValues::add_section(const ContinuumDescription& robot, std::size_t i) {
  const SectionPhysics& physics = robot.physics[i];
  const int section = static_cast<int>(i) + 1;
  const bool by_links = robot.compliance == Compliance::Link;
  if (turns(robot.sections[i])) add(names::turn(section), "rad");
  for (std::size_t j = 0; j < (by_links ? layouts_[i].bend_fraction.size() : 1U); ++j) {
    if (!is_driven(physics.bend) || (by_links && layouts_[i].bend_fraction[j] == 0.0)) continue;
    for (const char axis : bend_axes(robot.sections[i])) {
      add(by_links ? names::hinge(section, static_cast<int>(j) + 1, axis)
                   : names::bend(section, axis),
          is_motor(physics.bend) ? "N m" : "rad");
    }
  }
  if (is_driven(physics.length_drive))
    add(names::length(section), is_motor(physics.length_drive) ? "N" : "m");
}

/// @param own  state in the section's own frame
void DriveValues::write_section(std::size_t i, const SectionState& own, double*& to) const {
  const SectionParameters& section = robot_.sections[i];
  const SectionPhysics& physics = robot_.physics[i];
  if (turns(section)) *to++ = own.phi;
  const Eigen::Vector2d bend = turns(section) ? Eigen::Vector2d(own.theta, 0.0) : bend_vector(own);
  const auto write_bends = [&](double fraction) {
    const Eigen::Vector2d natural(physics.natural_bend[0], physics.natural_bend[1]);
    const Eigen::Vector2d value = is_motor(physics.bend)
                                      ? Eigen::Vector2d(physics.bend_stiffness() * (bend - natural))
                                      : Eigen::Vector2d(fraction * bend);
    for (const char axis : bend_axes(section)) *to++ = axis == 'x' ? 0.0 - value.y() : value.x();
  };
  if (is_driven(physics.bend)) {
    if (robot_.compliance == Compliance::Link) {
      for (const double fraction : layouts_[i].bend_fraction)
        if (fraction > 0.0) write_bends(fraction);
    } else {
      write_bends(1.0);
    }
  }
  if (!is_driven(physics.length_drive)) return;
  *to++ = is_motor(physics.length_drive)
              ? physics.axial_stiffness * (section.length + own.extension - physics.unloaded_length)
              : own.extension - section.variable_length / 2.0;
}

bool DriveValues::values(SectionStates states, const BaseState& base, std::span<double> values) {
  double* to = values.data();
  if (robot_.base.feed_limit > 0.0) *to++ = base.feed;
  if (robot_.base.spin) *to++ = base.spin;
  const std::vector<SectionState> own = in_own_frames(kinematics_, states);
  for (std::size_t i = 0; i < own.size(); ++i) write_section(i, own[i], to);
  if (tendon_count(robot_) == 0) return true;
  Eigen::VectorXd q(kinematics_.coordinate_count());
  for (int i = 0; i < kinematics_.section_count(); ++i) {
    const SectionState& state = states[static_cast<std::size_t>(i)];
    const int k = kinematics_.coordinate_index(i);
    q.segment<2>(k) = bend_vector(state);
    if (kinematics_.section(i).is_extensible()) q[k + 2] = state.extension;
  }
  const TendonCommands commands = tendon_commands(robot_, q);
  std::copy(commands.values.begin(), commands.values.end(), to);
  return commands.reached;
}

}  // namespace tendril
