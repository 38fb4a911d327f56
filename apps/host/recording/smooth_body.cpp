#include "apps/host/recording/smooth_body.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "apps/host/engine/scene_robots.hpp"
#include "tendril/robot_file/continuum_mjcf.hpp"

namespace tendril::host {
namespace {

/// Where two links meet, or the body ends.
struct Joint {
  mjtNum point[3];
  mjtNum direction[3];  // from the joint before to the joint after
};

/// End of a capsule's axis.
void end_of(const mjvGeom& capsule, double side, mjtNum point[3]) {
  for (int i = 0; i < 3; ++i)
    point[i] = capsule.pos[i] + side * capsule.size[2] * capsule.mat[3 * i + 2];
}

/// Point of Hermite's cubic from p to q with the derivatives u and v at its ends.
void cubic(mjtNum point[3], const mjtNum p[3], const mjtNum u[3], const mjtNum q[3],
           const mjtNum v[3], double t) {
  const double t2 = t * t, t3 = t2 * t;
  for (int i = 0; i < 3; ++i) {
    point[i] = (2 * t3 - 3 * t2 + 1) * p[i] + (t3 - 2 * t2 + t) * u[i] + (3 * t2 - 2 * t3) * q[i] +
               (t3 - t2) * v[i];
  }
}

}  // namespace

SmoothBody::SmoothBody(const mjModel& model) {
  const auto link_geom = [&](const std::string& name) {
    const int body = mj_name2id(&model, mjOBJ_BODY, name.c_str());
    if (body < 0 || model.body_geomnum[body] != 1) return -1;
    const int geom = model.body_geomadr[body];
    return model.geom_type[geom] == mjGEOM_CAPSULE ? geom : -1;
  };
  const SceneRobots robots(model);
  for (const SceneRobots::Robot& robot : robots.robots()) {
    std::vector<int> arm;
    for (int section = 1;; ++section) {
      const std::size_t before = arm.size();
      for (int link = 1;; ++link) {
        const int geom = link_geom(robot.prefix + names::link(section, link));
        if (geom < 0) break;
        arm.push_back(geom);
      }
      if (arm.size() == before) break;
    }
    if (arm.size() > 1) arms_.push_back(std::move(arm));
  }
}

void SmoothBody::draw(mjvScene& scene) const {
  if (arms_.empty()) return;
  std::vector<int> place;  // of each geom of the model in the scene
  for (int i = 0; i < scene.ngeom; ++i) {
    const mjvGeom& geom = scene.geoms[i];
    if (geom.objtype != mjOBJ_GEOM || geom.objid < 0 || geom.type != mjGEOM_CAPSULE) continue;
    const auto id = static_cast<std::size_t>(geom.objid);
    if (id >= place.size()) place.resize(id + 1, -1);
    place[id] = i;
  }
  for (const std::vector<int>& arm : arms_) {
    const auto is_drawn = [&](int geom) {
      const auto id = static_cast<std::size_t>(geom);
      return id < place.size() && place[id] >= 0;
    };
    if (!std::all_of(arm.begin(), arm.end(), is_drawn)) continue;
    const auto link_of = [&](std::size_t i) -> mjvGeom& {
      return scene.geoms[place[static_cast<std::size_t>(arm[i])]];
    };
    // Axes of links point to the tip or to the base. Links that change their length overlap by what
    // they can give: their far ends meet.
    double side = 0.0;
    for (int i = 0; i < 3; ++i)
      side += link_of(0).mat[3 * i + 2] * (link_of(1).pos[i] - link_of(0).pos[i]);
    side = side < 0.0 ? -1.0 : 1.0;
    std::vector<Joint> joints(arm.size() + 1);
    end_of(link_of(0), -side, joints[0].point);
    for (std::size_t i = 0; i < arm.size(); ++i) end_of(link_of(i), side, joints[i + 1].point);
    for (std::size_t i = 0; i < joints.size(); ++i) {
      const Joint& last = joints[i == 0 ? i : i - 1];
      const Joint& next = joints[std::min(i + 1, joints.size() - 1)];
      mju_sub3(joints[i].direction, next.point, last.point);
      mju_normalize3(joints[i].direction);
    }

    for (std::size_t i = 0; i < arm.size(); ++i) {
      const Joint &start = joints[i], &end = joints[i + 1];
      const double length = mju_dist3(start.point, end.point);
      mjtNum first_derivative[3], last_derivative[3];
      mju_scl3(first_derivative, start.direction, length);
      mju_scl3(last_derivative, end.direction, length);
      const double bend =
          std::acos(std::clamp(mju_dot3(start.direction, end.direction), -1.0, 1.0));
      const int pieces = std::clamp(static_cast<int>(std::ceil(bend / kKink)), 1, kMostPieces);
      mjvGeom* const drawn = &link_of(i);
      if (scene.ngeom + pieces - 1 > scene.maxgeom) return;
      mjtNum from[3], to[3];
      mju_copy3(from, start.point);
      for (int k = 1; k <= pieces; ++k) {
        cubic(to, start.point, first_derivative, end.point, last_derivative,
              static_cast<double>(k) / pieces);
        mjvGeom* const piece = k == 1 ? drawn : scene.geoms + scene.ngeom++;
        if (piece != drawn) *piece = *drawn;
        mjv_connector(piece, mjGEOM_CAPSULE, drawn->size[0], from, to);
        mju_copy3(from, to);
      }
    }
  }
}

}  // namespace tendril::host
