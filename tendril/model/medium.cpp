#include "tendril/model/medium.hpp"

#include <cmath>
#include <numbers>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model/xml_node.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;

constexpr KeyInfo kKeys[]{
    {"density", "kg/m^3", "of the fluid"},
    {"viscosity", "Pa s", "linear drag, which matters only in thick liquids"},
    {"drag", "", "coefficient C_d of the flow across a link"},
    {"friction", "", "coefficient C_f of the flow along a link"},
    {"added_mass", "",
     "coefficient C_a: fluid that moves with a link over the fluid that it displaces"},
    {"current", "m/s", "velocity of the fluid in the world", "`[0, 0, 0]`"}};

/// Added mass of an ellipsoid of revolution moving across its axis, over the fluid's in its place.
/// @param aspect  of the axis to the diameter; 1 for less
/// Source: Lamb, Hydrodynamics, art. 114.
double added_mass_across(double aspect) {
  if (aspect < 1.001) return 0.5;  // of a sphere
  const double e2 = 1.0 - 1.0 / (aspect * aspect), e = std::sqrt(e2);
  const double beta = 1.0 / e2 - (1.0 - e2) / (2.0 * e * e2) * std::log((1.0 + e) / (1.0 - e));
  return beta / (2.0 - beta);
}

}  // namespace

double Medium::displaced_mass(double radius, double length) const noexcept {
  return density * kPi * radius * radius * length;
}

Medium read_medium(const Fields& fields) {
  fields.refuse_unknown(kKeys);
  Medium medium;
  medium.density = fields.number("density", medium.density, kPositiveNumber);
  medium.viscosity = fields.number("viscosity", medium.viscosity, kNotNegativeNumber);
  medium.drag = fields.number("drag", medium.drag, kNotNegativeNumber);
  medium.friction = fields.number("friction", medium.friction, kNotNegativeNumber);
  medium.added_mass = fields.number("added_mass", medium.added_mass, kNotNegativeNumber);
  if (const auto current = fields.vector("current")) {
    for (std::size_t i = 0; i < 3; ++i)
      medium.current[i] = (*current)[static_cast<Eigen::Index>(i)];
  }
  return medium;
}

void write_medium(const Medium& medium, XmlNode& option) {
  option.set("density", medium.density).set("viscosity", medium.viscosity);
  if (medium.current != std::array<double, 3>{})
    option.set("wind", std::span<const double>(medium.current));
}

void write_buoyancy(const Medium& medium, double mass, double displaced_mass, XmlNode& body) {
  // Weight in the fluid over the weight that the engine gives the body with the added mass is 1
  // minus this.
  const double added = medium.added_mass * displaced_mass;
  body.set("gravcomp", (displaced_mass + added) / (mass + added));
}

void add_fluid_geom(const Medium& medium, double radius, double length, char axis, XmlNode& body) {
  const double half = length / 2.0;
  // The engine's drag on the ellipsoid across its axis and along it, and its torque, are those of
  // the cylinder. Nothing flows around the ends of a link: along it there is only friction.
  const double across = 2.0 * medium.drag / kPi;
  const double area = radius * (half - radius);
  const double along =
      area > 0.0 ? (medium.friction * radius * length - across * radius * radius) / area : 0.0;
  const double turning = 15.0 * medium.drag / (16.0 * kPi);
  const double magnus = added_mass_across(half / radius);
  XmlNode& geom = body.add("geom", {{"type", "ellipsoid"},
                                    {"mass", 0},
                                    {"contype", 0},
                                    {"conaffinity", 0},
                                    {"group", 4},
                                    {"fluidshape", "ellipsoid"},
                                    {"fluidcoef", {across, along, turning, 1.0, magnus}}});
  if (axis == 'x')
    geom.set("pos", {half, 0, 0}).set("size", {half, radius, radius});
  else
    geom.set("pos", {0, 0, half}).set("size", {radius, radius, half});
}

}  // namespace tendril
