#pragma once

#include <Eigen/Core>
#include <vector>

namespace tendril {

/// Motion of a robot whose drives do not move every coordinate (ContinuumRobot) both ways by
/// itself:
///
///     q = q0 + B u,   low <= u <= high,
///
/// where q0 is what the body does: passive sections, and bends that no tendon makes. A servo moves
/// one coordinate, a tendon those of all sections that it bends, in proportion to their compliance.
/// Default: the drives move everything, q = u. Source: docs/theory/control.md, "Arms that are
/// driven in part".
struct Actuation {
  Eigen::MatrixXd directions;     ///< B: coordinates x drives, columns of norm 1 [rad], [m]
  Eigen::VectorXd low, high;      ///< limits of u, as q
  Eigen::MatrixXd driven;         ///< D, D D = D: the part of q that drives hold against the body
  Eigen::VectorXd rest;           ///< of the body without drives and gravity; 0 where a servo is
  Eigen::VectorXd compliance;     ///< of the body [rad/(N m)], [m/N]; 0 with a servo or no joints
  std::vector<bool> independent;  ///< coordinates that drives move both ways by themselves

  [[nodiscard]] bool moves_all() const noexcept { return driven.size() == 0; }
  /// Returns whether the robot has joints for a coordinate: a section may bend in one plane alone.
  [[nodiscard]] bool has_joints(Eigen::Index coordinate) const {
    return compliance[coordinate] > 0.0 || driven(coordinate, coordinate) > 0.0;
  }
  /// Returns the orthogonal projector on the directions, B B^+.
  [[nodiscard]] Eigen::MatrixXd projector() const;
};

/// Of a robot whose drives move everything.
inline const Actuation kMovesAll;

}  // namespace tendril
