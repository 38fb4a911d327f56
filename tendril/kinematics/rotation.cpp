#include "tendril/kinematics/rotation.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {

Eigen::Quaterniond rotation_between(const Eigen::Vector3d& from,
                                    const Eigen::Vector3d& to) noexcept {
  constexpr double kOpposite = 1e-12;
  const Eigen::Vector3d a = from.normalized(), b = to.normalized();
  const double c = std::max(b.dot(a), -1.0);
  Eigen::Quaterniond q;
  if (c < -1.0 + kOpposite) {
    const double w2 = 0.5 * (1.0 + c);
    q.w() = std::sqrt(w2);
    q.vec() = std::sqrt(1.0 - w2) * a.unitOrthogonal();
  } else {
    const double s = std::sqrt(2.0 * (1.0 + c));  // 2 cos of half the angle
    q.w() = 0.5 * s;
    q.vec() = a.cross(b) * (1.0 / s);
  }
  return q;
}

Eigen::Matrix3d rotation_by(const Eigen::Vector3d& vector) noexcept {
  const double angle = vector.norm();
  if (!(angle > 0.0)) return Eigen::Matrix3d::Identity();
  return Eigen::AngleAxisd(angle, vector / angle).toRotationMatrix();
}

Eigen::Vector3d rotation_vector(const Eigen::Matrix3d& R) noexcept {
  const Eigen::AngleAxisd rotation(R);
  return rotation.angle() * rotation.axis();
}

double rotation_angle(const Eigen::Matrix3d& from, const Eigen::Matrix3d& to) noexcept {
  const Eigen::Matrix3d R = from.transpose() * to;
  const Eigen::Vector3d twice_sine(R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1));
  return std::atan2(twice_sine.norm(), R.trace() - 1.0);
}

}  // namespace tendril
