#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model/continuum/drives.hpp"
#include "tendril/model/continuum/taper.hpp"
#include "tendril/model/continuum/turning.hpp"

namespace tendril {

class Fields;

/// Most links of one section and of a whole robot. The second keeps the model below the 496 nested
/// bodies that MJCF text may have.
inline constexpr int kMaxLinksPerSection = 200;
inline constexpr int kMaxLinks = 400;

/// Physics of one section; the kinematics are in `SectionParameters`. The names are the keys of the
/// robot file (docs/reference/robot_file.md).
struct SectionPhysics {
  int links = 10;  ///< rigid links that represent the section, 1..200, one per sub-section at least
  Taper radius{0.008, 0.008};        ///< of the body [m], > 0
  Taper inner_radius;                ///< of a hollow one [m], >= 0, less than the other
  double mass = 0.07;                ///< [kg], > 0; homogeneous
  double bending_stiffness = 0.05;   ///< EI [N m^2], > 0; where it tapers, its harmonic mean
  double torsional_stiffness = 0.0;  ///< GJ [N m^2], > 0; 0: rigid in torsion; mean as above
  /// Fraction of the whole bend under one moment that each link, of equal lengths, takes where EI
  /// tapers, sum 1; else empty. The weights of the section's `SectionParameters` represent the same
  /// curve.
  std::vector<double> compliance;
  bool torsion_tapers = false;  ///< GJ in proportion to EI, else even
  /// Bend of the section when no moment acts on it, u and v (`bend_vector`) [rad].
  std::array<double, 2> natural_bend{};
  std::optional<Taper> backbone_radius;  ///< of the elastic rod in a body of disks, if given [m]
  std::optional<Disks> disks;            ///< of the picture
  std::vector<double> color;  ///< red, green, blue and, if there are four, opacity, in [0, 1]
  /// Properties of the material, where the file gives them: EI and mass are made of them [Pa],
  /// [kg/m^3].
  std::optional<double> youngs_modulus, density;
  double damping_time = 0.02;  ///< Kelvin-Voigt time: damping / stiffness of every joint [s], > 0
  double axial_stiffness = 2000.0;  ///< EA/L of the whole section, variable length only [N/m], > 0
  /// Length of the section that nothing stretches [m], variable length only; with a length servo,
  /// half of the range.
  double unloaded_length = 0.0;
  /// Drives of the bend, by default unless a tendon runs through the section, and of the variable
  /// length, by default unless a chamber acts on it; a section of fixed length has no drive of it.
  Drive bend = kBendServo, length_drive = kLengthServo;
  bool gives_way = false;        ///< `bend_servo = false` is in the file
  ServoDrive turn = kTurnServo;  ///< on the section's base, only of one that turns

  /// EI/L: the moment that bends the whole unloaded section by 1 rad [N m].
  [[nodiscard]] double bend_stiffness() const noexcept {
    return bending_stiffness / unloaded_length;
  }
};

/// Length of a straight section, variable lengths at half their range [m].
[[nodiscard]] double rest_length(const SectionParameters& section);

/// Fraction of a homogeneous section's volume between x0 and x1, fractions of its length.
[[nodiscard]] double volume_fraction(const SectionPhysics& physics, double x0, double x1) noexcept;

/// Axes about which the links of a section bend: 'x' for the coordinate v, 'y' for u; the hinges of
/// one axis sum to that coordinate.
[[nodiscard]] std::span<const char> bend_axes(const SectionParameters& section) noexcept;
/// Coordinates of the bend that the section has: 0 is u, 1 is v.
[[nodiscard]] std::span<const int> bend_directions(const SectionParameters& section) noexcept;
[[nodiscard]] inline int first_direction(const SectionParameters& section) noexcept {
  return bend_directions(section).front();
}

/// Reads the kinematics and the body of a table [[section]], all but its drives.
/// @param planar  the whole arm bends in the x-z plane
[[nodiscard]] std::pair<SectionParameters, SectionPhysics> read_section(const Fields& fields,
                                                                        bool planar);

}  // namespace tendril
