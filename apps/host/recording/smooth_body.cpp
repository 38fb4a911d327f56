#include "apps/host/recording/smooth_body.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "apps/host/engine/scene_robots.hpp"
#include "tendril/robot_file/continuum_mjcf.hpp"

namespace tendril::host {
namespace {

/// A link as drawn: its ends and its direction.
struct Segment {
  mjtNum start[3], end[3], axis[3];
};

Segment segment_of(const mjvGeom& link) {
  Segment segment;
  for (int i = 0; i < 3; ++i) {
    const double half = link.size[2];
    segment.axis[i] = link.mat[3 * i + 2];
    segment.start[i] = link.pos[i] - half * segment.axis[i];
    segment.end[i] = link.pos[i] + half * segment.axis[i];
  }
  return segment;
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

double angle_between(const mjtNum a[3], const mjtNum b[3]) {
  return std::acos(std::clamp(mju_dot3(a, b), -1.0, 1.0));
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
    std::vector<Segment> segments;
    for (const int geom : arm)
      segments.push_back(segment_of(scene.geoms[place[static_cast<std::size_t>(geom)]]));
    // Links that change their length overlap by what they can give: their far ends meet.
    for (std::size_t i = 1; i < segments.size(); ++i)
      mju_copy3(segments[i].start, segments[i - 1].end);

    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& link = segments[i];
      const Segment& last = segments[i == 0 ? i : i - 1];
      const Segment& next = segments[std::min(i + 1, segments.size() - 1)];
      mjtNum first_direction[3], last_direction[3];
      mju_add3(first_direction, last.axis, link.axis);
      mju_add3(last_direction, link.axis, next.axis);
      mju_normalize3(first_direction);
      mju_normalize3(last_direction);
      const double bend = angle_between(first_direction, link.axis) +
                          angle_between(link.axis, last_direction);
      const int pieces =
          std::clamp(static_cast<int>(std::ceil(bend / kLargestKink)), 1, kMostPieces);
      const double length = mju_dist3(link.start, link.end);
      mju_scl3(first_direction, first_direction, length);
      mju_scl3(last_direction, last_direction, length);
      mjvGeom* const drawn = scene.geoms + place[static_cast<std::size_t>(arm[i])];
      if (scene.ngeom + pieces - 1 > scene.maxgeom) return;
      mjtNum from[3], to[3];
      mju_copy3(from, link.start);
      for (int k = 1; k <= pieces; ++k) {
        cubic(to, link.start, first_direction, link.end, last_direction,
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
