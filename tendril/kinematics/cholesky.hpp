#pragma once

#include <Eigen/Core>

namespace tendril {

using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;
using Matrix5d = Eigen::Matrix<double, 5, 5>;
using Vector5d = Eigen::Matrix<double, 5, 1>;

/// The solution y of A y = b for a symmetric positive definite A, by Cholesky's factorization.
/// Compiled once, because Eigen's takes seconds to compile in every file that calls it.
[[nodiscard]] Eigen::Vector3d cholesky_solve(const Eigen::Matrix3d& A,
                                             const Eigen::Vector3d& b) noexcept;
[[nodiscard]] Vector5d cholesky_solve(const Matrix5d& A, const Vector5d& b) noexcept;
[[nodiscard]] Vector6d cholesky_solve(const Matrix6d& A, const Vector6d& b) noexcept;

}  // namespace tendril
