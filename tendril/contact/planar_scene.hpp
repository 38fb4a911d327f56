#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tendril/contact/planar_arc.hpp"

namespace tendril {

/// A cylinder in the plane across its axis. Radius 0 is a point.
struct Disc {
  Eigen::Vector2d center{0.0, 0.0};  ///< (x, z) [m]
  double radius = 0.0;               ///< [m], >= 0
};

/// Most corners of a polygon: each edge is compared with every other, each arc with all of them.
inline constexpr std::size_t kMaxCorners = 10'000;

/// A polygon, convex or not, its corners in order, clockwise or not.
struct Polygon {
  std::vector<Eigen::Vector2d> corners;  ///< (x, z) [m], from three to kMaxCorners
};

/// The box [x_low, x_high] x [z_low, z_high]; its corners are (low, low), (high, low),
/// (high, high), (low, high).
[[nodiscard]] Polygon box_polygon(double x_low, double x_high, double z_low, double z_high);

using PlanarObstacle = std::variant<Disc, Polygon>;

/// The obstacle nearest to an arc.
struct ArcContact {
  double clearance = std::numeric_limits<double>::infinity();  ///< [m], negative: collides
  int obstacle = -1;  ///< index in the order of `add`; -1: there is none
};

/// The obstacles of a planar problem: a union of discs and polygons, with signed distances.
/// All queries are const, allocate nothing and may run in several threads. Values do not depend on
/// the order of the obstacles.
class PlanarScene {
 public:
  /// Throw ModelError `disc: radius = -1 m, must be ...`, `polygon: corner 3: ...` (from 0) for
  /// numbers that are not finite or above 1e9 m, a negative radius, fewer than three corners
  /// or more than kMaxCorners, repeated corners, edges that cross or touch, an area of 0.
  void add(Disc disc);
  void add(Polygon polygon);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(items_.size()); }
  [[nodiscard]] const PlanarObstacle& obstacle(int index) const noexcept {
    return items_[static_cast<std::size_t>(index)].shape;
  }
  /// A disc that holds the whole obstacle.
  [[nodiscard]] const Disc& bound(int index) const noexcept {
    return items_[static_cast<std::size_t>(index)].bound;
  }

  /// Signed distance of `point` to the nearest obstacle [m]: negative inside one (the depth in
  /// that one), infinite without obstacles. `gradient`, if given, becomes the unit direction in
  /// which the distance grows (zero without obstacles). Where several directions do, it is one of
  /// them.
  double distance(const Eigen::Vector2d& point, Eigen::Vector2d* gradient = nullptr) const noexcept;

  /// Signed distance of `point` to one obstacle.
  double obstacle_distance(int index, const Eigen::Vector2d& point,
                           Eigen::Vector2d* gradient = nullptr) const noexcept;

  /// Least distance between the obstacles and a body of `body_radius` around the arc [m]; negative
  /// where they overlap, infinite without obstacles. Exact (rounding) as long as the backbone
  /// remains outside; where it enters a polygon the sign is exact and the depth is within
  /// 1e-7 m, or length/1000 where it runs alongside an edge there.
  [[nodiscard]] double clearance(const PlanarArc& arc, double body_radius) const noexcept;

  /// The clearance with the obstacle that it belongs to.
  [[nodiscard]] ArcContact nearest(const PlanarArc& arc, double body_radius) const noexcept;

  /// Tells whether the clearance is >= -`tolerance`; cheaper than the clearance.
  [[nodiscard]] bool is_clear(const PlanarArc& arc, double body_radius,
                              double tolerance) const noexcept;

  /// The obstacle that blocks the arc: of those with a clearance below -`tolerance` the one that
  /// the body overlaps most; of those that the backbone itself enters, the one entered first. -1:
  /// none.
  [[nodiscard]] int blocking_obstacle(const PlanarArc& arc, double body_radius,
                                      double tolerance) const noexcept;

 private:
  struct Item {
    PlanarObstacle shape;
    Disc bound;  ///< holds the whole shape
  };

  std::vector<Item> items_;
};

}  // namespace tendril
