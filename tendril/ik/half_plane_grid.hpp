#pragma once

#include <Eigen/Core>
#include <array>
#include <compare>

namespace tendril {

/// A cell of a `HalfPlaneGrid`; ordered by rows, then columns.
struct GridCell {
  int row = 0;     ///< upwards from the grid's lowest z
  int column = 0;  ///< outwards from the axis
  [[nodiscard]] auto operator<=>(const GridCell&) const = default;
};

/// Square cells of the half-plane beside an arm's base axis: distance rho >= 0 from the axis, and
/// z. The positions that a tip reaches are a body of revolution about that axis, so the half-plane
/// has all of them. [FABRIKx] sec. 3.1.2 (table 3.5)
struct HalfPlaneGrid {
  double edge = 1e-3;     ///< of a cell [m], > 0
  double lowest_z = 0.0;  ///< lower end of row 0 [m]

  [[nodiscard]] GridCell cell_of(double rho, double z) const noexcept;
  /// The cell of a position in the robot's base frame [m].
  [[nodiscard]] GridCell cell_of(const Eigen::Vector3d& p_B) const noexcept;

  [[nodiscard]] double rho(int column) const noexcept { return (column + 0.5) * edge; }
  [[nodiscard]] double z(int row) const noexcept { return lowest_z + (row + 0.5) * edge; }

  /// Positions to try in a cell, in the plane y = 0 [m]: its center, then near its corners, a tenth
  /// of the edge from two sides.
  [[nodiscard]] std::array<Eigen::Vector3d, 5> places(const GridCell& cell) const noexcept;
};

}  // namespace tendril
