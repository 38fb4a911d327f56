#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rendering/image.hpp"

namespace tendril::simulation {

/// Throws ModelError with the names of all cameras unless the scene has a camera `name` or the name
/// is empty.
void require_camera(const mjModel& model, const std::string& name);

/// Returns the camera for images of a scene: the camera `name`; if the name is empty, the camera
/// `report`, else the first one that stands still, else a free one that shows the whole model.
/// Throws ModelError like require_camera.
[[nodiscard]] mjvCamera image_camera(const mjModel& model, const std::string& name = {});

/// Returns the visualization options of images: geoms and sites of the default groups, contact
/// forces as arrows.
[[nodiscard]] mjvOption image_options();

/// Tells whether images show an object itself, or a skin in its place: not a plane or height field.
[[nodiscard]] bool is_shown(const mjModel& model, int geom);

/// Options of a drawing.
struct Drawing {
  bool forces = true;        ///< contact forces as arrows
  bool links = false;        ///< continuum arms as the links that touch, not as smooth bodies
  bool transparent = false;  ///< without sky, and without floors: planes and height fields
  bool draft = false;        ///< coarse: without anti-aliasing, small shadow maps
};

/// Makes the view of a camera on a moving body what such a camera would see: also what is near to
/// it (the engine's near plane is a fraction of the whole scene, in a lumen behind the wall), walls
/// without transparency, and neither forces nor plans. To be called right after mjv_updateScene.
void see_from_body(const mjModel& model, const mjvCamera& camera, mjvScene& scene) noexcept;

/// Scales force arrows to the scene; the engine divides by the mean mass of the bodies, which makes
/// arrows longer than the scene for a light robot. A small force f has the length kArrowPerNewton f
/// extent; the length of a large one approaches kLongestArrow extent. To be called between
/// mjv_updateScene and mjr_render.
///
///     length / extent = a f / (1 + a f / b),  a = kArrowPerNewton, b = kLongestArrow
void scale_force_arrows(const mjModel& model, mjvScene& scene) noexcept;
inline constexpr double kArrowPerNewton = 0.1;  ///< fraction of the model's extent per newton
inline constexpr double kLongestArrow = 0.25;   ///< fraction of the model's extent

/// Renders states of one model without a window, by EGL (a GPU or Mesa's software renderer).
/// To be used only by the thread that created it.
class OffscreenRenderer {
 public:
  /// @param width, height  pixels, 16 to 8192
  /// Throws RenderError if there is no OpenGL.
  OffscreenRenderer(const mjModel& model, int width, int height, const Drawing& drawing = {});
  ~OffscreenRenderer();
  OffscreenRenderer(const OffscreenRenderer&) = delete;
  OffscreenRenderer& operator=(const OffscreenRenderer&) = delete;

  /// Spreads the shadow map of directional lights over a state that will be drawn, whose poses have
  /// been computed, and those of earlier calls. Without a call it is spread as the model says.
  void expect(const mjData& data);

  /// Returns an image of the state, valid until the next call; positions and contacts must have
  /// been computed (mj_forward).
  /// @param more  drawn too, as far as there is room: see geoms
  const Image& render(mjData& data, const mjvCamera& camera, std::span<const mjvGeom> more = {});

  /// Returns what is drawn of some geoms in a state whose positions have been computed: the smooth
  /// body of their arm instead of links.
  /// @param chosen  for each geom of the model whether it is included
  [[nodiscard]] std::vector<mjvGeom> geoms(mjData& data, const std::vector<bool>& chosen);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tendril::simulation
