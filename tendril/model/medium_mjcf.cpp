#include "tendril/model/medium_mjcf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/model/mjcf_writer.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;

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

Medium read_medium(const Fields& fields) {
  fields.refuse_unknown({"density", "viscosity", "drag", "friction", "added_mass", "current"});
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

double displaced_mass(const Medium& medium, double radius, double length) noexcept {
  return medium.density * kPi * radius * radius * length;
}

double buoyancy(const Medium& medium, double mass, double displaced) noexcept {
  const double added = medium.added_mass * displaced;
  return (displaced + added) / (mass + added);
}

std::string fluid_geom(const Medium& medium, double radius, double length, bool along_z) {
  const double half = length / 2.0;
  // The engine's drag on the ellipsoid across its axis and along it, and its torque, are those of
  // the cylinder. Nothing flows around the ends of a link: along it there is only friction.
  const double across = 2.0 * medium.drag / kPi;
  const double area = radius * (half - radius);
  const double along =
      area > 0.0 ? (medium.friction * radius * length - across * radius * radius) / area : 0.0;
  const double turning = 15.0 * medium.drag / (16.0 * kPi);
  const double magnus = added_mass_across(half / radius);
  return fmt::format(
      "type=\"ellipsoid\" size=\"{}\" mass=\"0\" contype=\"0\" conaffinity=\"0\" group=\"4\" "
      "fluidshape=\"ellipsoid\" fluidcoef=\"{} {} {} 1 {}\"",
      along_z ? fmt::format("{0} {0} {1}", number_text(radius), number_text(half))
              : fmt::format("{1} {0} {0}", number_text(radius), number_text(half)),
      number_text(across), number_text(along), number_text(turning), number_text(magnus));
}

std::string fluid_options(const Medium& medium) {
  std::string options = fmt::format(" density=\"{}\" viscosity=\"{}\"", number_text(medium.density),
                                    number_text(medium.viscosity));
  if (medium.current != std::array<double, 3>{}) {
    options += fmt::format(" wind=\"{} {} {}\"", number_text(medium.current[0]),
                           number_text(medium.current[1]), number_text(medium.current[2]));
  }
  return options;
}

}  // namespace tendril
