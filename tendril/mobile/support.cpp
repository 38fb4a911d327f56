#include "tendril/mobile/support.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/standard_arithmetic.hpp"
#include "tendril/statuses.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;

constexpr StatusInfo kStatuses[]{
    {"converged", "Position and orientation are within tolerance and all limits hold."},
    {"stalled", "Every attempt failed, but nothing proves that the target is out of reach.",
     "Start nearer to the target or raise the budget of the solver."},
    {"wrong_orientation", "A published algorithm stopped by its own test with a wrong orientation.",
     "Use another solver."},
    {"invalid_target", "A number of the target is not finite.", "Check what moves the target."},
    {"invalid_rotation", "The orientation of the target is no rotation matrix.",
     "Normalize the orientation."},
    {"invalid_start", "The start has the wrong number of joints or a number that is not finite.",
     "Check the start."},
    {"under_floor", "The tool point or the last link would be under the floor.",
     "Raise the target or tilt its tool axis upwards."},
    {"unreachable_height", "The wrist would be too high or too low for the links.",
     "Change the height or the tilt of the target."},
    {"unreachable_roll", "The range of the roll joint does not include the orientation.",
     "Rotate the target about its tool axis."},
    {"unreachable_limits", "The joint limits exclude every posture.",
     "Change the height or the tilt of the target, or widen the `limits` of the joints."},
    {"base_blocked", "Every base pose that reaches the target is blocked.",
     "Move the target or the obstacles, or reduce `obstacle_margin`."}};
static_assert(std::size(kStatuses) == static_cast<std::size_t>(MobileStatus::BaseBlocked) + 1);

}  // namespace

ToolTarget tool_target(const Eigen::Vector3d& position, double roll, double pitch,
                       double yaw) noexcept {
  ToolTarget target;
  target.X_WG.linear() = tool_orientation(roll, pitch, yaw);
  target.X_WG.translation() = position;
  target.azimuth = yaw;
  return target;
}

std::span<const StatusInfo> mobile_statuses() noexcept { return kStatuses; }

const char* to_string(MobileStatus status) noexcept {
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kStatuses) ? kStatuses[index].name : "unknown";
}

const char* to_string(ArmPlane plane) noexcept {
  switch (plane) {
    case ArmPlane::Facing:
      return "facing";
    case ArmPlane::Opposite:
      return "opposite";
    case ArmPlane::Free:
      return "free";
  }
  return "unknown";
}

namespace mobile {
namespace {

constexpr double kLimitSlack = 1e-9;     // [rad] rounding of angles at a limit
constexpr double kVerticalTool = 1e-6;   // horizontal component of the tool axis
constexpr double kRotationSlack = 1e-6;  // entries of R^T R - I
constexpr double kLargestHeading = 1e6;  // [rad] above it angles are lost in rounding

}  // namespace

std::optional<double> into_limits(double angle, const JointLimits& limits, double near) noexcept {
  double best = 0.0, distance = std::numeric_limits<double>::infinity();
  const double first =
      angle + 2.0 * kPi * std::ceil((limits.min - kLimitSlack - angle) / (2.0 * kPi));
  for (double a = first; a <= limits.max + kLimitSlack; a += 2.0 * kPi) {
    if (std::abs(a - near) < distance) {
      distance = std::abs(a - near);
      best = a;
    }
  }
  if (!std::isfinite(distance)) return std::nullopt;
  return std::clamp(best, limits.min, limits.max);
}

namespace {

/// The end of the range that is nearest to the angle on the circle.
double nearest_limit(double angle, const JointLimits& limits) noexcept {
  return std::abs(wrap_angle(angle - limits.min)) < std::abs(wrap_angle(angle - limits.max))
             ? limits.min
             : limits.max;
}

PlaneCase plane_case(const MobileRobot& robot, const Problem& problem, double position_tolerance,
                     double psi, ArmPlane label) noexcept {
  const MobileRobotParameters& parameters = robot.parameters();
  const Eigen::Matrix3d R = problem.target->X_WG.linear();
  const Eigen::Vector3d p = problem.target->X_WG.translation();
  PlaneCase plane{.plane = label};
  plane.cos_psi = std::cos(psi);
  plane.sin_psi = std::sin(psi);
  const Eigen::Vector3d forward(plane.cos_psi, plane.sin_psi, 0.0);
  const Eigen::Vector3d left(-plane.sin_psi, plane.cos_psi, 0.0);
  const Eigen::Vector3d axis = R.col(0);
  const double along = axis.dot(forward);
  plane.last_angle = std::atan2(along, axis.z()) - parameters.tool_tilt;
  plane.last_sin = std::sin(plane.last_angle);
  plane.last_cos = std::cos(plane.last_angle);

  // Roll: the rest of the orientation, in the frame of a tool without roll. Its y axis is `left`.
  const Eigen::Vector3d up = axis.cross(left);
  const std::optional<double> roll = into_limits(std::atan2(R.col(1).dot(up), R.col(1).dot(left)),
                                                 parameters.roll, problem.joints.back());
  if (roll) plane.roll = *roll;

  // Yaw: within the limits, or the platform rotates by the rest.
  const double desired_yaw = psi - problem.base.heading;
  const std::optional<double> yaw =
      into_limits(desired_yaw, parameters.yaw, problem.joints.front());
  plane.yaw = yaw ? *yaw : nearest_limit(desired_yaw, parameters.yaw);
  plane.heading =
      yaw ? problem.base.heading : problem.base.heading + wrap_angle(desired_yaw - plane.yaw);
  const auto mount = [&](double heading) {
    const double c = std::cos(heading), s = std::sin(heading);
    return Eigen::Vector2d(c * parameters.mount_x - s * parameters.mount_y,
                           s * parameters.mount_x + c * parameters.mount_y);
  };
  const Eigen::Vector2d mount_at_start = mount(problem.base.heading);
  const Eigen::Vector2d rotated_mount = yaw ? mount_at_start : mount(plane.heading);
  plane.mount_x = rotated_mount.x();
  plane.mount_y = rotated_mount.y();
  const Eigen::Vector2d foot =
      mount_at_start + Eigen::Vector2d(problem.base.x, problem.base.y) - p.head<2>();
  plane.start_abscissa = foot.dot(forward.head<2>());
  plane.offset = foot.dot(left.head<2>());

  const double wrist_height = p.z() - parameters.links.back().length * plane.last_cos;
  if (std::abs(wrist_height - parameters.shoulder_height) > robot.wrist_reach() + kLimitSlack) {
    plane.refusal = MobileStatus::UnreachableHeight;
  } else if (!roll) {
    plane.refusal = MobileStatus::UnreachableRoll;
  } else if (problem.rule.frozen && (!yaw || std::abs(plane.offset) > 0.5 * position_tolerance)) {
    plane.refusal = MobileStatus::BaseBlocked;
  }
  return plane;
}

}  // namespace

PlaneCases plane_cases(const MobileRobot& robot, const Problem& problem, double position_tolerance,
                       bool nearest_first) noexcept {
  PlaneCases planes;
  const double present = problem.base.heading + problem.joints.front();
  const auto add = [&](double psi, ArmPlane label) {
    planes.cases[planes.count++] = plane_case(robot, problem, position_tolerance, psi, label);
  };
  const auto add_both = [&](double psi, ArmPlane first, ArmPlane second) {
    const bool swap = nearest_first && std::cos(psi - present) < 0.0;
    add(swap ? psi + kPi : psi, swap ? second : first);
    add(swap ? psi : psi + kPi, swap ? first : second);
  };
  const Eigen::Vector3d axis = problem.target->X_WG.linear().col(0);
  if (hypotenuse(axis.x(), axis.y()) > kVerticalTool) {
    add_both(std::atan2(axis.y(), axis.x()), ArmPlane::Facing, ArmPlane::Opposite);
    return planes;
  }
  const double first = problem.target->azimuth.value_or(present);
  const double c = std::cos(problem.base.heading), s = std::sin(problem.base.heading);
  const MobileRobotParameters& parameters = robot.parameters();
  const Eigen::Vector3d p = problem.target->X_WG.translation();
  const double to_target =
      std::atan2(p.y() - problem.base.y - s * parameters.mount_x - c * parameters.mount_y,
                 p.x() - problem.base.x - c * parameters.mount_x + s * parameters.mount_y);
  add_both(first, ArmPlane::Free, ArmPlane::Free);
  add_both(to_target, ArmPlane::Free, ArmPlane::Free);
  for (int k = 1; k < 4; ++k) add_both(first + 0.25 * k * kPi, ArmPlane::Free, ArmPlane::Free);
  return planes;
}

PlatformPose base_at(const PlaneCase& plane, const Problem& problem, double abscissa) noexcept {
  if (problem.rule.frozen) return problem.base;
  const Eigen::Vector3d p = problem.target->X_WG.translation();
  return {.x = p.x() + plane.cos_psi * abscissa - plane.mount_x,
          .y = p.y() + plane.sin_psi * abscissa - plane.mount_y,
          .heading = plane.heading};
}

MobileStatus begin(const MobileRobot& robot, const ToolTarget& target, const PlatformPose& base,
                   JointAngles start, bool check_floor, std::span<double> joints) noexcept {
  const Eigen::Vector3d p = target.X_WG.translation();
  const Eigen::Matrix3d R = target.X_WG.linear();
  for (int j = 0; j < robot.joint_count(); ++j) {
    const JointLimits& limits = robot.joint_limits(j);
    joints[static_cast<std::size_t>(j)] = std::clamp(0.0, limits.min, limits.max);
  }
  if (!R.allFinite() || !std::isfinite(p.squaredNorm()) ||
      !(std::abs(target.azimuth.value_or(0.0)) <= kLargestHeading)) {
    return MobileStatus::InvalidTarget;
  }
  if (((R.transpose() * R) - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() > kRotationSlack ||
      R.determinant() < 0.0) {
    return MobileStatus::InvalidRotation;
  }
  if (static_cast<int>(start.size()) != robot.joint_count() ||
      !std::all_of(start.begin(), start.end(), [](double q) { return std::isfinite(q); }) ||
      !std::isfinite(base.x * base.x + base.y * base.y) ||
      !(std::abs(base.heading) <= kLargestHeading)) {
    return MobileStatus::InvalidStart;
  }
  for (int j = 0; j < robot.joint_count(); ++j) {
    const JointLimits& limits = robot.joint_limits(j);
    const auto k = static_cast<std::size_t>(j);
    joints[k] = std::clamp(start[k], limits.min, limits.max);
  }
  if (check_floor) {
    const double length = robot.parameters().links.back().length;
    const Eigen::Vector3d axis = R.col(0);
    // A tilted tool has its wrist at another height in each plane: the higher one counts.
    const double angle = std::atan2(hypotenuse(axis.x(), axis.y()), axis.z());
    const double tilt = robot.parameters().tool_tilt;
    const double wrist = p.z() - length * std::min(std::cos(angle - tilt), std::cos(angle + tilt));
    if (p.z() < 0.0 || wrist < 0.0) return MobileStatus::UnderFloor;
  }
  return MobileStatus::Converged;
}

void evaluate(const MobileRobot& robot, const Problem& problem, const PlatformPose& base,
              JointAngles joints, MobileResult& result) noexcept {
  const Eigen::Isometry3d X_WE = tool_pose(robot, base, joints);
  const Eigen::Isometry3d& X_WG = problem.target->X_WG;
  result.position_error = (X_WE.translation() - X_WG.translation()).norm();
  result.angle_error = rotation_angle(X_WE.linear(), X_WG.linear());
  result.base = base;
  result.joints = joints;
  result.base_travel = hypotenuse(base.x - problem.base.x, base.y - problem.base.y);
  result.heading_change = wrap_angle(base.heading - problem.base.heading);
}

bool over_floor(const MobileRobot& robot, JointAngles joints) noexcept {
  double b = 0.0, z = robot.parameters().shoulder_height;
  for (int i = 0; i < robot.link_count(); ++i) {
    if (z < 0.0) return false;
    b += joints[static_cast<std::size_t>(i) + 1];
    z += robot.link(i).length * std::cos(b);
  }
  return true;
}

MobileStatus common_refusal(std::span<const PlaneCase> planes) noexcept {
  MobileStatus reason = MobileStatus::UnreachableHeight;
  for (const PlaneCase& plane : planes) {
    if (plane.refusal == MobileStatus::BaseBlocked) return plane.refusal;
    if (plane.refusal == MobileStatus::UnreachableRoll) reason = plane.refusal;
  }
  return reason;
}

}  // namespace mobile
}  // namespace tendril
