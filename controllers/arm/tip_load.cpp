#include "controllers/arm/tip_load.hpp"

#include <Eigen/Cholesky>
#include <cstddef>

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kLeastMobility = 1e-3;  // of a direction, to the sum of all directions

}  // namespace

Vector3d TipLoad::force(const ArmMeasurement& measurement, const Vector3d& p) const noexcept {
  const Vector3d lever = p - measurement.X_BE.translation();
  Matrix3d mobility = Matrix3d::Zero();  // J K^-1 J^T
  Vector3d shift = Vector3d::Zero();     // J K^-1 r
  for (std::size_t i = 0; i < springs_.size(); ++i) {
    const BodySpring& spring = springs_[i];
    if (!(spring.stiffness > 0.0)) continue;
    const auto k = static_cast<Eigen::Index>(i);
    const double held = spring.stiffness * (measurement.q[k] - spring.rest) +
                        spring.damping * measurement.q_rate[k] - measurement.gravity_moment[k];
    const Vector3d rate = measurement.tip_jacobian.col(k).head<3>() +
                          Vector3d(measurement.tip_jacobian.col(k).tail<3>()).cross(lever);
    mobility += rate * rate.transpose() / spring.stiffness;
    shift += rate * ((held - measurement.moment[k]) / spring.stiffness);
  }
  const double trace = mobility.trace();
  if (!(trace > 0.0)) return Vector3d::Zero();
  mobility.diagonal().array() += kLeastMobility * trace;
  return mobility.ldlt().solve(shift);
}

}  // namespace tendril
