#include "tendril/mobile/kinematics.hpp"

#include <cmath>
#include <numbers>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

/// Rz(psi) Ry(-e) Rx(roll) from the sines and cosines; the tool axis leans by b = pi/2 - e.
Eigen::Matrix3d orientation(double cos_psi, double sin_psi, double cos_e, double sin_e,
                            double roll) {
  const double c = std::cos(roll), s = std::sin(roll);
  const Eigen::Vector3d axis(cos_e * cos_psi, cos_e * sin_psi, sin_e);
  const Eigen::Vector3d left(-sin_psi, cos_psi, 0.0);
  const Eigen::Vector3d up(-sin_e * cos_psi, -sin_e * sin_psi, cos_e);
  Eigen::Matrix3d R;
  R.col(0) = axis;
  R.col(1) = c * left + s * up;
  R.col(2) = c * up - s * left;
  return R;
}

Eigen::Vector2d yaw_axis(const MobileRobot& robot, const PlatformPose& base) {
  const double c = std::cos(base.heading), s = std::sin(base.heading);
  const MobileRobotParameters& parameters = robot.parameters();
  return {base.x + c * parameters.mount_x - s * parameters.mount_y,
          base.y + s * parameters.mount_x + c * parameters.mount_y};
}

}  // namespace

Eigen::Isometry3d tool_pose(const MobileRobot& robot, const PlatformPose& base,
                            JointAngles joints) noexcept {
  const MobileRobotParameters& parameters = robot.parameters();
  const double psi = base.heading + joints.front();
  const double cos_psi = std::cos(psi), sin_psi = std::sin(psi);
  double b = 0.0, rho = parameters.shoulder_offset, z = parameters.shoulder_height;
  double sin_b = 0.0, cos_b = 1.0;
  for (std::size_t i = 0; i < parameters.links.size(); ++i) {
    b += joints[i + 1];
    sin_b = std::sin(b);
    cos_b = std::cos(b);
    rho += parameters.links[i].length * sin_b;
    z += parameters.links[i].length * cos_b;
  }
  if (parameters.tool_tilt != 0.0) {
    sin_b = std::sin(b + parameters.tool_tilt);
    cos_b = std::cos(b + parameters.tool_tilt);
  }
  const Eigen::Vector2d foot = yaw_axis(robot, base);
  Eigen::Isometry3d X_WE;
  X_WE.linear() = orientation(cos_psi, sin_psi, sin_b, cos_b, joints.back());
  X_WE.translation() << foot.x() + rho * cos_psi, foot.y() + rho * sin_psi, z;
  X_WE.makeAffine();
  return X_WE;
}

void mobile_frames(const MobileRobot& robot, const PlatformPose& base, JointAngles joints,
                   std::span<Eigen::Isometry3d> frames) noexcept {
  const MobileRobotParameters& parameters = robot.parameters();
  const Eigen::Vector3d up = Eigen::Vector3d::UnitZ();
  Eigen::Isometry3d& platform = frames[0];
  platform.setIdentity();
  platform.linear() = Eigen::AngleAxisd(base.heading, up).toRotationMatrix();
  platform.translation() << base.x, base.y, 0.0;

  const double psi = base.heading + joints.front();
  const Eigen::Vector3d forward(std::cos(psi), std::sin(psi), 0.0);
  const Eigen::Vector3d left(-forward.y(), forward.x(), 0.0);
  const Eigen::Vector2d foot = yaw_axis(robot, base);
  Eigen::Isometry3d& yaw = frames[1];
  yaw.setIdentity();
  yaw.linear() << forward, left, up;
  yaw.translation() << foot.x(), foot.y(), parameters.shoulder_height;

  Eigen::Vector3d hinge = yaw.translation() + parameters.shoulder_offset * forward;
  double b = 0.0;
  for (std::size_t i = 0; i < parameters.links.size(); ++i) {
    b += joints[i + 1];
    const Eigen::Vector3d along = std::sin(b) * forward + std::cos(b) * up;
    Eigen::Isometry3d& link = frames[i + 2];
    link.setIdentity();
    link.linear() << left.cross(along), left, along;
    link.translation() = hinge;
    hinge += parameters.links[i].length * along;
  }
  frames[parameters.links.size() + 2] = tool_pose(robot, base, joints);
}

bool within_limits(const MobileRobot& robot, JointAngles joints, double tolerance) noexcept {
  if (static_cast<int>(joints.size()) != robot.joint_count()) return false;
  for (int j = 0; j < robot.joint_count(); ++j) {
    if (!robot.joint_limits(j).contains(joints[static_cast<std::size_t>(j)], tolerance))
      return false;
  }
  return true;
}

Eigen::Matrix3d tool_orientation(double roll, double pitch, double yaw) noexcept {
  return orientation(std::cos(yaw), std::sin(yaw), std::cos(pitch), std::sin(pitch), roll);
}

Eigen::Vector3d tool_angles(const Eigen::Matrix3d& R) noexcept {
  constexpr double kVertical = 1e-9;
  const double across = hypotenuse(R(0, 0), R(1, 0));
  const double pitch = std::atan2(R(2, 0), across);
  if (across < kVertical) return {0.0, pitch, std::atan2(-R(0, 1), R(1, 1)) + 0.0};  // no "-0"
  return {std::atan2(R(2, 1), R(2, 2)), pitch, std::atan2(R(1, 0), R(0, 0))};
}

}  // namespace tendril
