#include "plugin/drawing.hpp"

namespace tendril {
namespace {

mjvGeom* next_geom(mjvScene* scene) {
  return scene->ngeom < scene->maxgeom ? scene->geoms + scene->ngeom : nullptr;
}

}  // namespace

void draw_sphere(mjvScene* scene, const Eigen::Vector3d& p, double radius, const float color[4]) {
  mjvGeom* geom = next_geom(scene);
  if (!geom) return;
  const mjtNum size[3] = {radius, radius, radius};
  mjv_initGeom(geom, mjGEOM_SPHERE, size, p.data(), nullptr, color);
  geom->category = mjCAT_DECOR;
  ++scene->ngeom;
}

void draw_line(mjvScene* scene, std::span<const Eigen::Vector3d> points, double radius,
               const float color[4]) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    mjvGeom* geom = next_geom(scene);
    if (!geom) return;
    mjv_initGeom(geom, mjGEOM_CAPSULE, nullptr, nullptr, nullptr, color);
    mjv_connector(geom, mjGEOM_CAPSULE, radius, points[i - 1].data(), points[i].data());
    geom->category = mjCAT_DECOR;
    ++scene->ngeom;
  }
}

}  // namespace tendril
