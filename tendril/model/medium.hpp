#pragma once

#include <array>

namespace tendril {

class Fields;
class XmlNode;

/// The water or air around a robot; the names are the keys of the robot file. The coefficients are
/// those of a circular cylinder in Morison's equation.
struct Medium {
  double density = 1000.0;          ///< [kg/m^3], > 0
  double viscosity = 0.001;         ///< [Pa s], >= 0
  double drag = 1.1;                ///< C_d of the flow across, >= 0
  double friction = 0.02;           ///< C_f of the flow along, of the surface, >= 0
  double added_mass = 1.0;          ///< C_a across, >= 0
  std::array<double, 3> current{};  ///< velocity in the world [m/s]

  /// Mass of the fluid that a cylinder displaces [kg].
  [[nodiscard]] double displaced_mass(double radius, double length) const noexcept;
};

/// Reads the table [medium].
[[nodiscard]] Medium read_medium(const Fields& fields);

/// Sets the engine's options of the fluid.
void write_medium(const Medium& medium, XmlNode& option);

/// Makes a body, whose elements contain the mass of the fluid that moves along, as light as it is
/// in the fluid.
void write_buoyancy(const Medium& medium, double mass, double displaced_mass, XmlNode& body);

/// Adds an ellipsoid in a cylinder's place on which the engine's fluid forces act; it is neither
/// drawn nor touched. The cylinder begins at the body's origin along x or z.
/// Source: docs/theory/chain.md, "Medium". Tested by: medium_test.
void add_fluid_geom(const Medium& medium, double radius, double length, char axis, XmlNode& body);

}  // namespace tendril
