#include "tendril/kinematics/cholesky.hpp"

#include <Eigen/Cholesky>

namespace tendril {

Eigen::Vector3d cholesky_solve(const Eigen::Matrix3d& A, const Eigen::Vector3d& b) noexcept {
  return A.llt().solve(b);
}

Vector5d cholesky_solve(const Matrix5d& A, const Vector5d& b) noexcept { return A.llt().solve(b); }

Vector6d cholesky_solve(const Matrix6d& A, const Vector6d& b) noexcept { return A.llt().solve(b); }

}  // namespace tendril
