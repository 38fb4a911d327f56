#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// The planar shape of one section as a power series: what the single-section solvers work with.
/// Built once per section, at the price of about a hundred evaluations of `Section::end_point`;
/// afterwards one evaluation costs the same for any number of sub-sections. Holds numbers only, no
/// reference to the section. Angles in rad, lengths in m; theta in [0, bend_angle_limit].
///
/// Relative to the middle tangent, at angle phi = theta/2, the tangent of the shape rotates from
/// -phi to phi, and its end lies at (D, C):
///
///     C = sum_n m_(2n) (-1)^n phi^(2n) / (2n)!,   D = sum_n m_(2n+1) (-1)^n phi^(2n+1) / (2n+1)!
///     X = C sin(phi) + D cos(phi),   Z = C cos(phi) - D sin(phi),   alpha = phi + atan2(D, C)
///
/// m_n are the moments of the tangent angle over the arc length. docs/theory/kinematics.md,
/// "Planar shape as a series". Not in [FABRIKx]. Tested by: section_ik_test "the series is the
/// planar shape".
class SectionShape {
 public:
  explicit SectionShape(const Section& section);

  /// Chord angle alpha and chord length c for total length 1.
  struct Chord {
    double angle = 0.0;       ///< in (-pi/2, 3 pi/2), without a jump at pi
    double ratio = 1.0;       ///< c
    double angle_rate = 0.5;  ///< dalpha/dtheta; only from `chord_with_rate`
  };
  [[nodiscard]] Chord chord(double theta) const noexcept;
  [[nodiscard]] Chord chord_with_rate(double theta) const noexcept;

  /// End point for total length 1 and direction of the last tangent.
  struct End {
    double x = 0.0, z = 0.0;
    double cos_theta = 1.0, sin_theta = 0.0;
  };
  [[nodiscard]] End end(double theta) const noexcept;

  // As in `Section`.
  [[nodiscard]] double length() const noexcept { return length_; }
  [[nodiscard]] double variable_length() const noexcept { return variable_length_; }
  [[nodiscard]] double max_length() const noexcept { return length_ + variable_length_; }
  [[nodiscard]] bool is_extensible() const noexcept { return variable_length_ > 0.0; }
  [[nodiscard]] double bend_angle_limit() const noexcept { return bend_angle_limit_; }
  [[nodiscard]] double bend_angle_limit_at(double extension) const noexcept {
    return is_extensible() ? bend_angle_limit_ * (extension / variable_length_) : bend_angle_limit_;
  }
  [[nodiscard]] double small_bend_chord_ratio() const noexcept { return kappa0_; }
  [[nodiscard]] double invertible_bend_angle() const noexcept { return theta_inv_; }
  [[nodiscard]] double invertible_chord_angle() const noexcept { return alpha_inv_; }
  [[nodiscard]] bool is_single_arc() const noexcept { return is_single_arc_; }

 private:
  // Orders in phi^2: the truncation is below 1e-17 for phi up to pi/2 and up to pi.
  static constexpr int kOrder = 11, kFullOrder = 15;
  using Pair = Eigen::Array2d;  // (C, D/phi)
  template <int kCount>
  [[nodiscard]] Pair series(const std::array<Pair, kFullOrder + 1>& c, double t) const noexcept;
  [[nodiscard]] Pair value(double phi) const noexcept;

  double length_, variable_length_, bend_angle_limit_, kappa0_, theta_inv_, alpha_inv_;
  bool is_single_arc_;
  std::array<Pair, kFullOrder + 1> value_, rate_;  // of phi^2; rate_: d/d(phi^2)
};

}  // namespace tendril
