#pragma once

#include <array>

namespace tendril {

/// The water or air around a robot; the names are the keys of the robot file. The coefficients are
/// those of a circular cylinder in Morison's equation.
struct Medium {
  double density = 1000.0;          ///< [kg/m^3], > 0
  double viscosity = 0.001;         ///< [Pa s], >= 0
  double drag = 1.1;                ///< C_d of the flow across, >= 0
  double friction = 0.02;           ///< C_f of the flow along, of the surface, >= 0
  double added_mass = 1.0;          ///< C_a across, >= 0
  std::array<double, 3> current{};  ///< velocity in the world [m/s]
};

}  // namespace tendril
