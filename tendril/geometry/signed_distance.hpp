#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace tendril {

/// A sphere that holds a whole shape; the radius is infinite for unbounded shapes.
struct BoundingSphere {
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double radius = std::numeric_limits<double>::infinity();  ///< [m]
};

/// A solid as its signed distance, in its own frame O: positive outside, negative inside, zero on
/// the surface. Between two points the distance changes by no more than their distance
/// (1-Lipschitz). Immutable; nothing throws or allocates. Coordinates in m.
class SignedDistance {
 public:
  struct Value {
    double distance = 0.0;                                ///< [m]
    Eigen::Vector3d gradient = Eigen::Vector3d::UnitX();  ///< unit vector, away from the solid; any
                                                          ///< one where there are several
  };
  virtual ~SignedDistance() = default;
  [[nodiscard]] virtual Value at(const Eigen::Vector3d& p_O) const noexcept = 0;
  [[nodiscard]] double distance(const Eigen::Vector3d& p_O) const noexcept {
    return at(p_O).distance;
  }
  [[nodiscard]] Eigen::Vector3d gradient(const Eigen::Vector3d& p_O) const noexcept {
    return at(p_O).gradient;
  }
  /// Tells whether the solid is convex: its signed distance is then a convex function of the point.
  [[nodiscard]] virtual bool is_convex() const noexcept { return true; }
  [[nodiscard]] virtual BoundingSphere bounds() const noexcept = 0;
  /// Radius of a sphere about the frame's origin if that is what the solid is, otherwise negative.
  /// Arcs have a closed form of their distance to it.
  [[nodiscard]] virtual double sphere_radius() const noexcept { return -1.0; }
};

using Shape = std::shared_ptr<const SignedDistance>;

// Shapes in their own frame. Each throws ModelError naming the field that is outside its range.

/// Sphere of `radius` >= 0 about the origin. In planar problems it is a disc.
[[nodiscard]] Shape sphere(double radius);
/// All points within `radius` >= 0 of the segment from -half_length to +half_length on z.
[[nodiscard]] Shape capsule(double half_length, double radius);
/// x^2 + y^2 <= radius^2 and |z| <= half_length; both > 0.
[[nodiscard]] Shape cylinder(double half_length, double radius);
/// |x| <= half.x and so on; every half extent > 0.
[[nodiscard]] Shape box(const Eigen::Vector3d& half_extents);
/// (x / half.x)^2 + (y / half.y)^2 + (z / half.z)^2 <= 1; every half axis > 0.
[[nodiscard]] Shape ellipsoid(const Eigen::Vector3d& half_axes);
/// Prism over a simple polygon of the xy-plane, |z| <= half_height (infinite for planar problems).
/// Clockwise or not, convex or not; at least three vertices, no two edges that cross, an area > 0.
/// The inside is found by the crossings of a ray with the outline ([Ericson] 5.4.1).
[[nodiscard]] Shape polygon(std::span<const Eigen::Vector2d> vertices,
                            double half_height = std::numeric_limits<double>::infinity());
/// z <= 0: the outside is +z.
[[nodiscard]] Shape half_space();
/// A shape without all points within `radius` > 0 of the segment from a to b in its frame. Near the
/// rim the distance is a lower bound: the larger of that to the shape and that out of the hollow.
[[nodiscard]] Shape hollowed(Shape shape, const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                             double radius);

/// A shape with its pose.
struct Obstacle {
  Shape shape;
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
};

// The usual ones in the robot's base frame.
[[nodiscard]] Obstacle sphere_at(const Eigen::Vector3d& center, double radius);
[[nodiscard]] Obstacle capsule_between(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                                       double radius);
/// Solid behind the plane through `point` whose outward normal is `normal` (not zero).
[[nodiscard]] Obstacle half_space_at(const Eigen::Vector3d& point, const Eigen::Vector3d& normal);
/// Polygon of the world's x-z plane, unbounded along y; vertices are (x, z).
[[nodiscard]] Obstacle polygon_xz(std::span<const Eigen::Vector2d> vertices);

/// Body of a straight arm, from the origin of its base frame along z.
struct StraightBody {
  double radius = -std::numeric_limits<double>::infinity();  ///< [m]; -infinity: no body
  double length = 0.0;                                       ///< [m], >= 0
};
/// Makes room at the base in an obstacle, so that the straight body can keep `margin` >= 0 [m] to
/// it. Returns an obstacle that is that far from the base as it is. One that is nearer is hollowed
/// along the body up to where this has left it, 1.5 times as wide as a straight body needs, so that
/// the body can bend. Without a shape: the body touches it at the base and nowhere leaves it.
/// Tested by: signed_distance_test.
[[nodiscard]] Obstacle with_room_at_base(Obstacle obstacle, const StraightBody& body,
                                         double margin);

}  // namespace tendril
