#include "tendril/geometry/solid.hpp"

#include "tendril/geometry/mesh_distance.hpp"

namespace tendril {

using Eigen::Vector3d;

Shape shape_of(const Solid& solid) {
  const Vector3d& size = solid.size;
  switch (solid.kind) {
    case Solid::Kind::HalfSpace:
      return half_space();
    case Solid::Kind::Sphere:
      return sphere(size.x());
    case Solid::Kind::Capsule:
      return capsule(size.y(), size.x());
    case Solid::Kind::Cylinder:
      return cylinder(size.y(), size.x());
    case Solid::Kind::Box:
      return box(size);
    case Solid::Kind::Ellipsoid:
      return ellipsoid(size);
    case Solid::Kind::Hull:
    case Solid::Kind::Mesh:
      break;
  }
  return mesh(solid.vertices, solid.triangles);
}

}  // namespace tendril
