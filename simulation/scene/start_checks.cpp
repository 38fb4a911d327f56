#include "simulation/scene/start_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "simulation/engine/engine.hpp"
#include "simulation/scene/robot_bodies.hpp"
#include "simulation/scene/switched_off.hpp"
#include "tendril/notice.hpp"

namespace tendril::simulation {
namespace {

/// Overlap that soft contacts and the tolerances of models explain, of the body's radius.
constexpr double kShallow = 0.1;

/// The smallest half-width of a geom [m].
double radius_of(const mjModel& m, int geom) {
  const mjtNum* const half = m.geom_aabb + 6 * geom + 3;
  return std::min({half[0], half[1], half[2]});
}

std::string name_of(const mjModel& m, int geom) {
  const std::string own = object_name(m, mjOBJ_GEOM, geom);
  const std::string body = object_name(m, mjOBJ_BODY, m.geom_bodyid[geom]);
  std::string name =
      own.empty() ? fmt::format("geom {} of body '{}'", geom, body) : fmt::format("geom '{}'", own);
  if (m.geom_type[geom] == mjGEOM_MESH) name += ", whose mesh collides as its convex hull";
  return name;
}

class StartWarnings {
 public:
  StartWarnings(const mjModel& model, mjData& data) : m_(model), d_(data), robots_(model) {}

  std::vector<std::string> lines() {
    for (int i = 0; i < d_.ncon; ++i) {
      const mjContact& contact = d_.contact[i];
      if (is_mount(contact.geom[0], contact.geom[1], contact.pos)) continue;
      overlap(contact.geom[0], contact.geom[1], -contact.dist);
    }
    overlaps_without_contact();
    for (const auto& [pair, deepest] : deepest_) say(pair.first, deepest);
    for (const RobotBodies::Robot& robot : robots_.robots()) look_at_base(robot);
    look_at_joints();
    look_at_controls();
    return std::move(lines_);
  }

  std::vector<std::string> passing_robots() {
    overlaps_without_contact();
    for (const auto& [pair, deepest] : deepest_)
      add("robots-pass-through",
          fmt::format("robots {} and {} pass through each other: body '{}' is {:.3g} mm deep in {} "
                      "at the end; "
                      "self_collision = true in both robot files lets them collide",
                      label_of(pair.first), label_of(-pair.second),
                      object_name(m_, mjOBJ_BODY, m_.geom_bodyid[deepest.geom]),
                      1e3 * deepest.depth, name_of(m_, deepest.other)));
    return std::move(lines_);
  }

 private:
  struct Deepest {
    int geom = -1, other = -1;  // of the robot, and of what it is in
    double depth = 0.0;         // [m]
  };

  /// Tells whether a contact of two geoms is that of a robot with what its base stands on.
  bool is_mount(int a, int b, const mjtNum* position) const {
    constexpr double kNear = 3.0;  // of the body's radius
    if (a < 0 || b < 0) return false;
    if (robots_.base_of_geom(a) == 0) std::swap(a, b);
    const int base = robots_.base_of_geom(a);
    return base != 0 && m_.body_weldid[base] == m_.body_weldid[m_.geom_bodyid[b]] &&
           mju_dist3(position, d_.xpos + 3 * base) < kNear * radius_of(m_, a);
  }

  /// Keeps the deepest overlap of a robot with the scene and with each other robot.
  void overlap(int a, int b, double depth) {
    if (a < 0 || b < 0) return;  // of flexible bodies
    if (robots_.base_of_geom(a) == 0) std::swap(a, b);
    const int base = robots_.base_of_geom(a), other = robots_.base_of_geom(b);
    if (base == 0 || base == other || depth <= kShallow * radius_of(m_, a)) return;
    Deepest& deepest = deepest_[{base, -other}];
    if (depth > deepest.depth) deepest = {a, b, depth};
  }

  /// Overlaps of two robots whose geoms cannot touch: they would pass through each other.
  void overlaps_without_contact() {
    if (robots_.robots().size() < 2) return;
    std::vector<int> solid;
    for (int geom = 0; geom < m_.ngeom; ++geom) {
      const bool collides = (m_.geom_contype[geom] | m_.geom_conaffinity[geom]) != 0;
      if (collides && robots_.base_of_geom(geom) != 0) solid.push_back(geom);
    }
    for (std::size_t i = 0; i < solid.size(); ++i)
      for (std::size_t k = i + 1; k < solid.size(); ++k)
        overlap_without_contact(solid[i], solid[k]);
  }

  bool is_fixed(int geom) const { return m_.body_weldid[m_.geom_bodyid[geom]] == 0; }

  void overlap_without_contact(int a, int b) {
    if (robots_.base_of_geom(a) == robots_.base_of_geom(b)) return;
    if (is_fixed(a) && is_fixed(b)) return;  // two mounts
    const double reach = m_.geom_rbound[a] + m_.geom_rbound[b];
    if (mju_dist3(d_.geom_xpos + 3 * a, d_.geom_xpos + 3 * b) >= reach || can_touch(m_, a, b))
      return;
    overlap(a, b, -mj_geomDistance(&m_, &d_, a, b, reach, nullptr));
  }

  void say(int base, const Deepest& deepest) {
    const int other = robots_.base_of_geom(deepest.other);
    const bool touches = can_touch(m_, deepest.geom, deepest.other);
    add("start-inside",
        fmt::format(
            "robot {} starts inside {}: body '{}' is {:.3g} mm deep in {}{}", label_of(base),
            other != 0 ? fmt::format("robot {}", label_of(other)) : "a geom of the scene",
            object_name(m_, mjOBJ_BODY, m_.geom_bodyid[deepest.geom]), 1e3 * deepest.depth,
            name_of(m_, deepest.other), touches ? "" : "; there is no collision between the two"));
  }

  void add(NoticeCode code, const std::string& line) { lines_.push_back(notice_text(code, line)); }

  std::string label_of(int base) const { return object_name(m_, mjOBJ_BODY, base); }

  /// Tells whether a number is outside its range by more than soft limits give way.
  static bool is_beyond(double value, const mjtNum* range) {
    constexpr double kSoft = 0.05;  // of the range
    const double room = kSoft * (range[1] - range[0]);
    return value < range[0] - room || value > range[1] + room;
  }

  void look_at_joints() {
    for (int j = 0; j < m_.njnt; ++j) {
      const int type = m_.jnt_type[j];
      if (m_.jnt_limited[j] == 0 || (type != mjJNT_HINGE && type != mjJNT_SLIDE)) continue;
      const double q = d_.qpos[m_.jnt_qposadr[j]];
      if (!is_beyond(q, m_.jnt_range + 2 * j)) continue;
      const char* const unit = type == mjJNT_SLIDE ? "m" : "rad";
      add("start-out-of-range",
          fmt::format(
              "joint '{}' starts at {:.4g} {}, outside its range [{:.4g}, {:.4g}]: is the unit {}?",
              object_name(m_, mjOBJ_JOINT, j), q, unit, m_.jnt_range[2 * j],
              m_.jnt_range[2 * j + 1], unit));
      return;
    }
  }

  void look_at_controls() {
    for (int i = 0; i < m_.nactuator; ++i) {
      if (m_.actuator_ctrllimited[i] == 0 || m_.actuator_ctrlnum[i] != 1) continue;
      const double control = d_.ctrl[m_.actuator_ctrladr[i]];
      if (!is_beyond(control, m_.actuator_ctrlrange + 2 * i)) continue;
      add("start-out-of-range",
          fmt::format("the control of '{}' starts at {:.4g}, outside its range [{:.4g}, {:.4g}]",
                      object_name(m_, mjOBJ_ACTUATOR, i), control, m_.actuator_ctrlrange[2 * i],
                      m_.actuator_ctrlrange[2 * i + 1]));
      return;
    }
  }

  /// A robot on a free body falls, unless something can touch it, holds it or drives it.
  void look_at_base(const RobotBodies::Robot& robot) {
    const int root = m_.body_rootid[robot.base];
    const bool is_free =
        m_.body_jntnum[root] > 0 && m_.jnt_type[m_.body_jntadr[root]] == mjJNT_FREE;
    if (!is_free || m_.neq > 0 || mju_norm3(m_.opt.gravity) == 0.0 ||
        (m_.opt.disableflags & mjDSBL_GRAVITY) != 0 || is_carried(root) || can_land(root))
      return;
    add("falling-base",
        fmt::format("robot {}: its base falls: body '{}' has a free joint, and no geom of the "
                    "scene is there to carry it",
                    label_of(robot.base), object_name(m_, mjOBJ_BODY, root)));
  }

  /// Buoyancy, and drives that act on bodies or on the free joint.
  bool is_carried(int root) const {
    for (int body = root; body < m_.nbody; ++body)
      if (m_.body_gravcomp[body] != 0.0 && is_below(m_, body, root)) return true;
    for (int i = 0; i < m_.nactuator; ++i) {
      const int type = m_.actuator_trntype[i], target = m_.actuator_trnid[2 * i];
      if (type == mjTRN_SITE || type == mjTRN_BODY) return true;
      if (type == mjTRN_JOINT && m_.jnt_type[target] == mjJNT_FREE) return true;
    }
    return false;
  }

  bool can_land(int root) const {
    for (int other = 0; other < m_.ngeom; ++other) {
      if (is_below(m_, m_.geom_bodyid[other], root)) continue;
      for (int own = 0; own < m_.ngeom; ++own)
        if (is_below(m_, m_.geom_bodyid[own], root) && can_touch(m_, own, other)) return true;
    }
    return false;
  }

  const mjModel& m_;
  mjData& d_;
  const RobotBodies robots_;
  std::map<std::pair<int, int>, Deepest> deepest_;  // by robot and minus the other; 0: the scene
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> start_warnings(const mjModel& model, mjData& data) {
  return StartWarnings(model, data).lines();
}

std::vector<std::string> passing_robots(const mjModel& model, mjData& data) {
  return StartWarnings(model, data).passing_robots();
}

}  // namespace tendril::simulation
