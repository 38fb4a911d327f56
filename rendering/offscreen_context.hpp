#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>
#include <vector>

namespace tendril::simulation {

/// A current OpenGL context without a window, by EGL, which is loaded when the first one is
/// created: scenes can be run without it.
class OffscreenContext {
 public:
  /// Throws RenderError if there is no usable display.
  OffscreenContext();
  ~OffscreenContext();
  OffscreenContext(const OffscreenContext&) = delete;
  OffscreenContext& operator=(const OffscreenContext&) = delete;

  /// Throws RenderError if the context is lost.
  void make_current();

  /// Restricts drawing into the current buffer to rectangles, until draw_everywhere. What else
  /// there is may be drawn nevertheless: for speed.
  /// @param around  all of them; its lower left corner is that of the buffer
  void draw_only(const std::vector<mjrRect>& parts, const mjrRect& around);
  void draw_everywhere();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Says what images lack on this computer; empty: nothing that can be told without drawing.
[[nodiscard]] std::string missing_for_images();

}  // namespace tendril::simulation
