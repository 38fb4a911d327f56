#include "rendering/changed_region.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace tendril::simulation {
namespace {

constexpr int kMargin = 16;  // pixels: soft edges of shadows, samples of edges
constexpr int kTile = 16;    // pixels: edges of the rectangles
constexpr int kPartCost =
    4000;  // pixels: drawing so many takes as long as leaving out another part
constexpr float kGrazing = 0.1F;  // of light that comes nearly from the side: sine of its height

template <class T>
bool equal(const T& a, const T& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b));
}

/// Tells whether they look the same.
bool equal(const mjvGeom& a, const mjvGeom& b) {
  return a.type == b.type && a.dataid == b.dataid && a.category == b.category &&
         a.matid == b.matid && a.texcoord == b.texcoord && equal(a.size, b.size) &&
         equal(a.pos, b.pos) && equal(a.mat, b.mat) && equal(a.rgba, b.rgba) &&
         a.emission == b.emission && a.specular == b.specular && a.shininess == b.shininess &&
         a.reflectance == b.reflectance && a.label[0] == b.label[0];
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

/// Projection of points of a scene into its image.
class Projection {
 public:
  Projection(const mjvGLCamera& eye, int width, int height)
      : eye_(eye), width_(width), height_(height) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
      right_[i] = eye.forward[j] * eye.up[k] - eye.forward[k] * eye.up[j];
    }
  }

  /// Projects a point to pixels from the lower left; nothing for points that are not in front of
  /// the camera.
  [[nodiscard]] std::optional<std::array<float, 2>> operator()(const Point& point) const {
    float along = 0.0F, right = 0.0F, up = 0.0F;
    for (std::size_t i = 0; i < 3; ++i) {
      const float from_eye = point[i] - eye_.pos[i];
      along += from_eye * eye_.forward[i];
      right += from_eye * right_[i];
      up += from_eye * eye_.up[i];
    }
    if (!(along > eye_.frustum_near)) return std::nullopt;
    const float shrink = eye_.orthographic != 0 ? 1.0F : eye_.frustum_near / along;
    const float pixels = static_cast<float>(height_) / (eye_.frustum_top - eye_.frustum_bottom);
    return {{0.5F * static_cast<float>(width_) + pixels * (shrink * right - eye_.frustum_center),
             pixels * (shrink * up - eye_.frustum_bottom)}};
  }

 private:
  mjvGLCamera eye_;
  int width_, height_;
  float right_[3];
};

/// A rectangle of an image that grows around points, in pixels.
struct Extent {
  float left = 1e9F, right = -1e9F, bottom = 1e9F, top = -1e9F;

  void add(const std::array<float, 2>& at) {
    left = std::min(left, at[0]);
    right = std::max(right, at[0]);
    bottom = std::min(bottom, at[1]);
    top = std::max(top, at[1]);
  }
  void add(const Extent& other) {
    left = std::min(left, other.left);
    right = std::max(right, other.right);
    bottom = std::min(bottom, other.bottom);
    top = std::max(top, other.top);
  }
  [[nodiscard]] Extent shared_with(const Extent& other) const {
    return {std::max(left, other.left), std::min(right, other.right),
            std::max(bottom, other.bottom), std::min(top, other.top)};
  }
  [[nodiscard]] bool is_empty() const { return !(left <= right && bottom <= top); }
};

/// The tiles of an image, each changed or not.
class Tiles {
 public:
  Tiles(int width, int height)
      : width_(width),
        height_(height),
        columns_((width + kTile - 1) / kTile),
        rows_((height + kTile - 1) / kTile),
        changed_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_), 0) {}

  /// Marks the tiles of a rectangle, with a margin.
  void mark(const Extent& extent) {
    for_each(extent, [&](std::size_t tile) { changed_[tile] = 1; });
  }

  /// Tells whether a tile has changed that the rectangle is in, with the margin.
  [[nodiscard]] bool meets(const Extent& extent) const {
    bool found = false;
    for_each(extent, [&](std::size_t tile) { found = found || changed_[tile] != 0; });
    return found;
  }

  /// Runs of changed tiles, as high as all of their rows have them.
  [[nodiscard]] std::vector<mjrRect> rectangles() const {
    std::vector<mjrRect> all;
    std::vector<std::size_t> below, here;  // those that end with the last row, and with this one
    for (int row = 0; row < rows_; ++row) {
      here.clear();
      for (int first = 0; first < columns_; ++first) {
        if (changed_[at(row, first)] == 0) continue;
        int end = first;
        while (end < columns_ && changed_[at(row, end)] != 0) ++end;
        const int left = kTile * first, bottom = kTile * row;
        const int width = std::min(kTile * end, width_) - left;
        const int height = std::min(bottom + kTile, height_) - bottom;
        const auto under = std::find_if(below.begin(), below.end(), [&](std::size_t k) {
          return all[k].left == left && all[k].width == width;
        });
        if (under != below.end()) {
          all[*under].height += height;
          here.push_back(*under);
        } else {
          here.push_back(all.size());
          all.push_back({left, bottom, width, height});
        }
        first = end;
      }
      below.swap(here);
    }
    return all;
  }

 private:
  template <class Do>
  void for_each(const Extent& extent, Do what) const {
    if (extent.is_empty()) return;
    const auto tile = [](float pixel, int tiles) {
      return static_cast<int>(
          std::clamp(std::floor(pixel / kTile), -1.0F, static_cast<float>(tiles)));
    };
    const int left = std::max(0, tile(extent.left - kMargin, columns_));
    const int right = std::min(columns_ - 1, tile(extent.right + kMargin, columns_));
    const int bottom = std::max(0, tile(extent.bottom - kMargin, rows_));
    const int top = std::min(rows_ - 1, tile(extent.top + kMargin, rows_));
    for (int row = bottom; row <= top; ++row)
      for (int column = left; column <= right; ++column) what(at(row, column));
  }

  [[nodiscard]] std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(column);
  }

  int width_, height_, columns_, rows_;
  std::vector<char> changed_;
};

bool is_level(const mjvGeom& geom) { return geom.type == mjGEOM_PLANE && geom.mat[8] > 0.999999F; }

/// Marks what moving geoms change: themselves and their shadows.
class Marker {
 public:
  Marker(const mjvScene& scene, const mjvGLCamera& eye, int width, int height)
      : scene_(scene), project_(eye, width, height), tiles_(width, height), lowest_(lowest(scene)) {
    for (int i = 0; i < scene.ngeom; ++i) {
      const mjvGeom& geom = scene.geoms[i];
      if (is_level(geom)) {
        levels_.push_back(geom.pos[2]);
      } else if (const auto extent = extent_of(geom)) {
        screens_.push_back(*extent);
      } else {
        has_any_screen_ = true;
      }
    }
    if (levels_.size() > kMaxLevels) has_any_screen_ = true;
  }

  /// Returns false if they may be anywhere.
  [[nodiscard]] bool add(const mjvGeom& geom) {
    const auto own = geom.label[0] == '\0' ? extent_of(geom) : std::nullopt;
    if (!own) return false;
    tiles_.mark(*own);
    if (scene_.flags[mjRND_SHADOW] == 0) return true;
    const auto all = corners(geom, *half_box(geom));
    for (int i = 0; i < scene_.nlight; ++i) {
      const mjvLight& light = scene_.lights[i];
      if (light.castshadow == 0) continue;
      // From the geom to the lowest point there is: it falls on what is drawn in between.
      Extent path = *own;
      const auto lowest_shadow = shadow(all, light, lowest_);
      if (!lowest_shadow) return false;
      path.add(*lowest_shadow);
      if (has_any_screen_) {
        tiles_.mark(path);
        continue;
      }
      for (const float level : levels_) {
        const auto on_floor = shadow(all, light, level);
        if (!on_floor) return false;
        tiles_.mark(*on_floor);
      }
      for (const Extent& screen : screens_) tiles_.mark(path.shared_with(screen));
    }
    return true;
  }

  [[nodiscard]] std::vector<mjrRect> rectangles() const { return tiles_.rectangles(); }

  /// Tells whether a geom or its shadow can be seen in a changed tile.
  [[nodiscard]] bool meets(const mjvGeom& geom) const {
    auto path = geom.label[0] == '\0' ? extent_of(geom) : std::nullopt;
    if (!path) return true;
    const auto box = corners(geom, *half_box(geom));
    for (int i = 0; i < scene_.nlight && scene_.flags[mjRND_SHADOW] != 0; ++i) {
      if (scene_.lights[i].castshadow == 0) continue;
      const auto end = shadow(box, scene_.lights[i], lowest_);
      if (!end) return true;
      path->add(*end);
    }
    return tiles_.meets(*path);
  }

 private:
  static constexpr std::size_t kMaxLevels = 4;

  [[nodiscard]] std::optional<Extent> extent_of(const mjvGeom& geom) const {
    const auto half = half_box(geom);
    if (!half) return std::nullopt;
    Extent extent;
    for (const Point& corner : corners(geom, *half)) {
      const auto at = project_(corner);
      if (!at) return std::nullopt;
      extent.add(*at);
    }
    return extent;
  }

  /// Returns the extent of a box's shadow on the level at a height; nothing for one that reaches
  /// too far.
  [[nodiscard]] std::optional<Extent> shadow(const std::array<Point, 8>& box, const mjvLight& light,
                                             float height) const {
    Extent extent;
    for (const Point& corner : box) {
      Point ray;
      for (std::size_t k = 0; k < 3; ++k)
        ray[k] = light.type == mjLIGHT_DIRECTIONAL ? light.dir[k] : corner[k] - light.pos[k];
      if (!(ray[2] < -kGrazing * std::hypot(ray[0], ray[1], ray[2]))) return std::nullopt;
      const float t = std::max(0.0F, (height - corner[2]) / ray[2]);  // none on a plane above
      const auto at =
          project_({corner[0] + t * ray[0], corner[1] + t * ray[1], corner[2] + t * ray[2]});
      if (!at) return std::nullopt;
      extent.add(*at);
    }
    return extent;
  }

  const mjvScene& scene_;
  Projection project_;
  Tiles tiles_;
  float lowest_;
  std::vector<float> levels_;    ///< heights of horizontal planes
  std::vector<Extent> screens_;  ///< all else that shadows can fall on
  bool has_any_screen_ = false;  ///< shadows can fall on something that may be anywhere
};

}  // namespace

mjrRect rectangle_around(const std::vector<mjrRect>& parts) {
  mjrRect all = parts.front();
  for (const mjrRect& part : parts) {
    const int right = std::max(all.left + all.width, part.left + part.width);
    const int top = std::max(all.bottom + all.height, part.bottom + part.height);
    all.left = std::min(all.left, part.left);
    all.bottom = std::min(all.bottom, part.bottom);
    all.width = right - all.left;
    all.height = top - all.bottom;
  }
  return all;
}

std::vector<mjrRect> ChangedRegion::update(mjvScene& scene, int width, int height) {
  const mjvGLCamera eye = mjv_averageCamera(scene.camera, scene.camera + 1);
  bool known = !geoms_.empty() && scene.nskin == 0 && scene.nflex == 0 && equal(eye, camera_) &&
               std::equal(lights_.begin(), lights_.end(), scene.lights, scene.lights + scene.nlight,
                          [](const mjvLight& a, const mjvLight& b) { return equal(a, b); });
  const std::vector<mjvGeom> before =
      std::exchange(geoms_, {scene.geoms, scene.geoms + scene.ngeom});
  lights_.assign(scene.lights, scene.lights + scene.nlight);
  camera_ = eye;
  const std::vector<mjrRect> whole{{0, 0, width, height}};
  if (!known) return whole;
  Marker marker(scene, eye, width, height);
  for (std::size_t i = 0; i < std::max(before.size(), geoms_.size()); ++i) {
    const bool was = i < before.size(), is = i < geoms_.size();
    if (was && is && equal(before[i], geoms_[i])) continue;
    if ((was && !marker.add(before[i])) || (is && !marker.add(geoms_[i]))) return whole;
  }
  mjvGeom* const end = std::remove_if(scene.geoms, scene.geoms + scene.ngeom,
                                      [&](const mjvGeom& geom) { return !marker.meets(geom); });
  scene.ngeom = static_cast<int>(end - scene.geoms);
  std::vector<mjrRect> parts = marker.rectangles();
  if (parts.size() < 2) return parts;
  const mjrRect around = rectangle_around(parts);
  int saved = around.width * around.height;
  for (const mjrRect& part : parts) saved -= part.width * part.height;
  if (saved < kPartCost * static_cast<int>(parts.size())) parts = {around};
  return parts;
}

mjvGLCamera part_of(const mjvGLCamera& camera, const mjrRect& part, int width, int height) {
  mjvGLCamera eye = camera;
  const float scale = (camera.frustum_top - camera.frustum_bottom) / static_cast<float>(height);
  eye.frustum_bottom = camera.frustum_bottom + scale * static_cast<float>(part.bottom);
  eye.frustum_top = eye.frustum_bottom + scale * static_cast<float>(part.height);
  eye.frustum_center = camera.frustum_center + scale * (static_cast<float>(part.left) +
                                                        0.5F * static_cast<float>(part.width) -
                                                        0.5F * static_cast<float>(width));
  return eye;
}

}  // namespace tendril::simulation
