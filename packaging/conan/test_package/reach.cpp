// Solves the inverse kinematics of an arm of two sections. Exit code 0: the tip is at the target.
#include <iostream>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"

int main() {
  using namespace tendril;
  const ContinuumRobot robot({{.length = 0.10}, {.length = 0.08, .bend_angle_limit = 2.0}});
  AutoSolver solver(robot, {.position_tolerance = 1e-5});
  TipTarget target;
  target.X_BG.translation() = Eigen::Vector3d(0.05, 0.02, 0.15);
  const IkResult result = solver.solve(target, robot.straight());
  const Eigen::Vector3d tip = tip_pose(robot, result.states).translation();
  const double error = (tip - target.X_BG.translation()).norm();
  std::cout << "tip error " << error << " m\n";
  return error < 1e-4 ? 0 : 1;
}
