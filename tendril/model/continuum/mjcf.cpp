#include "tendril/model/continuum/mjcf.hpp"

#include <algorithm>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model/continuum/immersion.hpp"
#include "tendril/model/continuum/sensors.hpp"
#include "tendril/model/mjcf_document.hpp"

namespace tendril {
namespace {

Keyframe keyframe_of(const std::optional<StartPose>& start) {
  if (!start) return Keyframe::None;
  const bool commands = !start->bends.empty() || !start->variable_lengths.empty();
  return commands ? Keyframe::PositionsAndCommands : Keyframe::Positions;
}

}  // namespace

int solver_iterations(const ContinuumDescription& robot) {
  return std::max(100, 4 * (drive_tendon_count(robot) + tendon_count(robot)));
}

void ContinuumDescription::write(MjcfDocument& mjcf,
                                 std::span<const std::string> quantities) const {
  mjcf.set_options(solver_iterations(*this),
                   integrator == Integrator::Discrete ? "discrete" : "implicitfast", timestep);
  mjcf.declare_robot();
  mjcf.keyframe = keyframe_of(start);
  ArmDocument arm(*this, mjcf);
  mjcf.add_controller(controller, arm.base, text, quantities);
  write_guide(arm);
  write_base(arm);
  write_chain(arm);
  write_disks(arm);
  write_immersion(arm);
  write_drives(arm);
  write_tendons(arm);
  write_chambers(arm);
  write_tendon_friction(arm);
  write_section_ends(arm);
  write_excludes(arm);
  for (const auto& part : parts) part->write(arm);
  write_arm_sensors(arm);
}

std::string continuum_mjcf(const ContinuumDescription& robot,
                           std::span<const std::string> sensors) {
  MjcfDocument mjcf("robot", robot.name);
  robot.write(mjcf, sensors);
  return mjcf.text();
}

}  // namespace tendril
