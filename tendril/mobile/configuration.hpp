#pragma once

#include <Eigen/Core>

#include "tendril/mobile/kinematics.hpp"

// Platform and arm of a MobileRobot as one vector: x, y [m], heading, then the joints [rad].
namespace tendril {

using MobileConfiguration = Eigen::Ref<const Eigen::VectorXd>;

inline constexpr Eigen::Index kPlatformSize = 3;

[[nodiscard]] inline Eigen::Index configuration_size(const MobileRobot& robot) noexcept {
  return kPlatformSize + robot.joint_count();
}
[[nodiscard]] inline PlatformPose platform_of(const MobileConfiguration& x) noexcept {
  return {.x = x[0], .y = x[1], .heading = x[2]};
}
[[nodiscard]] inline JointAngles joints_of(const MobileConfiguration& x) noexcept {
  return {x.data() + kPlatformSize, static_cast<std::size_t>(x.size() - kPlatformSize)};
}
inline void set_configuration(const PlatformPose& base, JointAngles joints,
                              Eigen::Ref<Eigen::VectorXd> x) noexcept {
  x[0] = base.x;
  x[1] = base.y;
  x[2] = base.heading;
  for (std::size_t j = 0; j < joints.size(); ++j)
    x[kPlatformSize + static_cast<Eigen::Index>(j)] = joints[j];
}

}  // namespace tendril
