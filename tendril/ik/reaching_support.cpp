#include "tendril/ik/reaching_support.hpp"

#include <algorithm>
#include <cassert>
#include <numbers>

#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kFar = 1e9;              // robot lengths: goals are moved no farther away
constexpr double kOnAxis = 1e-6;          // [rad] and robot lengths: counts as on the axis
constexpr double kSmallBend = 0.05;       // [rad]
constexpr double kDirectionSpread = 2.0;  // [rad] from section to section
constexpr double kNoBend = 1e-12;         // [rad], below it a bend has no direction

}  // namespace

Vector3d unit_perpendicular(const Vector3d& e, const Vector3d& z) noexcept {
  const Vector3d rest = e - e.dot(z) * z;
  const double length = rest.norm();
  return length > 1e-12 ? Vector3d(rest / length) : z.unitOrthogonal();
}

ReachingGoal reaching_goal(const ContinuumRobot& robot, const TipTarget& target,
                           const BaseState& base, double position_tolerance,
                           double angle_tolerance) noexcept {
  ReachingGoal goal;
  goal.position = target.position();
  const Vector3d p_base(0.0, 0.0, base.feed);
  const double distance = (goal.position - p_base).stableNorm();
  const double far = kFar * robot.max_length();
  if (distance > far) goal.position = p_base + (goal.position - p_base) / distance * far;
  goal.direction = direction_of(target.direction(), Vector3d::UnitZ());
  goal.has_direction = target.task == TipTask::PositionAndDirection;
  goal.position_tolerance = position_tolerance;
  goal.direction_tolerance = 2.0 * std::sin(std::min(angle_tolerance, std::numbers::pi) / 2.0);
  return goal;
}

bool bend_off_axis(const ContinuumRobot& robot, const ReachingGoal& goal, const BaseState& base,
                   std::span<SectionState> states) noexcept {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = states[i];
    if (state.theta > kOnAxis) return false;
    length += robot.section(i).length() + state.extension;
  }
  const bool on_axis = goal.position.head<2>().norm() <= kOnAxis * length &&
                       (!goal.has_direction || goal.direction.head<2>().norm() <= kOnAxis);
  if (!on_axis || goal.position.z() - base.feed >= length) return false;
  for (int i = 0; i < robot.section_count(); ++i) {
    SectionState& state = states[i];
    state = robot.clamped(i, {kSmallBend, kDirectionSpread * i, state.extension});
  }
  return true;
}

void set_bends(const ContinuumRobot& robot, const BaseState& base,
               std::span<const SpatialBend> bends, std::span<SectionState> states) noexcept {
  assert(bends.size() == states.size());
  Eigen::Matrix3d R_BS = base_pose(base).linear();
  for (int i = 0; i < robot.section_count(); ++i) {
    const Vector3d d = R_BS.transpose() * bends[i].towards;
    const double phi = bends[i].theta > kNoBend ? std::atan2(d.y(), d.x()) : 0.0;
    states[i] = robot.clamped(i, {bends[i].theta, phi, states[i].extension});
    R_BS = R_BS * section_end_pose(robot.section(i), states[i]).linear();
  }
}

IkResult judged(const ContinuumRobot& robot, const TipTarget& target, const BaseState& base,
                SectionStates states, double position_tolerance, double angle_tolerance,
                IkStatus otherwise, int iterations) noexcept {
  const Eigen::Isometry3d X_BE = tip_pose(robot, states, base);
  IkResult result;
  result.iterations = iterations;
  result.position_error = position_error(X_BE, target);
  result.angle_error = angle_error(X_BE, target);
  result.base = base;
  result.states = states;
  const bool within =
      result.position_error <= position_tolerance && result.angle_error <= angle_tolerance;
  result.status = within ? IkStatus::Converged : otherwise;
  return result;
}

}  // namespace tendril
