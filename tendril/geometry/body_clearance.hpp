#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tendril/geometry/signed_distance.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// An arc of the body's backbone: a sub-section, in the robot's base frame.
struct BodyArc {
  Eigen::Vector3d start = Eigen::Vector3d::Zero();
  Eigen::Vector3d tangent = Eigen::Vector3d::UnitZ();  ///< unit, at the start
  Eigen::Vector3d side = Eigen::Vector3d::UnitX();     ///< unit, the side that it bends to
  double curvature = 0.0;  ///< [1/m], any sign: < 0 bends away from side
  double length = 0.0;     ///< [m], >= 0
  int section = 0;
  double first_fraction = 0.0, last_fraction = 1.0;  ///< of the section's arc length

  /// Point and unit tangent at arc length s in [0, length].
  [[nodiscard]] Eigen::Vector3d point(double s) const noexcept;
  [[nodiscard]] Eigen::Vector3d tangent_at(double s) const noexcept;
  [[nodiscard]] Eigen::Vector3d end() const noexcept { return point(length); }
  /// Every point of the arc is within half of its length of this one.
  [[nodiscard]] Eigen::Vector3d chord_middle() const noexcept { return 0.5 * (start + end()); }
  /// The section's fraction at arc length s.
  [[nodiscard]] double fraction(double s) const noexcept {
    return length > 0.0 ? first_fraction + (last_fraction - first_fraction) * (s / length)
                        : first_fraction;
  }
};

/// Arc length in [0, length] of the point of the arc that is nearest to `p`. Closed form:
///
///     s = (1/|k|) atan2(k z, 1 - k x) in [0, 2 pi / |k|), x and z along side and tangent;
///
/// past the end the nearer of both ends. The offset of p from the bend plane does not matter.
/// docs/theory/obstacles.md, "Distance of an arc". Tested by: signed_distance_test.
[[nodiscard]] double nearest_arc_length(const BodyArc& arc, const Eigen::Vector3d& p) noexcept;

/// The least distance of an arc from obstacles, and where.
struct Clearance {
  double distance = std::numeric_limits<double>::infinity();  ///< from the backbone, or less the
                                                              ///< body radius where it is given [m]
  int obstacle = -1;                                          ///< index in the list; -1: none
  int arc = -1;
  double arc_length = 0.0;                            ///< on that arc [m]
  Eigen::Vector3d point = Eigen::Vector3d::Zero();    ///< of the backbone
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();  ///< unit, away from the obstacle
};

/// Thoroughness of the search along an arc that has no closed form of its distance to a shape.
struct ArcSearch {
  double tolerance = 1e-7;  ///< the distance found is above the least one by at most this [m], > 0
  double below = std::numeric_limits<double>::infinity();  ///< only distances below it are searched
                                                           ///< for [m]: a yes or no is cheaper
  int most_steps = 100000;  ///< evaluations; after them steps grow and the bound is lost
};

/// Obstacles in the robot's base frame. Results do not depend on the order in which they are
/// listed: equal distances go to the smaller center coordinates. Nothing but the constructor
/// allocates or throws.
class Obstacles {
 public:
  Obstacles() = default;
  /// Throws ModelError when a shape is missing or a pose is not a finite rigid motion.
  explicit Obstacles(std::vector<Obstacle> obstacles);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(placed_.size()); }

  /// Moves obstacle `i` of the list. Precondition: the pose is a finite rigid motion.
  void set_pose(int i, const Eigen::Isometry3d& X_BO) noexcept;
  [[nodiscard]] const Eigen::Isometry3d& pose(int i) const noexcept;
  [[nodiscard]] const Shape& shape(int i) const noexcept { return placed(i).shape; }

  /// Makes obstacle `i` larger: all points within `growth` >= 0 of it belong to it [m]. For an
  /// obstacle that moves while the arm does: its speed times a time. 0 at first.
  void set_growth(int i, double growth) noexcept;
  [[nodiscard]] double growth(int i) const noexcept { return placed(i).growth; }
  /// Upper bound of the distance of obstacle `i`'s points from the origin of its frame [m];
  /// infinite for an unbounded one.
  [[nodiscard]] double extent(int i) const noexcept {
    const BoundingSphere bounds = placed(i).shape->bounds();
    return bounds.center.norm() + bounds.radius;
  }

  /// Signed distance of a point and its gradient; infinite without obstacles. `least_known`: only
  /// what is nearer than this is searched for.
  [[nodiscard]] Clearance nearest(
      const Eigen::Vector3d& p_B,
      double least_known = std::numeric_limits<double>::infinity()) const noexcept;

  /// Least distance of the arcs from any obstacle. With spheres it is exact; with other shapes the
  /// search marches along the arcs with steps that the present distance makes safe, so that no wall
  /// is skipped however thin.
  [[nodiscard]] Clearance nearest(std::span<const BodyArc> arcs,
                                  const ArcSearch& search = {}) const noexcept;
  /// The same for obstacle `i` of the list alone.
  [[nodiscard]] Clearance nearest_of(int i, std::span<const BodyArc> arcs,
                                     const ArcSearch& search = {}) const noexcept;

  /// Obstacle `i` of the list if it is a sphere; null otherwise.
  struct SphereAt {
    Eigen::Vector3d center;
    double radius;
  };
  [[nodiscard]] std::optional<SphereAt> sphere(int i) const noexcept;

  /// Tells whether a ball comes near any obstacle, by the obstacles' bounding spheres; false: it
  /// touches none.
  [[nodiscard]] bool may_touch(const Eigen::Vector3d& center, double radius) const noexcept {
    for (const Placed& placed : placed_)
      if (placed.may_touch(center, radius)) return true;
    return false;
  }

  /// Calls found(Clearance) for every obstacle nearer to the arc than `distance`, in an order that
  /// does not depend on the list's.
  template <class Found>
  void for_each_nearer(const BodyArc& arc, double distance, const ArcSearch& search,
                       Found&& found) const noexcept {
    const Eigen::Vector3d middle = arc.chord_middle();
    const double reach = 0.5 * arc.length + distance;
    for (const Placed& placed : placed_) {
      if (!placed.may_touch(middle, reach)) continue;
      Clearance contact;
      contact.distance = distance;
      if (nearer(arc, middle, placed, search, contact)) found(contact);
    }
  }

 private:
  struct Placed {
    Shape shape;
    Eigen::Isometry3d X_BO;
    Eigen::Vector3d center;  // of the bounding sphere
    double bounding_radius;  // growth counted; infinite: none
    double growth;           // [m]
    bool is_sphere, is_convex;
    int index;  // in the user's list

    [[nodiscard]] bool may_touch(const Eigen::Vector3d& ball, double radius) const noexcept {
      const double reach = radius + bounding_radius;
      return reach > 0.0 && (center - ball).squaredNorm() < reach * reach;
    }
  };
  [[nodiscard]] const Placed& placed(int i) const noexcept {
    return placed_[static_cast<std::size_t>(position_of_[static_cast<std::size_t>(i)])];
  }
  static void update(Placed& placed) noexcept;
  void sort() noexcept;
  /// Replaces `least` if the obstacle comes closer to the arc than least.distance.
  [[nodiscard]] static bool nearer(const BodyArc& arc, const Eigen::Vector3d& middle,
                                   const Placed& placed, const ArcSearch& search,
                                   Clearance& least) noexcept;

  std::vector<Placed> placed_;    // sorted by center
  std::vector<int> position_of_;  // of obstacle i of the list
};

/// The arcs of one section that starts at `start` along the unit vector `tangent` and bends by
/// `theta` (any sign) towards the unit vector `side` with the current length `length`: one arc for
/// each sub-section. Sets all but BodyArc::section.
void place_section_arcs(const Section& section, const Eigen::Vector3d& start,
                        const Eigen::Vector3d& tangent, const Eigen::Vector3d& side, double theta,
                        double length, std::span<BodyArc> arcs) noexcept;

/// The body's arcs, section by section, sub-section by sub-section; without a rail.
class BodyArcs {
 public:
  explicit BodyArcs(const ContinuumRobot& robot);
  /// Arcs of a pose; valid until the next call.
  std::span<const BodyArc> at(SectionStates states, const BaseState& base = {}) noexcept;
  /// The same of smooth coordinates, without their angles.
  std::span<const BodyArc> at(const Eigen::Ref<const Eigen::VectorXd>& q,
                              const BaseState& base = {}) noexcept;

 private:
  /// A section's bend angle, the cosine and sine of its direction, and its variable length.
  struct Bend {
    double theta, cos_phi, sin_phi, extension;
  };
  template <class BendOf>
  std::span<const BodyArc> place(const BaseState& base, const BendOf& bend_of) noexcept;

  ContinuumRobot robot_;
  std::vector<BodyArc> arcs_;
};

/// Least distance of a body of radius `body_radius` from the obstacles, and where. [m]
/// Tested by: signed_distance_test "the clearance of a body".
[[nodiscard]] Clearance body_clearance(BodyArcs& body, SectionStates states, const BaseState& base,
                                       const Obstacles& obstacles, double body_radius,
                                       const ArcSearch& search = {}) noexcept;

}  // namespace tendril
