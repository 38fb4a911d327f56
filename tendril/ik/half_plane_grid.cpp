#include "tendril/ik/half_plane_grid.hpp"

#include <cmath>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {

GridCell HalfPlaneGrid::cell_of(double rho, double z) const noexcept {
  return {.row = static_cast<int>(std::floor((z - lowest_z) / edge)),
          .column = static_cast<int>(std::floor(rho / edge))};
}

GridCell HalfPlaneGrid::cell_of(const Eigen::Vector3d& p_B) const noexcept {
  return cell_of(hypotenuse(p_B.x(), p_B.y()), p_B.z());
}

std::array<Eigen::Vector3d, 5> HalfPlaneGrid::places(const GridCell& cell) const noexcept {
  constexpr double kInset = 0.101;  // the published 101 um of 1 mm
  const double near = kInset * edge, far = edge - near, middle = edge / 2.0;
  const Eigen::Vector3d corner(cell.column * edge, 0.0, lowest_z + cell.row * edge);
  return {corner + Eigen::Vector3d(middle, 0.0, middle), corner + Eigen::Vector3d(near, 0.0, near),
          corner + Eigen::Vector3d(far, 0.0, near), corner + Eigen::Vector3d(near, 0.0, far),
          corner + Eigen::Vector3d(far, 0.0, far)};
}

}  // namespace tendril
