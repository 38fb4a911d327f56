#include "tendril/mobile/postures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kPositionTolerance = 1e-4;  // [m]
constexpr double kReachRatio = 0.97;         // of the straight arm's reach
constexpr int kElbows = 2;
constexpr double kLimitZone = 0.2;       // [rad] nearer to a limit costs
constexpr double kLimitSurcharge = 1.0;  // at the limit
constexpr double kStraightZone = 0.4;    // [rad]
constexpr double kStraightSurcharge = 1.0;

}  // namespace

MobilePostures::MobilePostures(const MobileRobot& robot, const MobilePosturesOptions& options)
    : robot_(robot),
      options_(options),
      solver_(robot, {.position_tolerance = kPositionTolerance}),
      from_(configuration_size(robot)),
      joints_(static_cast<std::size_t>(robot.joint_count())) {
  constexpr char kName[] = "mobile postures";
  require(kName, "headings", options.headings, {.low = 1.0});
  require(kName, "distances", options.distances, {.low = 1.0});
  require(kName, "platform_weight", options.platform_weight, kNotNegative, "rad/m");
  require(kName, "heading_weight", options.heading_weight, kNotNegative);
}

int MobilePostures::begin(const ToolTarget& target, const MobileConfiguration& from) noexcept {
  target_ = target;
  from_ = from;
  const PlatformPose base = platform_of(from_);
  if (mobile::begin(robot_, target_, base, joints_of(from_), true, joints_) !=
      MobileStatus::Converged) {
    return 0;
  }
  if (robot_.link_count() != 3) return kElbows * options_.headings;
  const mobile::Problem problem{
      .target = &target_, .base = base, .joints = joints_of(from_), .rule = {}};
  planes_ = mobile::plane_cases(robot_, problem, kPositionTolerance, true);
  return static_cast<int>(planes_.count) * kElbows * options_.distances * options_.headings;
}

bool MobilePostures::at(int i, Eigen::Ref<Eigen::VectorXd> x, double& cost) noexcept {
  if (!(robot_.link_count() == 3 ? closed_form(i, x) : reached(i, x))) return false;
  cost = options_.platform_weight * hypotenuse(x[0] - from_[0], x[1] - from_[1]) +
         options_.heading_weight * std::abs(x[2] - from_[2]);
  for (int j = 0; j < robot_.joint_count(); ++j) {
    const Eigen::Index k = kPlatformSize + j;
    const JointLimits& limits = robot_.joint_limits(j);
    cost += std::abs(x[k] - from_[k]);
    const double room = std::min(x[k] - limits.min, limits.max - x[k]);
    cost += kLimitSurcharge * std::max(0.0, 1.0 - room / kLimitZone);
  }
  for (int i_link = 1; i_link + 1 < robot_.link_count(); ++i_link) {
    const double elbow = std::abs(x[kPlatformSize + 1 + i_link]);
    cost += kStraightSurcharge * std::max(0.0, 1.0 - elbow / kStraightZone);
  }
  return true;
}

/// Plane, elbow, distance and heading give everything else: MobileClosedForm.
bool MobilePostures::closed_form(int i, Eigen::Ref<Eigen::VectorXd> x) noexcept {
  const int elbow = i % kElbows == 0 ? 1 : -1;
  i /= kElbows;
  const int heading_index = i % options_.headings;
  i /= options_.headings;
  const int distance_index = i % options_.distances;
  const mobile::PlaneCase& plane = planes_.cases[static_cast<std::size_t>(i / options_.distances)];
  if (plane.refusal == MobileStatus::UnreachableHeight ||
      plane.refusal == MobileStatus::UnreachableRoll) {
    return false;
  }
  const MobileRobotParameters& arm = robot_.parameters();
  const double d2 = arm.links[0].length, d3 = arm.links[1].length, d4 = arm.links[2].length;
  const Eigen::Vector3d p = target_.X_WG.translation();

  const double dz = p.z() - d4 * plane.last_cos - arm.shoulder_height;
  const double farthest = std::sqrt(std::max(0.0, (d2 + d3) * (d2 + d3) - dz * dz));
  const double dx =
      kReachRatio * farthest * ((2.0 * distance_index + 1.0) / options_.distances - 1.0);
  const double cos_q3 = (dx * dx + dz * dz - d2 * d2 - d3 * d3) / (2.0 * d2 * d3);
  if (std::abs(cos_q3) > 1.0) return false;
  const double q3 = elbow * std::acos(cos_q3);
  const double q2 = std::atan2(dx, dz) - std::atan2(d3 * std::sin(q3), d2 + d3 * std::cos(q3));

  const double rotation = 2.0 * kPi * heading_index / options_.headings;
  const double heading = from_[2] + std::remainder(rotation, 2.0 * kPi);
  const double psi = std::atan2(plane.sin_psi, plane.cos_psi);
  const std::array desired = {psi - heading, q2, q3, plane.last_angle - q2 - q3, plane.roll};
  for (int j = 0; j < robot_.joint_count(); ++j) {
    const Eigen::Index k = kPlatformSize + j;
    const auto fitted =
        mobile::into_limits(desired[static_cast<std::size_t>(j)], robot_.joint_limits(j), from_[k]);
    if (!fitted) return false;
    x[k] = *fitted;
  }
  const double abscissa = -d4 * plane.last_sin - dx - arm.shoulder_offset;
  const double c = std::cos(heading), s = std::sin(heading);
  x[0] = p.x() + plane.cos_psi * abscissa - (c * arm.mount_x - s * arm.mount_y);
  x[1] = p.y() + plane.sin_psi * abscissa - (s * arm.mount_x + c * arm.mount_y);
  x[2] = heading;
  return true;
}

/// MobileFabrikSolver from the present joints or from mirrored ones, the platform rotated.
bool MobilePostures::reached(int i, Eigen::Ref<Eigen::VectorXd> x) noexcept {
  const double rotation = 2.0 * kPi * (i / kElbows) / options_.headings;
  PlatformPose base = platform_of(from_);
  base.heading += std::remainder(rotation, 2.0 * kPi);
  const JointAngles joints = joints_of(from_);
  std::copy(joints.begin(), joints.end(), joints_.begin());
  if (i % kElbows == 1) {
    for (int j = 1; j <= robot_.link_count(); ++j) joints_[static_cast<std::size_t>(j)] *= -1.0;
  }
  const MobileResult result = solver_.solve(target_, base, joints_);
  if (!result.converged()) return false;
  set_configuration(result.base, result.joints, x);
  return true;
}

}  // namespace tendril
