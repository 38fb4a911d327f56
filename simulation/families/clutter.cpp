#include <fmt/format.h>

#include <Eigen/Geometry>
#include <cmath>
#include <utility>
#include <variant>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {

using Eigen::Vector3d;
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
  const Spheres spheres = draw_spheres(draws, "clutter", count, kBodyRadius + room, swept);
  const Vector3d target = horizontal_mount(tip_pose(robot, goal).translation());
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
      {"scene.xml", scene_xml("clutter", model_asset("arm"), arm_among(spheres, target))},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
