#include "apps/tendril/window/mouse_force.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tendril {
namespace {

constexpr double kFinger = 14.0;  // pixels around a target
/// Strength of the spring that pulls a body: force over the weight of its robot, at a tenth of the
/// scene's size.
constexpr double kPullWeights = 3.0;
constexpr double kEarthGravity = 9.81;  // m/s^2

/// Distance of the cursor from a body's origin as the camera sees it, in pixels; infinity: behind
/// the camera.
double distance_in_image(const mjtNum* position, const mjvGLCamera& eye,
                         const MouseForce::Cursor& cursor) {
  mjtNum from_eye[3], right[3];
  const mjtNum forward[3] = {eye.forward[0], eye.forward[1], eye.forward[2]};
  const mjtNum up[3] = {eye.up[0], eye.up[1], eye.up[2]};
  for (int i = 0; i < 3; ++i) from_eye[i] = position[i] - eye.pos[i];
  mju_cross(right, forward, up);
  const double depth = mju_dot3(from_eye, forward);
  if (depth <= eye.frustum_near) return std::numeric_limits<double>::infinity();
  // In the plane of the frustum's near side, then in pixels.
  const double shrink = eye.orthographic != 0 ? 1.0 : eye.frustum_near / depth;
  const double height = eye.frustum_top - eye.frustum_bottom;
  const double pixels = cursor.viewport.height / height;
  const double x = 0.5 * cursor.viewport.width +
                   pixels * (shrink * mju_dot3(from_eye, right) - eye.frustum_center);
  const double y = pixels * (shrink * mju_dot3(from_eye, up) - eye.frustum_bottom);
  return std::hypot(x - cursor.x, y - cursor.y);
}

/// The mocap body within kFinger pixels of the cursor; -1: none.
int target_under(const mjModel& model, const mjData& data, const mjvScene& scene,
                 const MouseForce::Cursor& cursor) {
  const mjvGLCamera eye = mjv_averageCamera(&scene.camera[0], &scene.camera[1]);
  if (!(eye.frustum_top - eye.frustum_bottom > 0.0)) return -1;
  int nearest = -1;
  double nearest_distance = kFinger;
  for (int body = 1; body < model.nbody; ++body) {
    if (!MouseForce::is_target(model, body)) continue;
    const double distance = distance_in_image(data.xpos + 3 * body, eye, cursor);
    if (distance >= nearest_distance) continue;
    nearest = body;
    nearest_distance = distance;
  }
  return nearest;
}

}  // namespace

void MouseForce::forget() {
  mjv_defaultPerturb(&perturb_);
  pulled_body_ = 0;
  pull_force_ = 0.0;
}

MouseForce::Hit MouseForce::find(const mjModel& model, const mjData& data, const mjvOption& view,
                                 const mjvScene& scene, const Cursor& cursor) {
  Hit hit;
  hit.body = target_under(model, data, scene, cursor);
  if (hit.body >= 0) return hit;
  mjtNum point[3];
  int geom = -1, flex = -1, skin = -1;
  const double width = cursor.viewport.width, height = cursor.viewport.height;
  hit.body = mjv_select(&model, &data, &view, width / height, cursor.x / width, cursor.y / height,
                        &scene, point, &geom, &flex, &skin);
  if (hit.body > 0) {
    mju_subFrom3(point, data.xpos + 3 * hit.body);
    mju_mulMatTVec3(hit.point, data.xmat + 9 * hit.body, point);
  }
  return hit;
}

void MouseForce::select(const Hit& hit) {
  perturb_.select = std::max(0, hit.body);
  perturb_.flexselect = perturb_.skinselect = -1;
  mju_copy3(perturb_.localpos, hit.point);
}

void MouseForce::select_next_target(const mjModel& model) {
  for (int i = 1; i < model.nbody; ++i) {
    const int body = (std::max(0, perturb_.select) + i) % static_cast<int>(model.nbody);
    if (!is_target(model, body)) continue;
    perturb_.select = body;
    mju_zero3(perturb_.localpos);
    return;
  }
}

void MouseForce::begin(const mjModel& model, mjData& data, const mjvScene& scene, bool rotates) {
  mjv_initPerturb(&model, &data, &scene, &perturb_);
  perturb_.active = rotates ? mjPERT_ROTATE : mjPERT_TRANSLATE;
}

void MouseForce::move(const mjModel& model, const mjData& data, const mjvScene& scene, double dx,
                      double dy, bool shift, bool right) {
  const bool rotates = perturb_.active == mjPERT_ROTATE;
  const bool horizontal = shift || (!rotates && right && is_target(model, perturb_.select));
  const int action = rotates ? (horizontal ? mjMOUSE_ROTATE_H : mjMOUSE_ROTATE_V)
                             : (horizontal ? mjMOUSE_MOVE_H : mjMOUSE_MOVE_V);
  mjv_movePerturb(&model, &data, action, dx, dy, &scene, &perturb_);
}

void MouseForce::act(const mjModel& model, mjData& data) {
  // Those of the experiment's faults stay.
  if (pulled_body_ > 0) mju_zero(data.xfrc_applied + 6 * pulled_body_, 6);
  pulled_body_ = 0;
  pull_force_ = 0.0;
  if (perturb_.active == 0) return;
  mjv_applyPerturbPose(&model, &data, &perturb_, 0);
  const int body = perturb_.select;
  if (!is_target(model, body)) pulled_body_ = body;
  if (perturb_.active != mjPERT_TRANSLATE || is_target(model, body)) {
    mjv_applyPerturbForce(&model, &data, &perturb_);
    return;
  }
  const double weight = model.body_subtreemass[model.body_rootid[body]] * kEarthGravity;
  const double stiffness = kPullWeights * weight / (0.1 * model.stat.extent);
  mjtNum point[3], force[3], lever[3];
  mju_mulMatVec3(point, data.xmat + 9 * body, perturb_.localpos);
  mju_addTo3(point, data.xpos + 3 * body);
  mju_sub3(force, perturb_.refselpos, point);
  mju_scl3(force, force, stiffness);
  mju_sub3(lever, point, data.xipos + 3 * body);
  mju_copy3(data.xfrc_applied + 6 * body, force);
  mju_cross(data.xfrc_applied + 6 * body + 3, lever, force);
  pull_force_ = mju_norm3(force);
}

void MouseForce::move_paused(const mjModel& model, mjData& data) const {
  mjv_applyPerturbPose(&model, &data, &perturb_, 1);
}

}  // namespace tendril
