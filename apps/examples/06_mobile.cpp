// Inverse kinematics of the youBot, an arm on a mobile platform: tendril::mobile, nothing else.
#include <array>
#include <iostream>

#include "tendril/mobile/fabrik_solver.hpp"

using namespace tendril;

int main() {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  const double roll = 1.0, pitch = 0.35, yaw = -0.8;                            // [rad]
  const ToolTarget target = tool_target({0.5, -1.0, 0.357}, roll, pitch, yaw);  // [m]
  const PlatformPose base;                                                      // the origin
  const std::array<double, 5> joints{};  // yaw, hinges, roll: straight up
  const MobileResult result = solver.solve(target, base, joints);
  if (!result.converged()) std::cerr << to_string(result.status) << '\n';
  std::cout << "platform at " << result.base.x << ", " << result.base.y << " m\n"
            << tool_pose(robot, result.base, result.joints).matrix() << '\n';
  return result.converged() ? 0 : 1;
}
