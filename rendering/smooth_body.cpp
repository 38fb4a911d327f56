#include "rendering/smooth_body.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "simulation/scene/robot_bodies.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model/continuum/mjcf.hpp"

namespace tendril::simulation {
namespace {

/// Middle of a link, or an end of the body.
struct Knot {
  mjtNum point[3];
  mjtNum direction[3];  // from the one before to the one after
};

/// Point of a capsule's axis.
void point_on(const mjvGeom& capsule, double from_middle, mjtNum point[3]) {
  for (int i = 0; i < 3; ++i) point[i] = capsule.pos[i] + from_middle * capsule.mat[3 * i + 2];
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
  const RobotBodies robots(model);
  for (const RobotBodies::Robot& robot : robots.robots()) {
    std::vector<Part> arm;
    // What is drawn of a link: itself, or the rod in it.
    const auto geom_of = [&](const std::string& name) {
      const int rod = mj_name2id(&model, mjOBJ_GEOM, robot.names(names::rod(name)).c_str());
      return rod >= 0 ? rod : mj_name2id(&model, mjOBJ_GEOM, robot.names(name).c_str());
    };
    if (const int root = geom_of(names::kRoot); root >= 0)
      arm.push_back({root, -model.geom_size[3 * root + 1]});
    for (int section = 1;; ++section) {
      const std::size_t before = arm.size();
      for (int link = 1;; ++link) {
        const int geom = geom_of(names::link(section, link));
        if (geom < 0) break;
        // The capsule of a link that changes its length begins before the joints.
        const double end = model.geom_pos[3 * geom + 2] + model.geom_size[3 * geom + 1];
        arm.push_back({geom, end / 2.0 - model.geom_pos[3 * geom + 2]});
      }
      if (arm.size() == before) break;
    }
    // The last one ends at the tip.
    if (!arm.empty()) arm.back().to_knot = model.geom_size[3 * arm.back().geom + 1];
    if (arm.size() > 1) arms_.push_back(std::move(arm));
  }
}

void SmoothBody::draw(mjvScene& scene) const {
  if (arms_.empty()) return;
  std::vector<int> index;  // of each geom of the model in the scene
  for (int i = 0; i < scene.ngeom; ++i) {
    const mjvGeom& geom = scene.geoms[i];
    if (geom.objtype != mjOBJ_GEOM || geom.objid < 0 || geom.type != mjGEOM_CAPSULE) continue;
    const auto id = static_cast<std::size_t>(geom.objid);
    if (id >= index.size()) index.resize(id + 1, -1);
    index[id] = i;
  }
  for (const std::vector<Part>& arm : arms_) {
    const auto is_drawn = [&](const Part& part) {
      const auto id = static_cast<std::size_t>(part.geom);
      return id < index.size() && index[id] >= 0;
    };
    if (!std::all_of(arm.begin(), arm.end(), is_drawn)) continue;
    const auto link_of = [&](std::size_t i) -> mjvGeom& {
      return scene.geoms[index[static_cast<std::size_t>(arm[i].geom)]];
    };
    // Axes of capsules point to the tip or to the base.
    double side = 0.0;
    for (int i = 0; i < 3; ++i)
      side += link_of(0).mat[3 * i + 2] * (link_of(1).pos[i] - link_of(0).pos[i]);
    side = side < 0.0 ? -1.0 : 1.0;
    std::vector<Knot> knots(arm.size());
    for (std::size_t i = 0; i < arm.size(); ++i)
      point_on(link_of(i), side * arm[i].to_knot, knots[i].point);
    for (std::size_t i = 0; i < knots.size(); ++i) {
      const Knot& last = knots[i == 0 ? i : i - 1];
      const Knot& next = knots[std::min(i + 1, knots.size() - 1)];
      mju_sub3(knots[i].direction, next.point, last.point);
      mju_normalize3(knots[i].direction);
    }

    for (std::size_t i = 1; i < arm.size(); ++i) {
      const Knot &start = knots[i - 1], &end = knots[i];
      const double length = mju_dist3(start.point, end.point);
      mjtNum first_derivative[3], last_derivative[3];
      mju_scl3(first_derivative, start.direction, length);
      mju_scl3(last_derivative, end.direction, length);
      const double bend =
          std::acos(std::clamp(mju_dot3(start.direction, end.direction), -1.0, 1.0));
      const int pieces = std::clamp(static_cast<int>(std::ceil(bend / kKink)), 1, kMaxPieces);
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

}  // namespace tendril::simulation
