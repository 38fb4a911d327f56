#pragma once

#include <Eigen/Core>

namespace tendril {

/// R <- R Rot(z, angle), from the angle's cosine and sine.
inline void rotate_yaw(double c, double s, Eigen::Matrix3d& R) noexcept {
  const Eigen::Vector3d x = c * R.col(0) + s * R.col(1);
  R.col(1) = c * R.col(1) - s * R.col(0);
  R.col(0) = x;
}

/// R <- R Rot(-y, angle): positive angles lift the nose (x) towards z.
inline void rotate_pitch(double c, double s, Eigen::Matrix3d& R) noexcept {
  const Eigen::Vector3d x = c * R.col(0) + s * R.col(2);
  R.col(2) = c * R.col(2) - s * R.col(0);
  R.col(0) = x;
}

}  // namespace tendril
