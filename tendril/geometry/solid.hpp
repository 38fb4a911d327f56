#pragma once

#include <Eigen/Geometry>
#include <array>
#include <string>
#include <vector>

#include "tendril/geometry/signed_distance.hpp"

namespace tendril {

/// A solid of a scene as plain data: what it is a signed distance (`shape_of`) or a section with a
/// plane (contact/planar_section.hpp) is made from.
struct Solid {
  enum class Kind {
    HalfSpace,  ///< z <= 0
    Sphere,     ///< size: radius
    Capsule,    ///< size: radius, half length of its axis, which is z
    Cylinder,   ///< the same
    Box,        ///< size: half extents
    Ellipsoid,  ///< size: half axes
    Hull,       ///< convex, bounded by the triangles
    Mesh        ///< bounded by the triangles
  };
  std::string name;  ///< in messages: "geom wall"
  Kind kind = Kind::Sphere;
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
  Eigen::Vector3d size = Eigen::Vector3d::Zero();  ///< [m]
  std::vector<Eigen::Vector3d> vertices{};         ///< of a hull or a mesh, frame O [m]
  std::vector<std::array<int, 3>>
      triangles{};  ///< of a mesh; counterclockwise as viewed from outside
};

/// Signed distance of a solid in its own frame. Throws ModelError for a size that is not positive
/// and for a mesh that is not closed.
[[nodiscard]] Shape shape_of(const Solid& solid);

}  // namespace tendril
