#include "rendering/framing.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "rendering/offscreen.hpp"
#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {
namespace {

constexpr double kMargin = 0.08;  // of half the image, on each side
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Axes {
  mjtNum forward[3], up[3], right[3];
};

Axes axes_of(const mjvGLCamera& eye) {
  Axes axes;
  std::copy_n(eye.forward, 3, axes.forward);
  std::copy_n(eye.up, 3, axes.up);
  mju_cross(axes.right, axes.forward, axes.up);
  return axes;
}

/// Grows around points.
class Box {
 public:
  void add(const mjtNum point[3]) {
    for (int i = 0; i < 3; ++i) {
      low_[i] = std::min(low_[i], point[i]);
      high_[i] = std::max(high_[i], point[i]);
    }
  }
  [[nodiscard]] double diagonal() const { return mju_dist3(low_, high_); }
  [[nodiscard]] double side(int axis, bool upper) const { return upper ? high_[axis] : low_[axis]; }

 private:
  mjtNum low_[3] = {kInfinity, kInfinity, kInfinity},
         high_[3] = {-kInfinity, -kInfinity, -kInfinity};
};

/// Distance of a point from the box around a geom; 0 inside.
double distance_to(const mjModel& model, const mjData& data, int geom, const mjtNum point[3]) {
  const mjtNum* const box = model.geom_aabb + 6 * geom;
  mjtNum from[3], local[3], outside[3];
  mju_sub3(from, point, data.geom_xpos + 3 * geom);
  mju_mulMatTVec3(local, data.geom_xmat + 9 * geom, from);
  for (int i = 0; i < 3; ++i) outside[i] = std::max(0.0, std::abs(local[i] - box[i]) - box[3 + i]);
  return mju_norm3(outside);
}

}  // namespace

std::vector<int> geoms_to_show(const mjModel& model) {
  const RobotBodies robots(model);
  std::vector<bool> carries(static_cast<std::size_t>(model.nbody), false);  // a robot, and moves
  for (int body = 1; body < model.nbody; ++body) {
    if (robots.base_of_body(body) != body) continue;
    for (int b = model.body_parentid[body]; model.body_weldid[b] != 0; b = model.body_parentid[b])
      carries[static_cast<std::size_t>(b)] = true;
  }
  std::vector<int> geoms;
  for (int geom = 0; geom < model.ngeom; ++geom) {
    const int body = model.geom_bodyid[geom];
    const bool is_included =
        robots.empty() ? model.body_weldid[body] != 0
                       : robots.base_of_geom(geom) != 0 || carries[static_cast<std::size_t>(body)];
    if (is_included && is_shown(model, geom)) geoms.push_back(geom);
  }
  return geoms;
}

void geom_corner(const mjModel& model, const mjData& data, int geom, int corner, mjtNum point[3]) {
  const mjtNum* const box = model.geom_aabb + 6 * geom;  // center and half sizes
  mjtNum local[3];
  for (int i = 0; i < 3; ++i)
    local[i] = box[i] + ((corner >> i & 1) != 0 ? box[3 + i] : -box[3 + i]);
  mju_mulMatVec3(point, data.geom_xmat + 9 * geom, local);
  mju_addTo3(point, data.geom_xpos + 3 * geom);
}

bool is_in_image(const mjvGLCamera& eye, double aspect, const mjtNum point[3]) {
  const Axes axes = axes_of(eye);
  mjtNum from_eye[3];
  for (int i = 0; i < 3; ++i) from_eye[i] = point[i] - eye.pos[i];
  const double depth = mju_dot3(from_eye, axes.forward);
  if (!(depth >= eye.frustum_near && depth <= eye.frustum_far)) return false;
  const double shrink = eye.orthographic != 0 ? 1.0 : eye.frustum_near / depth;
  const double x = shrink * mju_dot3(from_eye, axes.right) - eye.frustum_center;
  const double y = shrink * mju_dot3(from_eye, axes.up);
  const double half_width = 0.5 * aspect * (eye.frustum_top - eye.frustum_bottom);
  return std::abs(x) <= half_width && y >= eye.frustum_bottom && y <= eye.frustum_top;
}

Framing::Framing(const mjModel& model, const mjData& data, const mjvCamera& like, double aspect)
    : aspect_(aspect),
      least_x_{kInfinity, kInfinity},
      least_y_{kInfinity, kInfinity},
      nearest_(kInfinity),
      farthest_(-kInfinity) {
  constexpr double kDegree = mjPI / 180.0, kVertical = 1.0 - 1e-6;
  const Axes seen = axes_of(mjv_camera2GLCamera(&model, &data, &like));
  const double sine = std::clamp(seen.forward[2], -1.0, 1.0);
  // Of a camera that looks straight up or down, the upper side of its image tells the azimuth.
  const double sign = sine > kVertical ? -1.0 : 1.0;
  const mjtNum* const level = std::abs(sine) > kVertical ? seen.up : seen.forward;
  mjv_defaultFreeCamera(&model, &camera_);
  camera_.azimuth = std::atan2(sign * level[1], sign * level[0]) / kDegree;
  camera_.elevation = std::asin(sine) / kDegree;
  camera_.orthographic = 0;

  const mjvGLCamera eye = mjv_camera2GLCamera(&model, &data, &camera_);
  const Axes axes = axes_of(eye);
  mju_copy3(forward_, axes.forward);
  mju_copy3(up_, axes.up);
  mju_copy3(right_, axes.right);
  near_ = eye.frustum_near;
  far_ = eye.frustum_far;
  tangent_y_ = (1.0 - kMargin) * eye.frustum_top / eye.frustum_near;
  tangent_x_ = aspect * tangent_y_;
}

void Framing::add(const mjtNum point[3]) {
  const double x = mju_dot3(point, right_), y = mju_dot3(point, up_), z = mju_dot3(point, forward_);
  least_x_[0] = std::min(least_x_[0], tangent_x_ * z - x);
  least_x_[1] = std::min(least_x_[1], tangent_x_ * z + x);
  least_y_[0] = std::min(least_y_[0], tangent_y_ * z - y);
  least_y_[1] = std::min(least_y_[1], tangent_y_ * z + y);
  nearest_ = std::min(nearest_, z);
  farthest_ = std::max(farthest_, z);
}

void Framing::add_image(const mjModel& model, const mjvGLCamera& eye) {
  const Axes axes = axes_of(eye);
  mjtNum to_center[3];
  for (int i = 0; i < 3; ++i) to_center[i] = model.stat.center[i] - eye.pos[i];
  const double depth = mju_dot3(to_center, axes.forward);
  if (!(depth > eye.frustum_near)) return;
  const double grow = eye.orthographic != 0 ? 1.0 : depth / eye.frustum_near;
  const double half_width = 0.5 * aspect_ * (eye.frustum_top - eye.frustum_bottom);
  for (const double x : {eye.frustum_center - half_width, eye.frustum_center + half_width}) {
    for (const float y : {eye.frustum_bottom, eye.frustum_top}) {
      mjtNum point[3];
      for (int i = 0; i < 3; ++i) {
        point[i] =
            eye.pos[i] + depth * axes.forward[i] + grow * x * axes.right[i] + grow * y * axes.up[i];
      }
      add(point);
    }
  }
}

std::optional<mjvCamera> Framing::camera() const {
  if (!(nearest_ <= farthest_)) return std::nullopt;
  const double x = 0.5 * (least_x_[1] - least_x_[0]), y = 0.5 * (least_y_[1] - least_y_[0]);
  const double z =
      std::min({0.5 * (least_x_[0] + least_x_[1]) / tangent_x_,
                0.5 * (least_y_[0] + least_y_[1]) / tangent_y_, nearest_ - 2.0 * near_});
  if (!(farthest_ - z <= far_)) return std::nullopt;
  mjvCamera camera = camera_;
  camera.distance = 0.5 * (nearest_ + farthest_) - z;
  for (int i = 0; i < 3; ++i)
    camera.lookat[i] = x * right_[i] + y * up_[i] + (z + camera.distance) * forward_[i];
  return camera;
}

Subject::Subject(const mjModel& model, double near_to) : model_(&model), near_(near_to) {
  const RobotBodies robots(model);
  std::map<int, std::size_t> group_of;  // of a body
  for (int geom = 0; geom < model.ngeom; ++geom) {
    if (!is_shown(model, geom)) continue;
    const int body = model.geom_bodyid[geom];
    if (model.body_weldid[body] != 0 || robots.base_of_geom(geom) != 0 ||
        model.body_mocapid[model.body_rootid[body]] >= 0) {
      moving_.push_back(geom);
    } else if (body == 0) {
      still_.push_back({geom});
    } else {
      const auto [group, is_new] = group_of.emplace(body, still_.size());
      if (is_new) still_.emplace_back();
      still_[group->second].push_back(geom);
    }
  }
}

void Subject::add(const mjData& data) {
  for (const int geom : moving_) {
    Sphere sphere{{}, model_->geom_rbound[geom]};
    mju_copy3(sphere.center.data(), data.geom_xpos + 3 * geom);
    spheres_.push_back(sphere);
    for (int corner = 0; corner < 8; ++corner)
      geom_corner(*model_, data, geom, corner, corners_.emplace_back().data());
  }
}

void Subject::add_room(double fraction) {
  if (corners_.empty()) return;
  Box all;
  for (const Point& point : corners_) all.add(point.data());
  const double room = fraction * all.diagonal();
  for (const bool right : {false, true}) {
    for (const bool back : {false, true}) {
      for (const bool top : {false, true}) {
        room_.push_back({all.side(0, right) + (right ? room : -room),
                         all.side(1, back) + (back ? room : -room), all.side(2, top)});
      }
    }
  }
}

std::vector<int> Subject::surroundings(const mjData& data) const {
  Box all;
  for (const Point& point : corners_) all.add(point.data());
  const double size = corners_.empty() ? 0.0 : all.diagonal();
  std::vector<int> shown;
  for (const std::vector<int>& geoms : still_) {
    Box box;
    for (const int geom : geoms) {
      for (int corner = 0; corner < 8; ++corner) {
        mjtNum point[3];
        geom_corner(*model_, data, geom, corner, point);
        box.add(point);
      }
    }
    const bool is_near =
        box.diagonal() <= size && std::any_of(geoms.begin(), geoms.end(), [&](int geom) {
          return std::any_of(spheres_.begin(), spheres_.end(), [&](const Sphere& s) {
            return distance_to(*model_, data, geom, s.center.data()) < s.radius + near_ * size;
          });
        });
    if (is_near) shown.insert(shown.end(), geoms.begin(), geoms.end());
  }
  return shown;
}

void Subject::add_to(Framing& framing, const mjData& data) const {
  for (const Point& point : corners_) framing.add(point.data());
  for (const Point& point : room_) framing.add(point.data());
  for (const int geom : surroundings(data)) {
    for (int corner = 0; corner < 8; ++corner) {
      mjtNum point[3];
      geom_corner(*model_, data, geom, corner, point);
      framing.add(point);
    }
  }
}

mjvCamera scene_camera(const mjModel& model, const mjData& data, const mjvCamera& like,
                       double aspect) {
  constexpr double kNear = 1.0, kRoom = 0.15;
  Framing framing(model, data, like, aspect);
  Subject subject(model, kNear);
  subject.add(data);
  subject.add_room(kRoom);
  subject.add_to(framing, data);
  return framing.camera().value_or(like);
}

mjvCamera complete_camera(const mjModel& model, const mjData& data, const mjvCamera& own,
                          double aspect) {
  const mjvGLCamera eye = mjv_camera2GLCamera(&model, &data, &own);
  Framing framing(model, data, own, aspect);
  framing.add_image(model, eye);
  bool all_seen = true;
  for (const int geom : geoms_to_show(model)) {
    for (int corner = 0; corner < 8; ++corner) {
      mjtNum point[3];
      geom_corner(model, data, geom, corner, point);
      framing.add(point);
      all_seen = all_seen && is_in_image(eye, aspect, point);
    }
  }
  return all_seen ? own : framing.camera().value_or(own);
}

}  // namespace tendril::simulation
