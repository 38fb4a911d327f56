#include "tendril/kinematics/rotation.hpp"

namespace tendril {

Eigen::Quaterniond rotation_between(const Eigen::Vector3d& from,
                                    const Eigen::Vector3d& to) noexcept {
  return Eigen::Quaterniond::FromTwoVectors(from, to);
}

}  // namespace tendril
