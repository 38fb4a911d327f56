// Inverse kinematics of a two-section arm: tendril::core, nothing else.
#include <iostream>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"

using namespace tendril;

int main() {
  const ContinuumRobot robot({{.length = 0.10}, {.length = 0.08, .bend_angle_limit = 2.0}});
  AutoSolver solver(robot, {.position_tolerance = 1e-5});
  TipTarget target;
  target.X_BG.translation() = Eigen::Vector3d(0.05, 0.02, 0.15);  // [m]
  const IkResult result = solver.solve(target, robot.straight());
  if (!result.converged()) std::cerr << to_string(result.status) << '\n';
  std::cout << tip_pose(robot, result.states).matrix() << '\n';
  return result.converged() ? 0 : 1;
}
