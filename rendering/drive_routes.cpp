#include "rendering/drive_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "simulation/scene/robot_bodies.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model/continuum/mjcf.hpp"

namespace tendril::simulation {
namespace {

constexpr double kThickness = 0.06;  // radius of a tendon, of its distance from the backbone
using Color = std::array<float, 3>;
constexpr Color kSlack{0.16F, 0.18F, 0.22F}, kEmpty{0.55F, 0.70F, 0.88F},
    kFull{0.90F, 0.13F, 0.10F};

/// Point of the backbone where tendons pass through: a disk, or in a section without disks the
/// middle of a body of the chain.
struct Hole {
  int body, section;
  double height;  // in the frame of the body [m]
  double radius;  // of the arm [m]
  bool is_open;   // the arm shows its inside
};

/// The holes of an arm from its base on, the first one at the base in the section 0.
class Holes {
 public:
  Holes(const mjModel& model, const RobotNames& names) : model_(model), names_(names) {
    const int root = geom(names::kRoot);
    if (root < 0) return;
    holes_.push_back({model.geom_bodyid[root], 0, 0.0, model.geom_size[3 * root], true});
    for (int section = 1; geom(names::link(section, 1)) >= 0; ++section) {
      if (geom(names::disk(section, 1)) >= 0)
        add_disks(section);
      else
        add_links(section);
    }
  }
  [[nodiscard]] const std::vector<Hole>& all() const noexcept { return holes_; }

 private:
  [[nodiscard]] int geom(const std::string& name) const {
    return mj_name2id(&model_, mjOBJ_GEOM, names_(name).c_str());
  }

  void add_disks(int section) {
    for (int k = 1, disk = 0; (disk = geom(names::disk(section, k))) >= 0; ++k)
      holes_.push_back({model_.geom_bodyid[disk], section, model_.geom_pos[3 * disk + 2],
                        model_.geom_size[3 * disk], true});
  }

  void add_links(int section) {
    const int site = mj_name2id(&model_, mjOBJ_SITE, names_(names::section_end(section)).c_str());
    for (int k = 1, link = 0; (link = geom(names::link(section, k))) >= 0; ++k) {
      const int body = model_.geom_bodyid[link];
      // From the joints of the link to the next ones.
      const double length = model_.geom_pos[3 * link + 2] + model_.geom_size[3 * link + 1];
      const bool is_last = site >= 0 && model_.site_bodyid[site] == body;
      holes_.push_back({body, section, is_last ? model_.site_pos[3 * site + 2] : length / 2.0,
                        model_.geom_size[3 * link], model_.geom_rgba[4 * link + 3] < 1.0F});
    }
  }

  const mjModel& model_;
  const RobotNames& names_;
  std::vector<Hole> holes_;
};

/// Where a fixed tendon passes through bodies: x and y in their frames.
std::map<int, std::array<double, 2>> offsets_of(const mjModel& model, int tendon) {
  std::map<int, std::array<double, 2>> offsets;
  const int first = model.tendon_adr[tendon];
  for (int w = first; w < first + model.tendon_num[tendon]; ++w) {
    if (model.wrap_type[w] != mjWRAP_JOINT) return {};
    const int joint = model.wrap_objid[w];
    if (model.jnt_type[joint] != mjJNT_HINGE) continue;
    std::array<double, 2>& offset = offsets[model.jnt_bodyid[joint]];
    // The coefficient at the hinge about the axis a is that of p x a along the backbone.
    const mjtNum* const axis = model.jnt_axis + 3 * joint;
    offset[0] -= model.wrap_prm[w] * axis[1];
    offset[1] += model.wrap_prm[w] * axis[0];
  }
  return offsets;
}

/// Actuator of a tendon; -1: none.
int actuator_of(const mjModel& model, int tendon) {
  for (int i = 0; i < model.nu; ++i)
    if (model.actuator_trntype[i] == mjTRN_TENDON && model.actuator_trnid[2 * i] == tendon)
      return i;
  return -1;
}

}  // namespace

DriveRoutes::DriveRoutes(const mjModel& model) {
  const RobotBodies robots(model);
  for (const RobotBodies::Robot& robot : robots.robots()) {
    const Holes holes(model, robot.names);
    for (int tendon = 0; tendon < model.ntendon; ++tendon) {
      const char* const text = mj_id2name(&model, mjOBJ_TENDON, tendon);
      const auto name = robot.names.element(text == nullptr ? "" : text);
      const int actuator = actuator_of(model, tendon);
      // Those of sections sum the angles of their hinges.
      if (!name || names::section_of(*name) > 0 || actuator < 0) continue;
      const auto offsets = offsets_of(model, tendon);
      if (offsets.empty()) continue;
      std::array<double, 2> offset = offsets.begin()->second;
      int first = 0, last = 0;  // section
      for (const Hole& hole : holes.all()) {
        if (!offsets.contains(hole.body)) continue;
        if (first == 0) first = hole.section;
        last = std::max(last, hole.section);
      }
      if (first == 0) continue;
      const double gear = model.actuator_gear[6 * actuator];
      const bool is_chamber = gear > 0.0;  // its area
      Route route{tendon, actuator, 0.0, is_chamber, {}};
      for (const Hole& hole : holes.all()) {
        if (hole.section > last) break;
        if (hole.section < first) route.points.clear();
        if (const auto found = offsets.find(hole.body); found != offsets.end())
          offset = found->second;
        const bool is_outside = std::hypot(offset[0], offset[1]) > hole.radius;
        route.points.push_back(
            {hole.body, {offset[0], offset[1], hole.height}, hole.is_open || is_outside});
      }
      route.radius = is_chamber ? std::sqrt(gear / std::numbers::pi)
                                : kThickness * std::hypot(offset[0], offset[1]);
      routes_.push_back(std::move(route));
    }
  }
}

void DriveRoutes::draw(const mjModel& model, const mjData& data, mjvScene& scene) const {
  for (const Route& route : routes_) {
    const double largest = model.actuator_forcerange[2 * route.actuator + 1];
    const double load = largest > 0.0 ? data.actuator_force[route.actuator] / largest : 0.0;
    const auto red = static_cast<float>(std::sqrt(std::clamp(load, 0.0, 1.0)));
    const Color& color = route.is_chamber ? kEmpty : kSlack;
    float rgba[4] = {0.0F, 0.0F, 0.0F, 1.0F};
    for (std::size_t i = 0; i < 3; ++i) rgba[i] = color[i] + red * (kFull[i] - color[i]);
    mjtNum from[3], to[3];
    for (std::size_t i = 0; i < route.points.size(); ++i) {
      const Point& point = route.points[i];
      mju_mulMatVec3(to, data.xmat + 9 * point.body, point.position);
      mju_addTo3(to, data.xpos + 3 * point.body);
      if (i > 0 && point.is_seen) {
        if (scene.ngeom >= scene.maxgeom) return;
        mjvGeom& piece = scene.geoms[scene.ngeom++];
        mjv_initGeom(&piece, mjGEOM_CAPSULE, nullptr, nullptr, nullptr, rgba);
        mjv_connector(&piece, mjGEOM_CAPSULE, route.radius, from, to);
        piece.category = mjCAT_DYNAMIC;
        piece.objtype = mjOBJ_TENDON;
        piece.objid = route.tendon;
      }
      mju_copy3(from, to);
    }
  }
}

}  // namespace tendril::simulation
