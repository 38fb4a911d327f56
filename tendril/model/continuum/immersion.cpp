#include "tendril/model/continuum/immersion.hpp"

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/chain.hpp"

namespace tendril {
namespace {

void immerse(const Medium& medium, const ArmDocument& arm, std::size_t k) {
  const std::array<HalfLink, 2> halves = halves_of_body(arm.links, k);
  XmlNode& body = *arm.bodies[k + 1];
  double mass = 0.0, displaced = 0.0;
  std::array<double, 2> added{};
  for (std::size_t i = 0; i < 2; ++i) {
    const double fluid = medium.displaced_mass(halves[i].radius, halves[i].length);
    added[i] = medium.added_mass * fluid;
    mass += halves[i].mass;
    displaced += fluid;
  }
  write_buoyancy(medium, mass, displaced, body);
  write_inertia(halves, added, body);
  add_fluid_geom(medium, arm.links[k].radius, length_to_next(arm.links, k), 'z', body);
}

}  // namespace

void write_immersion(ArmDocument& arm) {
  if (!arm.robot.medium) return;
  write_medium(*arm.robot.medium, arm.mjcf.option);
  for (std::size_t k = 0; k < arm.links.size(); ++k) immerse(*arm.robot.medium, arm, k);
}

}  // namespace tendril
