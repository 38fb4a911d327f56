#include "simulation/scene/robot_scale.hpp"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "simulation/engine/engine.hpp"
#include "simulation/scene/scene_checks.hpp"

namespace tendril::simulation {
namespace {

/// A slide of more than this many lengths of the robot is travel, not a feed.
constexpr double kLongestFeed = 10.0;

double angle_range(const ContinuumDescription& robot) {
  double largest = 0.0;
  for (const SectionParameters& section : robot.sections)
    largest = std::max(largest, section.bend_angle_limit);
  return largest;
}

double angle_range(const SnakeDescription& robot) { return robot.joint_limit; }

double angle_range(const MobileDescription& robot) {
  if (robot.mounted) return angle_range(robot.mounted->robot);
  const MobileRobot kinematics = robot.kinematics();
  double largest = 0.0;
  for (int j = 0; j < kinematics.joint_count(); ++j) {
    const JointLimits& limits = kinematics.joint_limits(j);
    largest = std::max({largest, std::abs(limits.min), std::abs(limits.max)});
  }
  return largest;
}

/// Distance of the farthest point of the bodies below `base`, along the chain of bodies [m].
double stretched(const mjModel& m, int base) {
  std::vector<double> at(static_cast<std::size_t>(m.nbody), -1.0);  // of the body's frame
  at[static_cast<std::size_t>(base)] = 0.0;
  double farthest = 0.0;
  for (int body = base; body < m.nbody; ++body) {
    double& own = at[static_cast<std::size_t>(body)];
    const double parent = body == base ? 0.0 : at[static_cast<std::size_t>(m.body_parentid[body])];
    if (parent < 0.0) continue;
    if (body != base) own = parent + mju_norm3(m.body_pos + 3 * body);
    farthest = std::max(farthest, own);
    for (int k = 0; k < m.body_geomnum[body]; ++k) {
      const int geom = m.body_geomadr[body] + k;
      farthest = std::max(farthest, own + mju_norm3(m.geom_pos + 3 * geom) + m.geom_rbound[geom]);
    }
  }
  return farthest;
}

/// Adds what the slides of the robot feed; tells whether a joint lets it travel.
bool add_slides(const mjModel& m, int base, double& length) {
  const double own = length;
  for (int joint = 0; joint < m.njnt; ++joint) {
    if (!is_below(m, m.jnt_bodyid[joint], base)) continue;
    if (m.jnt_type[joint] == mjJNT_FREE) return true;
    if (m.jnt_type[joint] != mjJNT_SLIDE) continue;
    const double feed = m.jnt_range[2 * joint + 1] - m.jnt_range[2 * joint];
    if (m.jnt_limited[joint] == 0 || feed > kLongestFeed * own) return true;
    length += feed;
  }
  return false;
}

}  // namespace

double RobotScale::weight() const noexcept { return mass * kStandardGravity; }

RobotScale scale_of(const mjModel& model, const SceneRobot& robot) {
  RobotScale scale;
  scale.range = std::visit([](const auto& d) { return angle_range(d); }, robot.description);
  if (robot.base < 0) return scale;
  scale.length = stretched(model, robot.base);
  scale.mass = model.body_subtreemass[robot.base];
  const bool travels = add_slides(model, robot.base, scale.length);
  scale.is_fixed = !travels && model.body_weldid[robot.base] == 0;
  return scale;
}

RobotScale largest_scale(std::span<const RobotScale> robots) noexcept {
  RobotScale largest{.is_fixed = true};
  for (const RobotScale& one : robots) {
    largest.length = std::max(largest.length, one.length);
    largest.mass = std::max(largest.mass, one.mass);
    largest.range = std::max(largest.range, one.range);
    largest.is_fixed = largest.is_fixed && one.is_fixed;
  }
  return largest;
}

}  // namespace tendril::simulation
