#include "apps/tendril/window/camera_control.hpp"

#include <algorithm>
#include <cmath>

#include "rendering/framing.hpp"

namespace tendril {

CameraControl::CameraControl(simulation::ViewSource& source,
                             const simulation::ImageOptions& options)
    : camera_(source.start_camera(options)) {
  if (camera_.type == mjCAMERA_FIXED) index_ = camera_.fixedcamid;
}

void CameraControl::choose(int index, simulation::ViewSource& source, const mjrRect& shown) {
  index_ = index < source.model().ncam ? index : -1;
  if (index_ >= 0) {
    camera_.type = mjCAMERA_FIXED;
    camera_.fixedcamid = index_;
    return;
  }
  mjv_defaultFreeCamera(&source.model(), &camera_);
  if (shown.width > 0 && shown.height > 0)
    camera_ = simulation::scene_camera(source.model(), source.data(), camera_,
                                       static_cast<double>(shown.width) / shown.height);
}

void CameraControl::choose_next(simulation::ViewSource& source, const mjrRect& shown) {
  choose(index_ + 1, source, shown);
}

void CameraControl::keep(simulation::ViewSource& source, const mjrRect& shown) {
  if (index_ >= source.model().ncam) choose(-1, source, shown);
}

void CameraControl::move(const mjModel& model, int action, double dx, double dy,
                         const mjvScene& scene) {
  make_free(model, scene);
  mjv_moveCamera(&model, action, dx, dy, &camera_);
}

/// A fixed camera cannot be rotated: switches to the free camera with, as far as possible, the same
/// view.
void CameraControl::make_free(const mjModel& model, const mjvScene& scene) {
  if (camera_.type == mjCAMERA_FREE) return;
  const mjvGLCamera& eye = scene.camera[0];
  const double x = eye.forward[0], y = eye.forward[1], z = eye.forward[2];
  const mjtNum* const center = model.stat.center;
  double along = 0.0;  // to the point of the line of sight nearest to the model's center
  for (int i = 0; i < 3; ++i) along += (center[i] - eye.pos[i]) * eye.forward[i];
  camera_.type = mjCAMERA_FREE;
  camera_.distance = std::max(along, 0.1 * model.stat.extent);
  for (int i = 0; i < 3; ++i) camera_.lookat[i] = eye.pos[i] + camera_.distance * eye.forward[i];
  camera_.azimuth = std::atan2(y, x) * 180.0 / mjPI;
  camera_.elevation = std::atan2(z, std::hypot(x, y)) * 180.0 / mjPI;
  index_ = -1;
}

}  // namespace tendril
