#pragma once

#include <Eigen/Core>
#include <cmath>

namespace tendril {

/// Rotates (x, y) by the angle of which c and s are cosine and sine.
inline void rotate_pair(double c, double s, double& x, double& y) noexcept {
  const double rotated = c * x - s * y;
  y = s * x + c * y;
  x = rotated;
}

/// Rotates columns k and k + 1 of every row by an angle [rad].
template <class Matrix>
void rotate_columns(double angle, Matrix& columns, Eigen::Index k) noexcept {
  const double c = std::cos(angle), s = std::sin(angle);
  for (Eigen::Index row = 0; row < columns.rows(); ++row)
    rotate_pair(c, s, columns(row, k), columns(row, k + 1));
}

}  // namespace tendril
