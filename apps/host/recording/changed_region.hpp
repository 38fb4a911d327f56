#pragma once

#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::host {

/// The part of a picture in which a scene differs from the one before: the rest need not be drawn
/// again. Most of a film is a floor and a sky that stand still.
class ChangedRegion {
 public:
  /// Pixels in which the scene can differ from that of the last call, with the shadows of what has
  /// moved; all of them at the first call, and when the camera, a light, a plane or anything else
  /// has changed whose reach is not known. Held by: offscreen_test "frames of a film".
  [[nodiscard]] mjrRect update(const mjvScene& scene, int width, int height);

 private:
  std::vector<mjvGeom> geoms_;
  std::vector<mjvLight> lights_;
  mjvGLCamera camera_{};
};

/// The camera of a part of a picture.
[[nodiscard]] mjvGLCamera part_of(const mjvGLCamera& camera, const mjrRect& part, int width,
                                  int height);

}  // namespace tendril::host
