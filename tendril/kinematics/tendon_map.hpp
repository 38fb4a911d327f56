#pragma once

// Read continuum_robot.hpp first. The tensions for given moments: tension_distribution.hpp.

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <span>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// The path of a tendon, or of a pressure chamber, which acts likewise: along the backbone
/// from the base through all sections up to the one that it ends in. Its distance from the backbone
/// changes linearly from its beginning to its end, and so does its angle: then it is a helix.
struct TendonRoute {
  int section = 0;             ///< that it ends in, from 0
  double angle = 0.0;          ///< about the backbone where it begins, from x towards y [rad]
  double base_distance = 0.0;  ///< from the backbone where it begins [m], > 0
  double end_distance = 0.0;   ///< and at its end [m], > 0
  int first_section = 0;       ///< that it begins in, from 0: what is before it does not feel it
  double turn = 0.0;           ///< of the angle, from its beginning to its end [rad]

  [[nodiscard]] bool runs_through(int i) const noexcept {
    return first_section <= i && i <= section;
  }

  /// Distance from the backbone at `fraction` of the path, of lengths at rest, in [0, 1] [m].
  [[nodiscard]] double distance_at(double fraction) const noexcept {
    return base_distance + (end_distance - base_distance) * fraction;
  }
  [[nodiscard]] double angle_at(double fraction) const noexcept { return angle + turn * fraction; }
  /// Across the backbone, in the frame that is parallel to the base's in the straight robot [m].
  [[nodiscard]] Eigen::Vector2d offset_at(double fraction) const noexcept {
    const double a = angle_at(fraction);
    return distance_at(fraction) * Eigen::Vector2d(std::cos(a), std::sin(a));
  }
};

/// Lengths of tendons in terms of a robot's smooth coordinates q (ContinuumRobot), and their
/// transpose: the moments of tensions. Sections of constant curvature make both linear and exact:
///
///     dl_t = sum over sections i that it runs through of  ds_i - r_ti (u_i cos a_t + v_i sin a_t)
///     m = -(dl/dq)^T tension
///
/// with a_t the tendon's angle, r_ti its mean distance in section i weighted by the bend, ds_i the
/// change of the section's length from half of its variable range. Of a tendon that turns the mean
/// of r (cos a, sin a) cos b takes their place, b its inclination to the backbone: the moments are
/// those on the straight robot, and the lengths lack terms of second order in the bend.
///
/// Source: docs/theory/chain.md, "Tendons". Tested by: tendon_map_test.
class TendonMap {
 public:
  /// Throws ModelError naming the tendon, from 1, and the field outside its range.
  TendonMap(const ContinuumRobot& robot, std::span<const TendonRoute> tendons);

  [[nodiscard]] int tendon_count() const noexcept { return static_cast<int>(jacobian_.rows()); }
  /// dl/dq: tendons x coordinates [m/rad], [1].
  [[nodiscard]] const Eigen::MatrixXd& jacobian() const noexcept { return jacobian_; }
  /// Changes of length from the straight robot with variable lengths at half their range [m];
  /// negative: shorter. Allocates nothing if `lengths` has the right size.
  void lengths(const Eigen::VectorXd& q, Eigen::VectorXd& lengths) const noexcept;
  /// Generalized forces on q [N m], [N] of tensions [N] that pull; negative: that push.
  void moments(const Eigen::VectorXd& tensions, Eigen::VectorXd& moments) const noexcept;
  /// The inverse of `lengths`: the coordinates whose lengths come nearest, least squares; of those
  /// that do so, the ones nearest to the straight robot.
  void coordinates(const Eigen::VectorXd& lengths, Eigen::VectorXd& q) const noexcept;

 private:
  Eigen::MatrixXd jacobian_, inverse_;
  Eigen::VectorXd straight_;  // q
};

/// Part of the moments in the strong direction below which tendons do not bend in the other one:
/// two wires on opposite sides, whose angles are rounded, bend in one plane.
inline constexpr double kWeakDirection = 0.01;

/// Removes the moments of unit tensions in a direction that is weak, from those on u and v of one
/// section: 2 x tendons.
template <class Moments>
void drop_weak_direction(Moments&& moments) {
  const Eigen::Matrix2d gram = moments * moments.transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> strengths(gram);  // ascending
  if (strengths.eigenvalues()[0] >= kWeakDirection * kWeakDirection * strengths.eigenvalues()[1])
    return;
  const Eigen::Vector2d strong = strengths.eigenvectors().col(1);
  moments = (strong * (strong.transpose() * moments)).eval();
}

}  // namespace tendril
