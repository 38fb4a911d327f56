#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tendril {

/// How a section bends in space: the two angles of (1.3), (2.6).
enum class SectionRotation : std::uint8_t {
  Bending,  ///< in every plane, without turning: omega
  Turning,  ///< in one plane of its own, which turns with the section on its base: phi
};

/// Planes through the axis of a section in which it bends.
enum class BendPlane : std::uint8_t {
  Any,  ///< all of them
  XZ,   ///< u alone, v = 0
  YZ,   ///< v alone, u = 0
};

/// Parameters of one continuum section, as a user gives them; `Section` is the validated form.
/// Fixed length: `variable_length = 0`. Telescopic: `length = 0`. Variable length: both positive.
struct SectionParameters {
  double length = 0.0;           ///< constant part SC of the length [m], >= 0
  double variable_length = 0.0;  ///< largest variable part SD of the length [m], >= 0
  double bend_angle_limit =
      3.141592653589793;  ///< thetaMax [rad], in (0, 2 pi]; at full variable length
  std::vector<double>
      length_weights{};  ///< W_j > 0 of the sub-sections, only ratios matter; empty: one
  std::vector<double> angle_weights{};  ///< w_j >= 0, same count, sum > 0; empty: one
  SectionRotation rotation = SectionRotation::Bending;
  BendPlane bend_plane = BendPlane::Any;  ///< of its base frame; one that turns bends in any
};

/// Configuration of one section: bend angle, bend direction, current variable length.
/// Bending in direction phi = 0 leans the end towards +x: a positive rotation about y. The
/// direction is that in the frame which the sections before carry without twist, also where
/// sections turn; `tendril/kinematics/turning.hpp` converts it to the angle by which a section has
/// turned.
struct SectionState {
  double theta = 0.0;      ///< bend angle between first and last tangent [rad], in [0, limit]
  double phi = 0.0;        ///< bend direction in the xy-plane of the section's base, from x [rad]
  double extension = 0.0;  ///< current variable length s [m], in [0, SD]; the length is SC + s
};

using SectionStates = std::span<const SectionState>;

/// Smooth coordinates of a section's bend: u = theta cos(phi), v = theta sin(phi) [rad].
[[nodiscard]] inline Eigen::Vector2d bend_vector(const SectionState& state) noexcept {
  return {state.theta * std::cos(state.phi), state.theta * std::sin(state.phi)};
}

/// The state with bend vector (u, v) [rad] and variable length `extension` [m].
/// Below 1e-12 rad the direction is undetermined and `phi_if_straight` is kept.
[[nodiscard]] SectionState state_from_bend_vector(double u, double v, double extension,
                                                  double phi_if_straight = 0.0) noexcept;

/// A point of the unit-length planar shape of a section, with derivatives with respect to theta.
/// In the bend plane: x towards the bend, z along the base tangent.
/// docs/theory/kinematics.md, "Planar shape of a section".
struct PlanarPoint {
  double x = 0.0, z = 0.0;     ///< for total length 1
  double dx = 0.0, dz = 0.0;   ///< d/dtheta
  double tangent_ratio = 1.0;  ///< tangent angle at the point divided by theta (1 at the end)
  double cos_tangent = 1.0, sin_tangent = 0.0;  ///< of the tangent angle at the point
};

/// Part of its full length that the body of a telescopic section keeps.
inline constexpr double kShortestTelescope = 0.01;

/// One continuum section with its sub-sections: the length parameters, the bend limits and the
/// planar shape. Immutable after construction; every function is noexcept and allocates nothing.
///
/// Source: [FABRIKx] sec. 2.1-2.2. Tested by: tests/kinematics/section_test.cpp.
class Section {
 public:
  /// Throws ModelError naming the field when a parameter is outside its range. `index` only serves
  /// the message (1-based).
  explicit Section(const SectionParameters& parameters, int index = 1);

  /// What it was made of, with normalized weights.
  [[nodiscard]] SectionParameters parameters() const;

  [[nodiscard]] double length() const noexcept { return length_; }                    ///< SC [m]
  [[nodiscard]] double variable_length() const noexcept { return variable_length_; }  ///< SD [m]
  [[nodiscard]] double max_length() const noexcept { return length_ + variable_length_; }
  /// Variable length of a retracted section [m]: 0, or kShortestTelescope of SD without a constant
  /// part, since a body does not vanish.
  [[nodiscard]] double retracted() const noexcept {
    return length_ > 0.0 ? 0.0 : kShortestTelescope * variable_length_;
  }
  [[nodiscard]] bool is_extensible() const noexcept { return variable_length_ > 0.0; }
  [[nodiscard]] bool turns() const noexcept { return rotation_ == SectionRotation::Turning; }
  [[nodiscard]] BendPlane bend_plane() const noexcept { return bend_plane_; }
  /// Whether the section has the bends u and v.
  [[nodiscard]] bool bends_u() const noexcept { return bend_plane_ != BendPlane::YZ; }
  [[nodiscard]] bool bends_v() const noexcept { return bend_plane_ != BendPlane::XZ; }
  [[nodiscard]] double bend_angle_limit() const noexcept {
    return bend_angle_limit_;
  }  ///< thetaMax [rad]

  /// Bend limit at variable length `extension`: thetaMax s / SD, or thetaMax for a fixed length.
  /// (2.5), (2.25)
  [[nodiscard]] double bend_angle_limit_at(double extension) const noexcept;

  /// Number of smooth coordinates: u, v and, if extensible, s.
  [[nodiscard]] int coordinate_count() const noexcept { return is_extensible() ? 3 : 2; }

  /// Normalized weights (sum 1), one per sub-section.
  [[nodiscard]] std::span<const double> length_weights() const noexcept { return length_weights_; }
  [[nodiscard]] std::span<const double> angle_weights() const noexcept { return angle_weights_; }

  /// End point of the unit-length shape, (X, Z) and (X', Z'). Smooth through theta = 0, any sign of
  /// theta.
  ///
  ///     X = sum_j W_j sinc(y_j) sin(mid_j),  Z = sum_j W_j sinc(y_j) cos(mid_j)
  ///     y_j = w_j theta / 2,  mid_j = theta sum_{m<j} w_m + y_j
  ///
  /// Source: the product (2.1) of [FABRIKx]; docs/theory/kinematics.md, "Planar shape of a
  /// section". Tested by: section_test "the closed form equals the product of the sub-section
  /// matrices".
  [[nodiscard]] PlanarPoint end_point(double theta) const noexcept;

  /// Point at `fraction` of the section's arc length, for total length 1; `fraction` is clamped to
  /// [0, 1]. Inside a sub-section the sub-section is an arc of constant curvature.
  [[nodiscard]] PlanarPoint point_at(double theta, double fraction) const noexcept;

  /// kappa0 = lim alpha/theta for theta -> 0, alpha being the chord angle; 1/2 for constant
  /// curvature. docs/theory/kinematics.md, "Small-bend limit".
  [[nodiscard]] double small_bend_chord_ratio() const noexcept { return kappa0_; }

  /// End of the interval on which the chord angle determines theta: min(thetaMax, first stationary
  /// point of the chord angle, first theta at which it reaches pi). [rad]
  [[nodiscard]] double invertible_bend_angle() const noexcept { return theta_inv_; }
  [[nodiscard]] double invertible_chord_angle() const noexcept { return alpha_inv_; }

 private:
  double length_, variable_length_, bend_angle_limit_;
  SectionRotation rotation_;
  BendPlane bend_plane_;
  std::vector<double> length_weights_, angle_weights_;
  double kappa0_ = 0.5, theta_inv_ = 0.0, alpha_inv_ = 0.0;
};

/// Chord angle alpha in (-pi, pi] and chord length per unit length of the section bent by theta.
/// Source: [FABRIKx] sec. 2.3.1; docs/theory/kinematics.md, "Chord".
struct Chord {
  double angle = 0.0;       ///< alpha = atan2(X, Z) [rad]
  double ratio = 1.0;       ///< c = hypot(X, Z)
  double angle_rate = 0.5;  ///< dalpha/dtheta; 0 where the chord vanishes
};
[[nodiscard]] Chord chord(const Section& section, double theta) noexcept;

/// Pose of the section's end in the frame of its start, X_SE: R = Rz(phi) Ry(theta) Rz(-phi), p = S
/// (X cos phi, X sin phi, Z). The backbone leaves S along +z. The frame does not twist: phi = const
/// along a robot is a planar robot. A section that turns has this frame too: what its turn adds to
/// the phi of the sections after it, (2.6), is in `tendril/kinematics/turning.hpp`. Tested by:
/// section_test "two halves compose to the whole".
[[nodiscard]] Eigen::Isometry3d section_end_pose(const Section& section,
                                                 const SectionState& state) noexcept;

/// Pose of the backbone at `fraction` in [0, 1] of the section's arc length, in the frame of its
/// start.
[[nodiscard]] Eigen::Isometry3d section_pose_at(const Section& section, const SectionState& state,
                                                double fraction) noexcept;

}  // namespace tendril
