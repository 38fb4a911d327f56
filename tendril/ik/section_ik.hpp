#pragma once

#include <limits>

#include "tendril/ik/section_shape.hpp"

namespace tendril {

/// Options of the single-section solvers.
struct SectionIkOptions {
  int max_iterations = 50;           ///< >= 1
  double position_tolerance = 1e-9;  ///< [m], > 0
  double angle_tolerance = 1e-10;    ///< on the chord angle [rad], > 0
  double feed_limit = 0.0;           ///< largest base shift hMax along z [m], >= 0; 0: fixed base
  /// Algorithm I moves the base by no more than this per pass [m], > 0.
  double max_feed_step = std::numeric_limits<double>::infinity();
};

/// Solution of a single-section solve, in the bend plane.
struct SectionIkResult {
  double theta = 0.0;      ///< inside the limit at `extension` [rad]
  double extension = 0.0;  ///< in [0, SD] [m]
  double feed = 0.0;       ///< base shift h, in [0, feed_limit] [m]
  SectionShape::End end;   ///< end point of the unit-length shape at `theta`, and its last tangent
  int iterations = 0;      ///< passes that ran; 0 where the solution is known without one
  bool reached = false;    ///< by forward kinematics of the clamped solution, within the tolerances
};

/// Bend and length that put the section's end at the point (rho, z) of its bend plane, by Algorithm
/// I: theta = k alpha with the ratio k refreshed from the actual chord. With a fixed length and the
/// base fixed the chord points at the target and the distance is left to the caller. For one
/// sub-section the first pass is exact: theta = 2 alpha.
///
/// With `feed_limit` > 0 the base shifts along z as far as the section's length range falls short:
/// the surface that the end can reach is replaced by the plane through it and perpendicular to the
/// chord, and the base moves until the target lies in that plane. Fails where the solution lies
/// past the largest lateral offset of the shape; `solve_section_with_feed` does not.
///
/// Every pass updates before it tests, so that the solution is one contraction better than the
/// tested one. Targets outside the invertible chord angle get the largest invertible bend, clamped;
/// `reached` is then false.
///
/// Differs: (2.15) and (2.19) are repaired, h is clamped in the loop, and the loop continues while
/// the bend itself is still off by more than the position tolerance, which next to the critical
/// bend it can be when the chord is not; docs/theory/ik.md, "Algorithm I" and "Base
/// shift". Source: [FABRIKx] sec. 2.3.1, (2.9)-(2.27). Tested by: section_ik_test "Algorithm I
/// follows the reference trace".
/// @param rho  >= 0, distance of the target from the section's base axis [m]
/// @param z    along the base axis, from the base at h = 0 [m]
[[nodiscard]] SectionIkResult solve_section_iterative(
    const SectionShape& shape, double rho, double z, const SectionIkOptions& options = {}) noexcept;

/// The same by bracketed Newton steps on the chord angle; quadratic, and not slowed down near the
/// critical bend. Not in [FABRIKx]. For one sub-section the first step is exact. The base
/// remains fixed whatever `feed_limit` says.
/// @param theta_start  > 0: start [rad], for instance the previous solution; otherwise the start is
///                     interpolated between the small-bend limit and the largest invertible bend
[[nodiscard]] SectionIkResult solve_section_newton(const SectionShape& shape, double rho, double z,
                                                   const SectionIkOptions& options = {},
                                                   double theta_start = -1.0) noexcept;

/// Exact solve with base shift, for every type of section: the smallest feed in [0, feed_limit]
/// (and with it the smallest bend) that lets the end reach the target inside all limits. Finds it
/// wherever it exists, at the price of up to about a hundred evaluations of the shape; without need
/// of a feed the solution is that of `solve_section_newton`. Unreachable targets get the pose of
/// least lateral miss, `reached` false. Not in [FABRIKx]; docs/theory/ik.md, "Base shift".
/// Tested by: section_ik_test "the exact base shift finds every generated target".
[[nodiscard]] SectionIkResult solve_section_with_feed(
    const SectionShape& shape, double rho, double z, const SectionIkOptions& options = {}) noexcept;

/// The solution for a bend known from the chord angle of the target: the length that puts the end
/// at the target's distance, then the limits, then the comparison with the target. (2.24)-(2.26)
[[nodiscard]] SectionIkResult section_solution_at(const SectionShape& shape, double rho, double z,
                                                  double theta, int iterations,
                                                  const SectionIkOptions& options) noexcept;

}  // namespace tendril
