#pragma once

#include <mujoco/mujoco.h>

namespace tendril::simulation {

/// Volume in which directional lights need shadows: around all that throws some. The engine spreads
/// the pixels of its shadow map over a fixed part of the scene, around the light's position, and
/// has none behind the light. Tested by: shadow_volume_test.
class ShadowVolume {
 public:
  /// Adds geoms that are drawn and are no floors. One that leaves the volume makes it larger than
  /// needed, so that it rarely grows.
  /// @param data  with the poses of geoms
  void add(const mjModel& model, const mjData& data);

  /// Moves the directional lights of a scene back from the volume and spreads the shadow map over
  /// it. With a volume far larger than what the model's shadowclip asks for, all of it remains. To
  /// be called between mjv_updateScene and mjr_render.
  void aim(const mjModel& model, mjvScene& scene, mjrContext& context) const;

  [[nodiscard]] bool empty() const noexcept { return !(low_[0] <= high_[0]); }
  void center(mjtNum point[3]) const;
  [[nodiscard]] double radius() const;  ///< [m]

 private:
  mjtNum low_[3] = {1.0, 1.0, 1.0}, high_[3] = {-1.0, -1.0, -1.0};
};

}  // namespace tendril::simulation
