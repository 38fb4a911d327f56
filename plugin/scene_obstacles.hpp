#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <string>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/solid.hpp"
#include "tendril/model/continuum/description.hpp"

namespace tendril {

/// A name in the scene, or several, and the setting that gives it, for messages.
struct SceneName {
  const char* setting;
  std::string text;
};

/// A mesh as the engine collides with it: its convex hull, or its faces if the model has no hull.
struct CollisionMesh {
  std::vector<Eigen::Vector3d> vertices;  ///< in the geom's frame [m]
  std::vector<std::array<int, 3>>
      triangles;  ///< indices of vertices, counterclockwise from outside
};
[[nodiscard]] CollisionMesh collision_mesh(const mjModel* m, int mesh_id);

/// The geoms of a scene that are obstacles of one arm, as shapes in the frame of the arm's base.
///
/// Spheres, capsules, boxes, cylinders and planes (half-spaces) keep their shape. A mesh is
/// represented by the convex hull that the engine uses for collisions, or by its faces if the model
/// has no hull. Geoms that may move relative to the base come first.
///
/// Other geoms that touch the arm's base, such as the floor below it, have room for the straight
/// arm (with_room_at_base); those that the straight arm nowhere leaves are left out.
class SceneObstacles {
 public:
  /// @param base_body    body of the arm's base: the arm is this body and its subtree
  /// @param names        geoms, or bodies with their subtrees, by their names in the scene,
  ///   separated
  ///                     by spaces; of a body, those geoms that can collide with the arm. Empty:
  ///                     all geoms of the scene that can collide with the arm.
  /// @param body    the straight arm
  /// @param margin  to the obstacles that the arm is to keep [m]
  ///
  /// Throws ModelError naming the geom (or the unknown name) for a geom type without a distance
  /// function (height field, signed distance field), a mesh that is not closed, or a geom of the
  /// arm itself.
  SceneObstacles(const mjModel* m, int base_body, const SceneName& names, const StraightBody& body,
                 double margin);

  /// Updates the geoms' poses from `d`. Allocates nothing.
  void refresh(const mjData* d) noexcept;

  [[nodiscard]] const Obstacles& obstacles() const noexcept { return obstacles_; }
  /// The same as they were at the reference.
  [[nodiscard]] const std::vector<Solid>& solids() const noexcept { return solids_; }
  [[nodiscard]] int moving_count() const noexcept { return moving_count_; }
  /// Names of the geoms that were left out, with commas between; empty: none was.
  [[nodiscard]] const std::string& left_out() const noexcept { return left_out_; }
  /// "geom wall", or what a geom without a name is known by.
  [[nodiscard]] static std::string name_of(const mjModel* m, int geom);
  /// Geom of obstacle i.
  [[nodiscard]] int geom(int i) const noexcept { return geoms_[static_cast<std::size_t>(i)]; }

 private:
  int base_body_;
  std::vector<int> geoms_;
  int moving_count_ = 0;
  std::vector<Solid> solids_;
  std::string left_out_;
  Obstacles obstacles_;
};

/// An arm that is straight and not fed.
[[nodiscard]] StraightBody straight_body(const ContinuumDescription& arm);

/// Solids as obstacles. Throws ModelError naming setting and solid for a mesh that is not closed.
[[nodiscard]] Obstacles obstacles_of(const std::vector<Solid>& solids, const char* setting);

/// The geoms of a scene that are stationary, in the world frame: all that the robot can touch, or
/// those of the names (SceneObstacles). Throws ModelError as SceneObstacles does.
[[nodiscard]] std::vector<Solid> standing_solids(const mjModel* m, int base_body,
                                                 const SceneName& names);

/// The geoms of SceneObstacles where the model has them at its reference, in the frame of the
/// robot's base. Throws ModelError as SceneObstacles does.
[[nodiscard]] std::vector<Solid> scene_solids(const mjModel* m, int base_body,
                                              const SceneName& names);

/// A geom of the scene, in the same frame. Throws ModelError.
[[nodiscard]] Solid scene_geom(const mjModel* m, int base_body, const SceneName& name);

/// Index of a mocap body. Throws ModelError.
[[nodiscard]] int scene_mocap_body(const mjModel* m, const SceneName& name);

/// Position of a body, where the model has it at its reference, in the frame of the robot's base
/// [m].
[[nodiscard]] Eigen::Vector3d scene_position(const mjModel* m, int base_body, int body);

/// Position of a body or site of the scene that is stationary, or of a mocap body, world frame [m].
/// Throws ModelError.
[[nodiscard]] Eigen::Vector3d standing_target(const mjModel* m, const SceneName& name);

}  // namespace tendril
