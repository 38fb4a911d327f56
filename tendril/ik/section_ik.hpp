#pragma once

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// Options of the single-section solvers.
struct SectionIkOptions {
  int max_iterations = 50;
  double position_tolerance = 1e-9;  ///< [m], > 0
  double angle_tolerance = 1e-10;    ///< on the chord angle [rad], > 0
};

/// Answer of a single-section solve, in the bend plane.
struct SectionIkResult {
  double theta = 0.0;      ///< inside the limit at `extension` [rad]
  double extension = 0.0;  ///< in [0, SD] [m]
  int iterations = 0;
  bool reached = false;    ///< by forward kinematics of the clamped answer, within the tolerances
};

/// Bend and length that put the section's end at the point (rho, z) of its bend plane, by Algorithm I: theta = k alpha with
/// the ratio k refreshed from the actual chord. Update before test. With a fixed length the chord points at the target and
/// the distance is left to the caller. Source: [FABRIKx] sec. 2.3.1, (2.9)-(2.18), (2.24)-(2.26).
/// @param rho  >= 0, distance of the target from the section's base axis [m]
/// @param z    along the base axis [m]
[[nodiscard]] SectionIkResult solve_section_iterative(const Section& section, double rho, double z,
                                                      const SectionIkOptions& options = {}) noexcept;

/// The same by safeguarded Newton steps on the chord angle (quadratic; extension, spec 2.6). For one sub-section the
/// answer is exact at once. `theta_start` > 0 replaces the default start.
[[nodiscard]] SectionIkResult solve_section_newton(const Section& section, double rho, double z,
                                                   const SectionIkOptions& options = {},
                                                   double theta_start = -1.0) noexcept;

}  // namespace tendril
