#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

/// The backbone of an arm whose bend angles have grown from 0 to a part of those at its goal.
std::vector<Vector3d> backbone(const ContinuumRobot& robot, std::vector<SectionState> states,
                               double part) {
  constexpr int kPerSection = 12;
  for (SectionState& state : states) state.theta *= part;
  std::vector<Vector3d> points;
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 1; k <= kPerSection; ++k) {
      const Isometry3d pose =
          backbone_pose(robot, states, {}, i, static_cast<double>(k) / kPerSection);
      points.push_back(horizontal_mount(pose.translation()));
    }
  }
  return points;
}

}  // namespace

std::vector<GeneratedFile> clutter(RandomStream& draws, double difficulty) {
  constexpr double kBodyRadius = 0.008;
  const std::string arm =
      "# Four sections of 100 mm whose tip reaches a target among spheres.\nkind = \"continuum\"\n"
      "name = \"arm\"\n\n" +
      repeated(section_text(8, ""), 4) +
      "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\nrate_limit = 1.5\n"
      "avoidance = true\nobstacle_margin = 0.006\n";
  const RobotDescription description = parse_robot(arm, "arm.toml", {});
  const ContinuumRobot robot = std::get<ContinuumDescription>(description).kinematics();
  std::vector<SectionState> goal(robot.straight().begin(), robot.straight().end());
  for (SectionState& state : goal) {
    state.theta = draws.uniform(0.1, 1.2);
    state.phi = draws.angle();
  }
  std::vector<Vector3d> swept;
  for (int k = 0; k <= 20; ++k) {
    const std::vector<Vector3d> points = backbone(robot, goal, k / 20.0);
    swept.insert(swept.end(), points.begin(), points.end());
  }
  const double room = 0.022 - 0.016 * difficulty;  // next to the swept body
  const int count = draws.integer(4, 4 + static_cast<int>(std::lround(16.0 * difficulty)));
  std::string spheres;
  for (int sphere = 1, tries = 0; sphere <= count; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found("clutter");
    const double radius = draws.uniform(0.015, 0.035);
    const Vector3d center(draws.uniform(0.03, 0.42), draws.uniform(-0.25, 0.25),
                          draws.uniform(-0.25, 0.25));
    const bool free = std::all_of(swept.begin(), swept.end(), [&](const Vector3d& p) {
      return (p - center).norm() >= radius + kBodyRadius + room;
    });
    if (!free || center.norm() < radius + 0.05) continue;
    spheres += fmt::format(
        "    <geom name=\"ball_{}\" pos=\"{}\" size=\"{:.6f}\" rgba=\"0.35 0.45 0.55 1\"/>\n",
        sphere, text(center), radius);
    ++sphere;
  }
  const Vector3d target = horizontal_mount(tip_pose(robot, goal).translation());
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    "
      "</frame>\n{}"
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.009\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      kHorizontalMount, spheres, text(target));
  return {
      {"clutter.toml",
       fmt::format(
           "# An arm among {} spheres: its tip has to reach a target and touch nothing. A way "
           "exists: all\n"
           "# sections bend evenly towards one pose, {:.1f} mm from the nearest sphere or "
           "farther.\n",
           count, 1000.0 * room) +
           experiment(8.0, "") + check("tip error at the end", "tip_error_end", "max = 0.0005") +
           check("nothing is touched", "wall_force_max", "max = 0")},
      {"scene.xml", scene_xml("clutter", model_asset("arm"), world)},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
