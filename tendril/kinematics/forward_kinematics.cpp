#include "tendril/kinematics/forward_kinematics.hpp"

#include <cassert>

#include "tendril/kinematics/turning.hpp"

namespace tendril {
namespace {

const SectionState& at(SectionStates states, int i) noexcept {
  return states[static_cast<std::size_t>(i)];
}

/// Pose of the end of section `count - 1`, or of the base for count = 0.
Eigen::Isometry3d end_pose(const ContinuumRobot& robot, SectionStates states, const BaseState& base,
                           int count) noexcept {
  assert(static_cast<int>(states.size()) == robot.section_count());
  Eigen::Isometry3d X_BE = base_pose(base);
  for (int i = 0; i < count; ++i) X_BE = X_BE * section_end_pose(robot.section(i), at(states, i));
  return X_BE;
}

}  // namespace

Eigen::Isometry3d base_pose(const BaseState& base) noexcept {
  const double c = std::cos(base.spin), s = std::sin(base.spin);
  Eigen::Isometry3d X_BS;
  X_BS.linear() << c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0;
  X_BS.translation() << 0.0, 0.0, base.feed;
  return X_BS;
}

Eigen::Isometry3d tip_pose(const ContinuumRobot& robot, SectionStates states,
                           const BaseState& base) noexcept {
  Eigen::Isometry3d X_BE = end_pose(robot, states, base, robot.section_count());
  if (robot.last_turning() >= 0)
    X_BE.rotate(Eigen::AngleAxisd(tip_twist(robot, states), Eigen::Vector3d::UnitZ()));
  return X_BE;
}

Eigen::Isometry3d backbone_pose(const ContinuumRobot& robot, SectionStates states,
                                const BaseState& base, int i, double fraction) noexcept {
  assert(i >= 0 && i < robot.section_count());
  return end_pose(robot, states, base, i) *
         section_pose_at(robot.section(i), at(states, i), fraction);
}

}  // namespace tendril
