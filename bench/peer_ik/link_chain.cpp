#include "link_chain.hpp"

namespace tendril {

using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Translation3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

ContinuumRobot continuum_robot(const LinkChain& chain) {
  return ContinuumRobot(std::vector<SectionParameters>(
      static_cast<std::size_t>(chain.sections),
      {.length = chain.section_length, .bend_angle_limit = chain.bend_limit}));
}

Eigen::VectorXd hinge_angles(const LinkChain& chain, SectionStates states) {
  Eigen::VectorXd angles(chain.joints());
  for (int j = 0; j < chain.joints(); ++j) {
    const Vector2d uv = bend_vector(states[static_cast<std::size_t>(chain.section_of(j))]);
    angles[j] = (chain.about_x(j) ? -uv.y() : uv.x()) / chain.links;
  }
  return angles;
}

Isometry3d tip_pose(const LinkChain& chain, const Eigen::VectorXd& angles) {
  Isometry3d X = Isometry3d::Identity();
  for (int j = 0; j < chain.joints(); ++j) {
    const Vector3d axis = chain.about_x(j) ? Vector3d::UnitX() : Vector3d::UnitY();
    X = X * Translation3d(0, 0, chain.hinge_offset(j)) * AngleAxisd(angles[j], axis);
  }
  return X * Translation3d(0, 0, 0.5 * chain.link_length());
}

}  // namespace tendril
