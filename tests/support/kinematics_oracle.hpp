#pragma once

#include <Eigen/Geometry>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril::test {

/// Largest difference of two poses' matrices, entry by entry.
inline double distance(const Eigen::Isometry3d& a, const Eigen::Isometry3d& b) {
  return (a.matrix() - b.matrix()).cwiseAbs().maxCoeff();
}

/// Forward kinematics by another derivation: the product (2.1), (2.6), (2.7) of [FABRIKx], one
/// rotation and one translation matrix per sub-section, from the weights themselves.
inline Eigen::Isometry3d oracle_section_pose(const Section& section, const SectionState& state) {
  using Eigen::AngleAxisd;
  using Eigen::Isometry3d;
  using Eigen::Vector3d;
  Isometry3d X = Isometry3d::Identity();
  X.rotate(AngleAxisd(state.phi, Vector3d::UnitZ()));
  for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
    const double S = section.length_weights()[j] * (section.length() + state.extension);
    const double theta = section.angle_weights()[j] * state.theta;
    const double half = std::sin(theta / 2.0);
    const Vector3d p = theta == 0.0
                           ? Vector3d(0.0, 0.0, S)
                           : Vector3d(2.0 * half * half / theta, 0.0, std::sin(theta) / theta) * S;
    X.translate(p);
    X.rotate(AngleAxisd(theta, Vector3d::UnitY()));
  }
  X.rotate(AngleAxisd(-state.phi, Vector3d::UnitZ()));
  return X;
}

inline Eigen::Isometry3d oracle_tip_pose(const ContinuumRobot& robot, SectionStates states,
                                         const BaseState& base = {}) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translate(Eigen::Vector3d(0.0, 0.0, base.feed));
  X.rotate(Eigen::AngleAxisd(base.spin, Eigen::Vector3d::UnitZ()));
  for (int i = 0; i < robot.section_count(); ++i)
    X = X * oracle_section_pose(robot.section(i), states[static_cast<std::size_t>(i)]);
  return X;
}

}  // namespace tendril::test
