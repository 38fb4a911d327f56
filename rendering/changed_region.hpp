#pragma once

#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::simulation {

/// The part of an image in which a scene differs from the one before: the rest need not be drawn
/// again. Most of a video is a floor and a sky that do not move.
class ChangedRegion {
 public:
  /// Rectangles without common pixels in which the scene can differ from that of the last call,
  /// with the shadows of what has moved; one of all pixels at the first call, and when the camera,
  /// a light, a plane or anything else has changed whose reach is not known. Held by:
  /// offscreen_test "frames of a film". Removes the geoms from the scene that are not seen there,
  /// nor their shadows.
  [[nodiscard]] std::vector<mjrRect> update(mjvScene& scene, int width, int height);

 private:
  std::vector<mjvGeom> geoms_;
  std::vector<mjvLight> lights_;
  mjvGLCamera camera_{};
};

/// The smallest rectangle around some, which must not be none.
[[nodiscard]] mjrRect rectangle_around(const std::vector<mjrRect>& parts);

/// The camera of a part of an image.
[[nodiscard]] mjvGLCamera part_of(const mjvGLCamera& camera, const mjrRect& part, int width,
                                  int height);

}  // namespace tendril::simulation
