#pragma once

#include <mujoco/mujoco.h>

#include "apps/tendril/window/view_source.hpp"

namespace tendril {

/// The camera of the window: one of the scene's, or a free one that the mouse moves.
class CameraControl {
 public:
  CameraControl(simulation::ViewSource& source, const simulation::ImageOptions& options);

  [[nodiscard]] mjvCamera& camera() noexcept { return camera_; }

  /// @param index  of a camera of the scene; -1 and those it does not have: a free one that shows
  ///               the scene as it is
  /// @param shown  the image, in pixels
  void choose(int index, simulation::ViewSource& source, const mjrRect& shown);
  /// Chooses the next camera of the scene; after the last one the free one.
  void choose_next(simulation::ViewSource& source, const mjrRect& shown);
  /// Keeps the camera after a change of the scene; chooses the free one if it is gone.
  void keep(simulation::ViewSource& source, const mjrRect& shown);

  /// Moves the free camera; a fixed one gives its view to it.
  /// @param action  one of mjtMouse
  void move(const mjModel& model, int action, double dx, double dy, const mjvScene& scene);

 private:
  void make_free(const mjModel& model, const mjvScene& scene);

  mjvCamera camera_{};
  int index_ = -1;  ///< -1: free
};

}  // namespace tendril
