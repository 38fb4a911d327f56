#pragma once

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// Options of the single-section solvers.
struct SectionIkOptions {
  int max_iterations = 50;           ///< >= 1
  double position_tolerance = 1e-9;  ///< [m], > 0
  double angle_tolerance = 1e-10;    ///< on the chord angle [rad], > 0
};

/// Answer of a single-section solve, in the bend plane.
struct SectionIkResult {
  double theta = 0.0;      ///< inside the limit at `extension` [rad]
  double extension = 0.0;  ///< in [0, SD] [m]
  PlanarPoint end;         ///< end point of the unit-length shape at `theta`
  int iterations = 0;      ///< passes that ran; 0 where the answer is known without one
  bool reached = false;    ///< by forward kinematics of the clamped answer, within the tolerances
};

/// Bend and length that put the section's end at the point (rho, z) of its bend plane, by Algorithm
/// I: theta = k alpha with the ratio k refreshed from the actual chord. With a fixed length the
/// chord points at the target and the distance is left to the caller. For one sub-section the first
/// pass is exact: theta = 2 alpha.
///
/// Every pass updates before it tests, so that the answer is one contraction better than the tested
/// one. Targets beyond the invertible chord angle get the largest invertible bend, clamped;
/// `reached` is then false.
///
/// Differs: (2.15) is printed as s n/n' - SC, which has no fixed point for SC > 0; the chord is
/// proportional to SC + s. Source: [FABRIKx] sec. 2.3.1, (2.9)-(2.17), (2.24)-(2.26), without base
/// shift. Held by: section_ik_test "Algorithm I follows the reference trace".
/// @param rho  >= 0, distance of the target from the section's base axis [m]
/// @param z    along the base axis [m]
[[nodiscard]] SectionIkResult solve_section_iterative(
    const Section& section, double rho, double z, const SectionIkOptions& options = {}) noexcept;

/// The same by safeguarded Newton steps on the chord angle; quadratic, and not slowed down near the
/// critical bend. Not in [FABRIKx]. For one sub-section the answer is exact at once.
/// @param theta_start  replaces the start 2 alpha when > 0, for instance by the previous answer
/// [rad]
[[nodiscard]] SectionIkResult solve_section_newton(const Section& section, double rho, double z,
                                                   const SectionIkOptions& options = {},
                                                   double theta_start = -1.0) noexcept;

}  // namespace tendril
