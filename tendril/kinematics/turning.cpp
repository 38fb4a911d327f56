#include "tendril/kinematics/turning.hpp"

#include <cmath>

#include "tendril/kinematics/wrap_angle.hpp"

namespace tendril {
namespace {

constexpr double kOpposite = 1e-12;  // of 1 + z

/// The least rotation from z to another axis.
Eigen::Matrix3d least_rotation(const Eigen::Vector3d& z) noexcept {
  if (1.0 + z.z() < kOpposite) return Eigen::Vector3d(-1.0, 1.0, -1.0).asDiagonal();
  const double a = 1.0 / (1.0 + z.z());
  Eigen::Matrix3d R;
  R << 1.0 - a * z.x() * z.x(), -a * z.x() * z.y(), z.x(),  //
      -a * z.x() * z.y(), 1.0 - a * z.y() * z.y(), z.y(),   //
      -z.x(), -z.y(), z.z();
  return R;
}

}  // namespace

void to_untwisted(const ContinuumRobot& robot, std::span<SectionState> states) noexcept {
  if (robot.last_turning() < 0) return;
  double twist = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    double& phi = states[static_cast<std::size_t>(i)].phi;
    phi += twist;
    if (robot.section(i).turns()) twist = phi;
  }
}

void to_own_frames(const ContinuumRobot& robot, std::span<SectionState> states) noexcept {
  if (robot.last_turning() < 0) return;
  double twist = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    double& phi = states[static_cast<std::size_t>(i)].phi;
    const double own = phi - twist;
    if (robot.section(i).turns()) twist = phi;
    phi = wrap_angle(own);
  }
}

std::vector<SectionState> in_own_frames(const ContinuumRobot& robot, SectionStates states) {
  std::vector<SectionState> own(states.begin(), states.end());
  to_own_frames(robot, own);
  return own;
}

double tip_twist(const ContinuumRobot& robot, SectionStates states) noexcept {
  const int last = robot.last_turning();
  return last < 0 ? 0.0 : states[static_cast<std::size_t>(last)].phi;
}

double roll_angle(const Eigen::Matrix3d& R) noexcept {
  const Eigen::Matrix3d untwisted = least_rotation(R.col(2));
  return std::atan2(untwisted.col(1).dot(R.col(0)), untwisted.col(0).dot(R.col(0)));
}

Eigen::Matrix3d frame_with_roll(const Eigen::Vector3d& z, double roll) noexcept {
  return least_rotation(z) * Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitZ());
}

}  // namespace tendril
