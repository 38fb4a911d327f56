#include "tendril/geometry/solid.hpp"

#include <memory>

#include "tendril/geometry/mesh_distance.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

/// An ellipsoid by a lower bound of its distance: that of the unit sphere in stretched space times
/// the shortest half axis.
class EllipsoidBound final : public SignedDistance {
 public:
  explicit EllipsoidBound(const Vector3d& half_axes) : half_(half_axes) {}
  [[nodiscard]] Value at(const Vector3d& p_O) const noexcept override {
    const Vector3d stretched = p_O.cwiseQuotient(half_);
    const Vector3d normal = stretched.cwiseQuotient(half_);
    const double length = normal.norm();
    return {half_.minCoeff() * (stretched.norm() - 1.0),
            length > 0.0 ? Vector3d(normal / length) : Vector3d::UnitX()};
  }
  [[nodiscard]] bool is_exact() const noexcept override { return false; }
  [[nodiscard]] BoundingSphere bounds() const noexcept override {
    return {Vector3d::Zero(), half_.maxCoeff()};
  }

 private:
  Vector3d half_;
};

}  // namespace

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
      return std::make_shared<EllipsoidBound>(size);
    case Solid::Kind::Hull:
    case Solid::Kind::Mesh:
      break;
  }
  return mesh(solid.vertices, solid.triangles);
}

}  // namespace tendril
