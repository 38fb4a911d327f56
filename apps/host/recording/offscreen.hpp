#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>

#include "apps/host/recording/image.hpp"

namespace tendril::host {

/// The camera for pictures of a scene: the one named `name`; with an empty name the camera
/// `report`, else the first fixed one, else a free one that looks at the whole model. Throws
/// RenderError for an unknown name.
[[nodiscard]] mjvCamera picture_camera(const mjModel& model, const std::string& name = {});

/// What pictures show: geoms and sites of the default groups, contact forces as arrows.
[[nodiscard]] mjvOption picture_options();

/// Draws force arrows at a length that suits the scene, where the engine divides by the mean mass
/// of the bodies, which makes them longer than the scene for a light robot: a small force f has the
/// length kArrowPerNewton f extent, a large one approaches kLongestArrow extent. To be called
/// between mjv_updateScene and mjr_render.
///
///     length / extent = a f / (1 + a f / b),  a = kArrowPerNewton, b = kLongestArrow
void scale_force_arrows(const mjModel& model, mjvScene& scene) noexcept;
inline constexpr double kArrowPerNewton = 0.1;  ///< share of the model's extent per newton
inline constexpr double kLongestArrow = 0.25;   ///< share of the model's extent

/// Renders states of one model without a window, by EGL (a GPU or Mesa's software renderer).
/// Belongs to the thread that made it.
class OffscreenRenderer {
 public:
  /// @param width, height  pixels, 16 to 8192
  /// Throws RenderError when there is no OpenGL.
  OffscreenRenderer(const mjModel& model, int width, int height);
  ~OffscreenRenderer();
  OffscreenRenderer(const OffscreenRenderer&) = delete;
  OffscreenRenderer& operator=(const OffscreenRenderer&) = delete;

  /// The state as the camera sees it; positions and contacts must be computed (mj_forward). The
  /// image is valid until the next call.
  const Image& render(mjData& data, const mjvCamera& camera);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tendril::host
