#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <limits>
#include <span>
#include <string>

namespace tendril {

/// Pose of a section's end in its bend plane, seen from the section's base: x towards the bend, z
/// along the base tangent.
struct SectionEnd {
  double x = 0.0, z = 0.0;  ///< [m]
  double tangent = 0.0;     ///< angle of the last tangent from z towards x [rad]
};

/// Pose of that end in space, X_SE, for the bend direction `phi` [rad]: R = Rz(phi) Ry(tangent)
/// Rz(-phi), p = (x cos phi, x sin phi, z), as `section_end_pose` of a Section.
[[nodiscard]] Eigen::Isometry3d section_end_pose(const SectionEnd& end, double phi) noexcept;

/// What a section does in its bend plane.
struct SectionBend {
  double theta = 0.0;      ///< bend, in [0, limit] [rad]
  double extension = 0.0;  ///< variable length s, in [0, SD] [m]
};

/// A section's kinematics as its user knows them, in place of the arcs of `Section`: FABRIKx takes
/// one for each section. `theta` is then whatever number in [0, bend_angle_limit] the user commands
/// the bend with; only at 0 the section is straight (x = 0, tangent = 0).
///
/// The functions are called by `solve`: they must not throw or allocate, `forward` returns numbers
/// (a solve to which it gives NaN does not converge), and several threads may call them at once.
/// Source: [FABRIKx] sec. 2.3.2, "the solutions of forward and inverse kinematics of one section
/// may be exchanged". Tested by: section_map_test.
struct SectionMap {
  /// The end for a bend [rad] and a variable length [m]; nothing: the arcs of the section.
  std::function<SectionEnd(double theta, double extension)> forward = {};
  /// The bend whose end is at (rho, z) of the bend plane [m], rho >= 0, or near it if there is
  /// none. Clamped to the limits, and passed over if not finite. Nothing: the bend whose chord
  /// points at (rho, z), found from `forward`; for sections of fixed length whose chord angle grows
  /// with the bend.
  std::function<SectionBend(double rho, double z)> inverse = {};
  double largest_bend = std::numeric_limits<double>::infinity();  ///< of the bend limit [rad]

  [[nodiscard]] bool is_given() const noexcept { return static_cast<bool>(forward); }
};

/// One measured pose of a section of fixed length.
struct SectionPose {
  double theta = 0.0;  ///< bend that was commanded [rad]
  SectionEnd end;
};

/// The map of measured poses: between two rows a cubic with the slopes of parabolas through three
/// rows. Continuous with its derivative; a bend past the last row has the pose of that row.
/// The first row must be the straight section (theta, x and tangent 0), theta and chord angle grow
/// from row to row. Throws ModelError `<name>: row 3: x = nan m, must be finite`.
/// @param rows  at least kFewestPoses
/// @param name  of the table in messages, e.g. its file
[[nodiscard]] SectionMap section_table(std::span<const SectionPose> rows,
                                       const std::string& name = "section table");
inline constexpr int kFewestPoses = 4;

/// Angle of the chord to (x, z), from z towards x, in [-pi/2, 3 pi/2) without a jump at pi [rad].
[[nodiscard]] double chord_angle(double x, double z) noexcept;

}  // namespace tendril
