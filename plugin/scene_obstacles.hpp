#pragma once

#include <mujoco/mujoco.h>

#include <string_view>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"

namespace tendril {

/// The geoms of a scene that one arm must keep away from, as shapes in the frame of the arm's base.
///
/// Spheres, capsules, boxes, cylinders and planes (half spaces) as they are; meshes as the convex
/// hull that the engine collides with, or themselves where the model has no hull. Geoms that may
/// move relative to the base come first.
class SceneObstacles {
 public:
  /// @param base_body    body of the arm's base: it and all below it are the arm
  /// @param names        geoms, or bodies with all they carry, as written in the scene, separated
  ///                     by spaces; of a body those geoms count that can collide with the arm.
  ///                     Empty: all geoms of the scene that can.
  /// @param body_radius  of the arm [m]; -infinity: the base is no body and may stand anywhere
  ///
  /// Throws ModelError that names the geom (or the name that is none): a kind of geom that has no
  /// distance (ellipsoid, height field, signed distance field), a mesh that is not closed, a geom
  /// of the arm itself, a geom that does not move and that the base stands in.
  SceneObstacles(const mjModel* m, int base_body, std::string_view names, double body_radius);

  /// Takes the geoms' poses from `d`. Allocates nothing.
  void refresh(const mjData* d) noexcept;

  [[nodiscard]] const Obstacles& obstacles() const noexcept { return obstacles_; }
  [[nodiscard]] int moving_count() const noexcept { return moving_count_; }
  /// Geom of obstacle i.
  [[nodiscard]] int geom(int i) const noexcept { return geoms_[static_cast<std::size_t>(i)]; }

 private:
  int base_body_;
  std::vector<int> geoms_;
  int moving_count_ = 0;
  Obstacles obstacles_;
};

}  // namespace tendril
