#pragma once

#include <Eigen/Geometry>
#include <array>
#include <numbers>
#include <vector>

#include "tendril/mobile/fabrik_solver.hpp"
#include "tests/support/random.hpp"

// Robots, targets and an independent forward kinematics for the tests of tendril/mobile.
namespace tendril::test {

inline constexpr double kDegree = std::numbers::pi / 180.0;

/// The pose of the tool as a product of elementary transforms.
inline Eigen::Isometry3d tool_pose_by_product(const MobileRobot& robot, const PlatformPose& base,
                                              JointAngles joints) {
  using Eigen::AngleAxisd;
  using Eigen::Translation3d;
  using Eigen::Vector3d;
  const MobileRobotParameters& arm = robot.parameters();
  Eigen::Isometry3d X =
      Translation3d(base.x, base.y, 0.0) * AngleAxisd(base.heading, Vector3d::UnitZ()) *
      Translation3d(arm.mount_x, arm.mount_y, 0.0) * AngleAxisd(joints.front(), Vector3d::UnitZ()) *
      Translation3d(arm.shoulder_offset, 0.0, arm.shoulder_height);
  for (std::size_t i = 0; i < arm.links.size(); ++i) {
    X = X * AngleAxisd(joints[i + 1], Vector3d::UnitY()) *
        Translation3d(0.0, 0.0, arm.links[i].length);
  }
  return X * AngleAxisd(arm.tool_tilt - 0.5 * std::numbers::pi, Vector3d::UnitY()) *
         AngleAxisd(joints.back(), Vector3d::UnitX());
}

struct RandomPose {
  PlatformPose base;
  std::vector<double> joints;
};

/// Base in a square of 2 m, any heading, joints inside their limits by 0.02 rad, no part of the arm
/// under 3 cm.
inline RandomPose random_pose(Random& random, const MobileRobot& robot) {
  constexpr double kInsideDistance = 0.02, kLowest = 0.03;
  while (true) {
    RandomPose pose{.base = {.x = random.uniform(-1.0, 1.0),
                             .y = random.uniform(-1.0, 1.0),
                             .heading = random.angle()},
                    .joints = {}};
    for (int j = 0; j < robot.joint_count(); ++j) {
      const JointLimits& limits = robot.joint_limits(j);
      pose.joints.push_back(
          random.uniform(limits.min + kInsideDistance, limits.max - kInsideDistance));
    }
    double b = 0.0, z = robot.parameters().shoulder_height, lowest = z;
    for (int i = 0; i < robot.link_count(); ++i) {
      b += pose.joints[static_cast<std::size_t>(i) + 1];
      z += robot.link(i).length * std::cos(b);
      lowest = std::min(lowest, z);
    }
    if (lowest >= kLowest) return pose;
  }
}

inline ToolTarget target_of(const MobileRobot& robot, const RandomPose& pose) {
  ToolTarget target;
  target.X_WG = tool_pose_by_product(robot, pose.base, pose.joints);
  return target;
}

/// An arm of `links` links with limits of 100 deg.
inline MobileRobot long_armed_robot(int links) {
  MobileRobotParameters parameters = youbot();
  parameters.links.assign(static_cast<std::size_t>(links),
                          {.length = 0.5 / links, .limits = {.min = -1.75, .max = 1.75}});
  return MobileRobot(parameters);
}

}  // namespace tendril::test
