#include "rendering/shadow_volume.hpp"

#include <algorithm>
#include <cmath>

#include "rendering/offscreen.hpp"

namespace tendril::simulation {
namespace {

constexpr double kRoom = 0.25;  // on each side of a volume that has to grow, of its size
constexpr double kBack =
    4.0;  // of the light from the middle, in radii: floors reach higher than the volume
constexpr double kCoarsest = 8.0;  // map, in sizes of what the model asks for
constexpr double kEdge = 1.02;     // the map's outermost pixels have no shadows

}  // namespace

void ShadowVolume::add(const mjModel& model, const mjData& data) {
  const bool is_new = empty();
  mjtNum low[3], high[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = is_new ? mjMAXVAL : low_[i];
    high[i] = is_new ? -mjMAXVAL : high_[i];
  }
  for (int geom = 0; geom < model.ngeom; ++geom) {
    if (!is_shown(model, geom)) continue;
    const mjtNum* const box = model.geom_aabb + 6 * geom;  // center and half sizes
    const mjtNum* const turn = data.geom_xmat + 9 * geom;
    mjtNum center[3];
    mju_mulMatVec3(center, turn, box);
    mju_addTo3(center, data.geom_xpos + 3 * geom);
    for (int i = 0; i < 3; ++i) {
      const double half = std::abs(turn[3 * i]) * box[3] + std::abs(turn[3 * i + 1]) * box[4] +
                          std::abs(turn[3 * i + 2]) * box[5];
      low[i] = std::min(low[i], center[i] - half);
      high[i] = std::max(high[i], center[i] + half);
    }
  }
  const double room = is_new ? 0.0 : kRoom * mju_dist3(low, high);
  for (int i = 0; i < 3; ++i) {
    if (is_new || low[i] < low_[i]) low_[i] = low[i] - room;
    if (is_new || high[i] > high_[i]) high_[i] = high[i] + room;
  }
}

void ShadowVolume::center(mjtNum point[3]) const {
  for (int i = 0; i < 3; ++i) point[i] = 0.5 * (low_[i] + high_[i]);
}

double ShadowVolume::radius() const { return empty() ? 0.0 : 0.5 * mju_dist3(low_, high_); }

void ShadowVolume::aim(const mjModel& model, mjvScene& scene, mjrContext& context) const {
  const double usual = model.stat.extent * model.vis.map.shadowclip;
  const double size = kEdge * radius();
  if (!(size > 0.0) || size > kCoarsest * usual) {
    context.shadowClip = static_cast<float>(usual);
    return;
  }
  context.shadowClip = static_cast<float>(size);
  mjtNum middle[3];
  center(middle);
  for (int i = 0; i < scene.nlight; ++i) {
    mjvLight& light = scene.lights[i];
    if (light.type != mjLIGHT_DIRECTIONAL || light.castshadow == 0) continue;
    for (int k = 0; k < 3; ++k)
      light.pos[k] = static_cast<float>(middle[k] - kBack * size * light.dir[k]);
  }
}

}  // namespace tendril::simulation
