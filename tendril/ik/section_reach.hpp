#pragma once

#include <cstdint>
#include <optional>

#include "tendril/ik/mapped_section.hpp"
#include "tendril/ik/published/section_polynomial.hpp"
#include "tendril/ik/section_ik.hpp"

namespace tendril {

/// Choice of the method that solves a single section of arcs.
enum class SectionSolve : std::uint8_t { Iterative, Newton, Polynomial };

/// A section in its bend plane, and the tangent links that stand for it.
struct PlacedSection {
  SectionBend bend;
  double feed = 0.0;  ///< base shift h of the solve [m]
  double x, z;        ///< end point [m]
  double cos_tangent, sin_tangent;
  double first, second;  ///< tangent links [m]
};

/// One section of a solver that goes from section to section: forward and inverse kinematics by the
/// method chosen, or by the user's map. A polynomial is fitted in the constructor; the functions
/// allocate nothing. For the sources of solvers.
class SectionReach {
 public:
  /// @param map    nothing: the arcs of the section
  /// @param index  of the section in messages, from 1
  SectionReach(const Section& section, SectionSolve method, const SectionIkOptions& options,
               const SectionMap& map, int index);

  /// The section with that bend, which is inside the limits.
  [[nodiscard]] PlacedSection place(const SectionBend& bend) const noexcept;
  /// The section with its end at (rho, z) of its bend plane [m], or as near as the method brings
  /// it, inside the limits. One arc without base shift is solved in closed form.
  /// @param from  the previous solution
  [[nodiscard]] PlacedSection reach(double rho, double z, const SectionBend& from) const noexcept;

  /// X_SE.
  [[nodiscard]] Eigen::Isometry3d end_pose(const SectionState& state) const noexcept;
  /// Angle by which the section can turn its tangent at a variable length [rad].
  [[nodiscard]] double largest_turn(double extension) const noexcept;

  /// The solve of a section of arcs, without its map.
  [[nodiscard]] SectionIkResult solve(double rho, double z, double theta_from) const noexcept;

 private:
  [[nodiscard]] PlacedSection reach_with_arc(double rho, double z) const noexcept;
  [[nodiscard]] PlacedSection placed(const SectionBend& bend,
                                     const SectionShape::End& end) const noexcept;
  [[nodiscard]] PlacedSection placed(const SectionBend& bend, const SectionEnd& end) const noexcept;

  Section section_;
  SectionShape shape_;
  SectionSolve method_;
  SectionIkOptions options_;
  std::optional<SectionPolynomial> polynomial_;
  std::optional<MappedSection> mapped_;
};

}  // namespace tendril
