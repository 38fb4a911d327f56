#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// The functions of t = theta^2 that make up the map of one section in the smooth coordinates (u,
/// v, s), at one t. All of them are smooth through t = 0.
struct BendValues {
  double sine;     ///< sin(theta) / theta
  double versine;  ///< (1 - cos(theta)) / theta^2
  double residue;  ///< (theta - sin(theta)) / theta^3
  double x, z;     ///< X / theta and Z of the unit-length end point
  double dx, dz;   ///< d(X / theta)/dt and dZ/dt
};

/// The map of one section without trigonometric functions, square roots or divisions: polynomials
/// of t = theta^2 on [0, thetaMax^2], whose degree is chosen so that they are exact to rounding.
/// Several times faster than `Section::end_point`, above all with sub-sections.
///
/// With r(t) = (theta - sin theta) / theta^3 and c(t) = (cos theta - 1 + theta^2/2) / theta^4
///
///     sin theta / theta = 1 - t r,   (1 - cos theta) / theta^2 = 1/2 - t c,
///     d/dt (sin theta / theta) = (r - (1 - cos theta) / theta^2) / 2,
///     d/dt ((1 - cos theta) / theta^2) = c - r / 2,
///
/// so that for one arc r and c are all that is needed. docs/theory/kinematics.md, "The section map
/// without trigonometry". Tested by: bend_functions_test.
class BendFunctions {
 public:
  explicit BendFunctions(const Section& section);

  /// @param t  theta^2 [rad^2], in [0, thetaMax^2]
  [[nodiscard]] BendValues at(double t) const noexcept;

  [[nodiscard]] int degree() const noexcept { return degree_; }

 private:
  [[nodiscard]] BendValues of_arc(double t, double r, double c) const noexcept;

  static constexpr int kLanes = 6;  // r, c, X / theta, Z and the derivatives of the last two
  bool is_arc_;
  int degree_ = 0;
  double scale_;                      // x = scale t - 1 in [-1, 1]
  std::vector<double> coefficients_;  // of x^degree first; 2 lanes for one arc, else 6
};

inline BendValues BendFunctions::of_arc(double t, double r, double c) const noexcept {
  const double sine = 1.0 - t * r;
  const double versine = 0.5 - t * c;
  return {.sine = sine,
          .versine = versine,
          .residue = r,
          .x = versine,
          .z = sine,
          .dx = c - 0.5 * r,
          .dz = 0.5 * (r - versine)};
}

inline BendValues BendFunctions::at(double t) const noexcept {
  const double x = scale_ * t - 1.0;
  const double* coefficient = coefficients_.data();
  if (is_arc_) {
    double r = coefficient[0], c = coefficient[1];
    for (int j = 0; j < degree_; ++j) {
      coefficient += 2;
      r = r * x + coefficient[0];
      c = c * x + coefficient[1];
    }
    return of_arc(t, r, c);
  }
  std::array<double, kLanes> value;
  std::copy_n(coefficient, kLanes, value.begin());
  for (int j = 0; j < degree_; ++j) {
    coefficient += kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      value[lane] = value[lane] * x + coefficient[lane];
  }
  BendValues values = of_arc(t, value[0], value[1]);
  values.x = value[2];
  values.z = value[3];
  values.dx = value[4];
  values.dz = value[5];
  return values;
}

}  // namespace tendril
