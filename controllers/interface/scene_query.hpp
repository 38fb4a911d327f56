#pragma once

#include <Eigen/Core>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/solid.hpp"
#include "tendril/kinematics/serial_chain.hpp"

namespace tendril {

/// Obstacles that are measured in every step, as they are when a controller is made.
struct MeasuredObstacles {
  const Obstacles& obstacles;  ///< base frame; those that may move in it come first
  int moving_count = 0;        ///< number of those
};

/// Questions of a controller about the scene that its robot is in, asked while it is made. Every
/// question names a setting of the controller whose text is a name in the scene
/// (`setting::geom_name`, `setting::body_name`, `setting::obstacle_names`). What is not asked is
/// not looked up, and not measured: without `measure_target` a measurement has no target. Answers
/// are those of the model at its reference; a controller is reused only where the answers to all
/// its questions are the same.
///
/// The base class is a scene with nothing in it, in which a controller can be made without an
/// engine: tests override what they need. Every question throws ModelError
/// `<setting> = <text>: must be ...` for a name that does not suit.
class SceneQuery {
 public:
  SceneQuery() = default;
  SceneQuery(const SceneQuery&) = delete;
  SceneQuery& operator=(const SceneQuery&) = delete;
  virtual ~SceneQuery() = default;

  /// Measures the pose of a mocap body in every step: `has_target` and the pose of a measurement.
  /// Nothing if the setting is empty.
  virtual void measure_target(const char* /*setting*/) {}
  /// Position of a target of which a path is planned when the controller is made, world frame [m]:
  /// a body or a stationary site, or a mocap body, which is measured too.
  [[nodiscard]] virtual Eigen::Vector3d standing_target(const char* setting);

  /// The obstacles at their poses in every step: `obstacles` of a measurement, the same shapes in
  /// the same order. The setting names geoms, or bodies with their subtrees, separated by spaces;
  /// empty: all geoms that can collide with the robot. Those that touch an arm's base have room
  /// for its straight body with the margin [m] (with_room_at_base). The answer lives as long as the
  /// call that makes the controller.
  [[nodiscard]] virtual MeasuredObstacles measure_obstacles(const char* setting,
                                                            double margin = 0.0);
  /// Returns those of the same selection that are stationary, world frame.
  [[nodiscard]] virtual Obstacles standing_obstacles(const char* setting);
  /// The same selection as plain solids, base frame.
  [[nodiscard]] virtual std::vector<Solid> solids(const char* setting);

  /// The joints that carry an arm's base, such as those of a robot arm with it on its flange; their
  /// positions are measured and commanded in every step. Throws ModelError if there are none, or
  /// one has no position servo. The answer lives as long as the call that makes the controller.
  [[nodiscard]] virtual const SerialChain& carrier();
  /// A geom that is not the robot's, base frame.
  [[nodiscard]] virtual Solid geom(const char* setting);
  /// Position of a mocap body, base frame [m].
  [[nodiscard]] virtual Eigen::Vector3d position(const char* setting);
};

/// The obstacles of a measurement; null: none.
[[nodiscard]] const Obstacles& obstacles_or_none(const Obstacles* measured) noexcept;

/// The scene with nothing in it.
[[nodiscard]] SceneQuery& empty_scene() noexcept;

}  // namespace tendril
