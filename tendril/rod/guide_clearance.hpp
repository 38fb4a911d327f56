#pragma once

namespace tendril {

/// Rotation of an elastic body in the clearance of the straight guide that it leaves. Inside, the
/// body is passive and is held in the middle `length` behind the exit, along the guide. Everything
/// is over its bending stiffness EI.
///
/// A moment M at the exit first bends the body in the guide, then presses it to one wall at the
/// exit, then also to the other wall a distance b behind it:
///
///     psi = M l                      up to psi = 2 c/l
///     psi = M l/4 + 3 c/(2 l)        up to the second contact
///     psi = 6 c/b - 3 c b/(l - b)^2,   M = 12 c/b^2 - 12 c/(l - b)^2
///
/// so that psi = sqrt(3 c M) in a long guide, whatever the shear force. The sideways motion of the
/// exit, at most c, is left out. docs/theory/elastic.md, "Guide". Extension, not in the
/// sources.
struct GuideClearance {
  double clearance = 0.0;  ///< c, on each side [m], >= 0; 0: no rotation, whatever the moment
  double length = 0.15;    ///< l [m], > 0

  struct Response {
    double energy = 0.0;     ///< U [1/m]
    double moment = 0.0;     ///< dU/dpsi [1/m]
    double stiffness = 0.0;  ///< d2U/dpsi2 [1/(m rad)], > 0 with clearance
  };
  /// Returns the response at an exit angle psi [rad]; zero without clearance.
  [[nodiscard]] Response at(double angle) const noexcept;
};

}  // namespace tendril
