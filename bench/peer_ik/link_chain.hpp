#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <string>
#include <vector>

#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// A robot of equal sections of constant curvature and fixed length as a chain of rigid links with
/// two hinges in the middle of each, about x and y. The order of the two alternates as xy, yx,
/// yx, xy, and the bend is distributed equally over the links of a section.
/// docs/theory/chain.md, "Two hinges per link".
struct LinkChain {
  int sections = 3;
  int links = 10;               ///< per section
  double section_length = 0.1;  ///< [m]
  double bend_limit = 1.745;    ///< of a section [rad]

  [[nodiscard]] int joints() const { return 2 * links * sections; }
  [[nodiscard]] double link_length() const { return section_length / links; }  ///< [m]
  [[nodiscard]] double hinge_limit() const { return bend_limit / links; }      ///< [rad]
  [[nodiscard]] double hinge_offset(int joint) const {  ///< along z from the previous joint [m]
    return joint == 0 ? 0.5 * link_length() : joint % 2 == 0 ? link_length() : 0.0;
  }
  [[nodiscard]] bool about_x(int joint) const {
    const int order = (joint / 2) % 4;
    return (order == 0 || order == 3) == (joint % 2 == 0);
  }
  [[nodiscard]] int section_of(int joint) const { return joint / (2 * links); }
};

/// The robot approximated by the chain.
[[nodiscard]] ContinuumRobot continuum_robot(const LinkChain& chain);

/// Hinge angles of the sections' states.
[[nodiscard]] Eigen::VectorXd hinge_angles(const LinkChain& chain, SectionStates states);

/// Tip pose of the chain by a product of transforms, to check the solutions of all peers.
[[nodiscard]] Eigen::Isometry3d tip_pose(const LinkChain& chain, const Eigen::VectorXd& angles);

/// Tolerances of all solvers.
inline constexpr double kPositionTolerance = 1e-5;  // [m]
inline constexpr double kAngleTolerance = 1e-3;     // [rad]

/// A general solver on the link chain.
struct Peer {
  std::string name;
  /// Solves from the given start angles; the solution replaces them.
  std::function<void(const TipTarget& target, Eigen::VectorXd& angles)> solve;
};

/// orocos KDL: Levenberg-Marquardt and Newton-Raphson with joint limits.
[[nodiscard]] std::vector<Peer> kdl_peers(const LinkChain& chain, TipTask task);

/// Pinocchio: damped least squares with its kinematics and Jacobians.
[[nodiscard]] std::vector<Peer> pinocchio_peers(const LinkChain& chain, TipTask task);

}  // namespace tendril
