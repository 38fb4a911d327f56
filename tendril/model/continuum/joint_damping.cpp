#include "tendril/model/continuum/joint_damping.hpp"

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/xml_node.hpp"

namespace tendril {
namespace {

const SectionPhysics& physics_of(const ContinuumDescription& robot, const Link& link) {
  return robot.physics[static_cast<std::size_t>(link.section - 1)];
}

/// Damping of a drive's servo, inside and outside its force limit.
double servo_damping(const ContinuumDescription& robot, const Drive& drive) {
  const auto* const servo = std::get_if<ServoDrive>(&drive);
  return servo ? robot.written_damping_time(servo->damping_time) * servo->gain : 0.0;
}

}  // namespace

double damping_at_hinge(const ContinuumDescription& robot, const Link& link) {
  const double fraction = robot.compliance == Compliance::Link ? link.bend_fraction : 1.0;
  return link.damping_time * link.hinge_stiffness +
         servo_damping(robot, physics_of(robot, link).bend) / fraction;
}

double damping_at_slide(const ContinuumDescription& robot, const Link& link) {
  return link.damping_time * link.axial_stiffness +
         servo_damping(robot, physics_of(robot, link).length_drive);
}

void write_armature(const ContinuumDescription& robot, double damping, XmlNode& joint) {
  if (robot.integrator == Integrator::ImplicitFast) joint.set("armature", robot.timestep * damping);
}

}  // namespace tendril
