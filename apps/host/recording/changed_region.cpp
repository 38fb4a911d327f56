#include "apps/host/recording/changed_region.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

namespace tendril::host {
namespace {

constexpr int kMargin = 16;  // pixels: soft edges of shadows, samples of edges
constexpr float kGrazing = 0.1F;  // of light that comes nearly from the side: sine of its height

template <class T>
bool equal(const T& a, const T& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b));
}

bool equal(const mjvGeom& a, const mjvGeom& b) {
  return a.type == b.type && a.dataid == b.dataid && a.objtype == b.objtype && a.objid == b.objid &&
         a.category == b.category && a.matid == b.matid && a.texcoord == b.texcoord &&
         equal(a.size, b.size) && equal(a.pos, b.pos) && equal(a.mat, b.mat) &&
         equal(a.rgba, b.rgba) && a.emission == b.emission && a.specular == b.specular &&
         a.shininess == b.shininess && a.reflectance == b.reflectance && a.label[0] == b.label[0];
}

bool equal(const mjvLight& a, const mjvLight& b) {
  return equal(a.pos, b.pos) && equal(a.dir, b.dir) && equal(a.diffuse, b.diffuse) &&
         equal(a.ambient, b.ambient) && a.type == b.type && a.castshadow == b.castshadow;
}

bool equal(const mjvGLCamera& a, const mjvGLCamera& b) {
  return equal(a.pos, b.pos) && equal(a.forward, b.forward) && equal(a.up, b.up) &&
         a.frustum_center == b.frustum_center && a.frustum_bottom == b.frustum_bottom &&
         a.frustum_top == b.frustum_top && a.frustum_near == b.frustum_near &&
         a.frustum_far == b.frustum_far;
}

/// Half the edges of a box around a geom, in its frame; nothing for those that may be anywhere.
std::optional<std::array<float, 3>> half_box(const mjvGeom& geom) {
  const float* const size = geom.size;
  switch (geom.type) {
    case mjGEOM_SPHERE:
      return {{size[0], size[0], size[0]}};
    case mjGEOM_CAPSULE:
      return {{size[0], size[0], size[0] + size[2]}};
    case mjGEOM_CYLINDER:
    case mjGEOM_ELLIPSOID:
    case mjGEOM_BOX:
      return {{size[0], size[1], size[2]}};
    case mjGEOM_ARROW:
    case mjGEOM_ARROW1:
    case mjGEOM_ARROW2:  // from its origin on, with a head
      return {{3 * size[0], 3 * size[0], 1.5F * size[2]}};
    case mjGEOM_MESH:
    case mjGEOM_SDF:
      if (!(geom.modelrbound > 0.0F)) return std::nullopt;
      return {{geom.modelrbound, geom.modelrbound, geom.modelrbound}};
    default:
      return std::nullopt;
  }
}

using Point = std::array<float, 3>;

std::array<Point, 8> corners(const mjvGeom& geom, const std::array<float, 3>& half) {
  std::array<Point, 8> all;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const float local[3] = {(k & 1U) != 0 ? half[0] : -half[0], (k & 2U) != 0 ? half[1] : -half[1],
                            (k & 4U) != 0 ? half[2] : -half[2]};
    for (std::size_t i = 0; i < 3; ++i) {
      all[k][i] = geom.pos[i] + geom.mat[3 * i] * local[0] + geom.mat[3 * i + 1] * local[1] +
                  geom.mat[3 * i + 2] * local[2];
    }
  }
  return all;
}

/// Height below which nothing is drawn.
float lowest(const mjvScene& scene) {
  float low = std::numeric_limits<float>::infinity();
  for (int i = 0; i < scene.ngeom; ++i) {
    const mjvGeom& geom = scene.geoms[i];
    const auto half = half_box(geom);
    const float reach =
        half ? std::hypot((*half)[0], (*half)[1], (*half)[2]) : std::max(0.0F, geom.modelrbound);
    low = std::min(low, geom.pos[2] - reach);
  }
  return low;
}

/// Grows around points of the scene.
class Region {
 public:
  Region(const mjvGLCamera& eye, int width, int height) : eye_(eye), width_(width), height_(height) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
      right_[i] = eye.forward[j] * eye.up[k] - eye.forward[k] * eye.up[j];
    }
  }

  /// Returns whether the point is in front of the camera.
  bool add(const Point& point) {
    float along = 0.0F, right = 0.0F, up = 0.0F;
    for (std::size_t i = 0; i < 3; ++i) {
      const float from_eye = point[i] - eye_.pos[i];
      along += from_eye * eye_.forward[i];
      right += from_eye * right_[i];
      up += from_eye * eye_.up[i];
    }
    if (!(along > eye_.frustum_near)) return false;
    const float shrink = eye_.orthographic != 0 ? 1.0F : eye_.frustum_near / along;
    const float pixels = static_cast<float>(height_) / (eye_.frustum_top - eye_.frustum_bottom);
    const float x = 0.5F * static_cast<float>(width_) + pixels * (shrink * right - eye_.frustum_center);
    const float y = pixels * (shrink * up - eye_.frustum_bottom);
    left_ = std::min(left_, x);
    right_end_ = std::max(right_end_, x);
    bottom_ = std::min(bottom_, y);
    top_ = std::max(top_, y);
    return true;
  }

  [[nodiscard]] mjrRect pixels() const {
    const auto clamp = [](float value, int most) {
      return static_cast<int>(std::clamp(value, 0.0F, static_cast<float>(most)));
    };
    const int left = clamp(std::floor(left_) - kMargin, width_);
    const int bottom = clamp(std::floor(bottom_) - kMargin, height_);
    return {left, bottom, std::max(0, clamp(std::ceil(right_end_) + kMargin, width_) - left),
            std::max(0, clamp(std::ceil(top_) + kMargin, height_) - bottom)};
  }

 private:
  mjvGLCamera eye_;
  int width_, height_;
  float right_[3];
  float left_ = 1e9F, right_end_ = -1e9F, bottom_ = 1e9F, top_ = -1e9F;
};

/// Adds a geom and its shadows. Returns false if they may be anywhere.
bool add(Region& region, const mjvGeom& geom, const mjvScene& scene, float floor) {
  const auto half = half_box(geom);
  if (!half || geom.label[0] != '\0') return false;
  for (const Point& corner : corners(geom, *half)) {
    if (!region.add(corner)) return false;
    if (scene.flags[mjRND_SHADOW] == 0) continue;
    for (int i = 0; i < scene.nlight; ++i) {
      const mjvLight& light = scene.lights[i];
      if (light.castshadow == 0) continue;
      Point ray;
      for (std::size_t k = 0; k < 3; ++k)
        ray[k] = light.type == mjLIGHT_DIRECTIONAL ? light.dir[k] : corner[k] - light.pos[k];
      if (!(ray[2] < -kGrazing * std::hypot(ray[0], ray[1], ray[2]))) return false;
      const float t = (floor - corner[2]) / ray[2];
      if (!region.add({corner[0] + t * ray[0], corner[1] + t * ray[1], floor})) return false;
    }
  }
  return true;
}

}  // namespace

mjrRect ChangedRegion::update(const mjvScene& scene, int width, int height) {
  const mjvGLCamera eye = mjv_averageCamera(scene.camera, scene.camera + 1);
  Region region(eye, width, height);
  bool known = !geoms_.empty() && scene.nskin == 0 && scene.nflex == 0 && equal(eye, camera_) &&
               std::equal(lights_.begin(), lights_.end(), scene.lights, scene.lights + scene.nlight,
                          [](const mjvLight& a, const mjvLight& b) { return equal(a, b); });
  const std::size_t before = geoms_.size(), now = static_cast<std::size_t>(scene.ngeom);
  const float floor = known ? lowest(scene) : 0.0F;
  for (std::size_t i = 0; known && i < std::max(before, now); ++i) {
    if (i < before && i < now && equal(geoms_[i], scene.geoms[i])) continue;
    known = (i >= before || add(region, geoms_[i], scene, floor)) &&
            (i >= now || add(region, scene.geoms[i], scene, floor));
  }
  geoms_.assign(scene.geoms, scene.geoms + scene.ngeom);
  lights_.assign(scene.lights, scene.lights + scene.nlight);
  camera_ = eye;
  return known ? region.pixels() : mjrRect{0, 0, width, height};
}

mjvGLCamera part_of(const mjvGLCamera& camera, const mjrRect& part, int width, int height) {
  mjvGLCamera eye = camera;
  const float scale = (camera.frustum_top - camera.frustum_bottom) / static_cast<float>(height);
  eye.frustum_bottom = camera.frustum_bottom + scale * static_cast<float>(part.bottom);
  eye.frustum_top = eye.frustum_bottom + scale * static_cast<float>(part.height);
  eye.frustum_center = camera.frustum_center +
                       scale * (static_cast<float>(part.left) + 0.5F * static_cast<float>(part.width) -
                                0.5F * static_cast<float>(width));
  return eye;
}

}  // namespace tendril::host
