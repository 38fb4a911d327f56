#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"

namespace tendril {

struct GroundMapOptions {
  Eigen::Vector2d low = Eigen::Vector2d::Zero();  ///< corners of the mapped rectangle [m]
  Eigen::Vector2d high = Eigen::Vector2d::Ones();
  double cell = 0.02;  ///< edge of a cell [m], > 0
  /// Heights at which an obstacle is one [m]. What lies farther than cell/2 below all of them, such
  /// as the ground, is none.
  std::vector<double> heights = {0.0};
};

/// Distance of every point of a rectangle of the ground from the nearest obstacle, on a grid. What
/// lies outside of the rectangle is not known and counts as one.
/// Source: docs/theory/snakes.md, "Among obstacles". Tested by: ground_map_test.
class GroundMap {
 public:
  static constexpr int kMaxCells = 200'000;

  /// @param obstacles  in the frame of the map, z up
  /// Throws ModelError when the rectangle has more than `kMaxCells` cells.
  GroundMap(const Obstacles& obstacles, const GroundMapOptions& options);

  /// Distance of p from the nearest obstacle [m], at most 0.71 cells too small or too large by the
  /// grid; 0 in an obstacle, negative outside of the rectangle.
  [[nodiscard]] double clearance(const Eigen::Vector2d& p) const noexcept;
  /// Tells whether p is in the rectangle.
  [[nodiscard]] bool contains(const Eigen::Vector2d& p) const noexcept;

  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] double cell() const noexcept { return cell_; }
  /// The clearance of each cell's center, a row of the map after the other [m].
  [[nodiscard]] std::span<const double> distances() const noexcept { return distance_; }
  /// Returns the clearance of a cell's center.
  [[nodiscard]] double clearance(int column, int row) const noexcept {
    return distance_[index(column, row)];
  }
  [[nodiscard]] Eigen::Vector2d center(int column, int row) const noexcept {
    return low_ + cell_ * Eigen::Vector2d(column + 0.5, row + 0.5);
  }
  /// Column and row of p, at whole numbers in the cells' centers.
  [[nodiscard]] Eigen::Vector2d cell_of(const Eigen::Vector2d& p) const noexcept {
    return (p - low_) / cell_ - Eigen::Vector2d(0.5, 0.5);
  }
  /// Interpolates a table with one number for each cell, bilinear between the cells' centers; p in
  /// the rectangle.
  [[nodiscard]] double interpolate(std::span<const double> table,
                                   const Eigen::Vector2d& p) const noexcept;
  [[nodiscard]] std::size_t index(int column, int row) const noexcept {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(column);
  }

 private:
  Eigen::Vector2d low_;
  double cell_;
  int columns_, rows_;
  std::vector<double> distance_;
};

/// The paths of a disc to a goal from everywhere: for each point of a map the time of travel to the
/// goal, at speed 1 far from obstacles and less near them, so that paths keep away from obstacles
/// where there is room. Solved once by fast marching ([Sethian]); a path is then a descent.
class GroundPaths {
 public:
  /// @param map     must outlive the paths
  /// @param radius  of the disc that must pass [m]
  GroundPaths(const GroundMap& map, const Eigen::Vector2d& goal, double radius);

  [[nodiscard]] const Eigen::Vector2d& goal() const noexcept { return goal_; }
  [[nodiscard]] double radius() const noexcept { return radius_; }
  /// Time of travel from p; infinite where there is no path for the disc.
  [[nodiscard]] double time(const Eigen::Vector2d& p) const noexcept;

  /// The same of each cell's center, a row of the map after the other; at least 1e8 where there is
  /// no path.
  [[nodiscard]] std::span<const double> times() const noexcept { return time_; }

  /// Start of a path.
  struct Start {
    Eigen::Vector2d position = Eigen::Vector2d::Zero();
    double heading = 0.0;  ///< [rad]
    /// [1/m]; infinite: the heading does not matter.
    double max_curvature = std::numeric_limits<double>::infinity();
    double arrival =
        0.0;  ///< the path ends within this distance from the goal [m]; at least spacing/2
  };
  /// Writes points, at a distance `spacing` from each other, from `start` to the goal or as many as
  /// there is room for; the first is the start. Of a path with limited curvature the beginning is
  /// searched: a turn to one side, by any angle up to a whole turn, and then downhill. Returns the
  /// number of points; 0: no path. Allocates nothing.
  int trace(const Start& start, double spacing, Eigen::Ref<Eigen::Matrix2Xd> points) const noexcept;

 private:
  struct Traced {
    int count = 0;
    double time = std::numeric_limits<double>::infinity();  ///< to the goal, of the whole path
  };
  Traced descend(const Start& start, double spacing, double opening_curvature,
                 double opening_length, Eigen::Ref<Eigen::Matrix2Xd> points) const noexcept;
  /// Slowness at a distance from obstacles.
  [[nodiscard]] double slowness(double clearance) const noexcept;

  const GroundMap& map_;
  Eigen::Vector2d goal_;
  double radius_;
  std::vector<double> time_;
};

}  // namespace tendril
