#pragma once

#include <Eigen/Geometry>
#include <array>
#include <string>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_scene.hpp"

namespace tendril {

/// A solid of a scene in the frame of an arm's base, in whose x-z plane the arm moves.
struct Solid {
  enum class Kind {
    HalfSpace,  ///< z <= 0
    Sphere,     ///< size: radius
    Capsule,    ///< size: radius, half length of its axis, which is z
    Cylinder,   ///< the same
    Box,        ///< size: half extents
    Hull,       ///< convex, bounded by the triangles
    Mesh        ///< bounded by the triangles
  };
  std::string name;
  Kind kind = Kind::Sphere;
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
  Eigen::Vector3d size = Eigen::Vector3d::Zero();  ///< [m]
  std::vector<Eigen::Vector3d> vertices{};         ///< of a hull or a mesh, frame O [m]
  std::vector<std::array<int, 3>>
      triangles{};  ///< of a mesh; counterclockwise as viewed from outside
};

/// Solids as an arm of one plane meets them.
struct PlanarSection {
  PlanarScene scene;                   ///< (x, z) is the plane's
  std::vector<int> solid;              ///< of each obstacle: its index in the list
  std::vector<ContactPoint> contacts;  ///< that the obstacles offer, within reach
};

/// The obstacles that solids are for a body of `body_radius` round a backbone in the plane y = 0.
/// Spheres, and cylinders and capsules across the plane, are discs. What is convex otherwise is
/// represented by the outline of its part within 0.95 body radii of the plane (round ones by 32
/// corners), which holds what the body can touch; of a mesh that is not convex, it is its section
/// with the plane, hollows filled. A half-space that is parallel to the plane, or a solid farther
/// away, is no obstacle. Contact points farther than `reach` [m] from the origin are left out.
/// Throws ModelError naming a half-space that contains the plane.
/// docs/planning.md, "Contacts from the scene". Held by: planar_section_test.
[[nodiscard]] PlanarSection planar_section(const std::vector<Solid>& solids, double body_radius,
                                           double reach);

}  // namespace tendril
