#include "tendril/avoidance/avoiding_reach.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tendril/ik/reaching_support.hpp"
#include "tendril/ik/section_ik.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/tangent_links.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr int kMaxSurfaceGoals = 2;     // section ends sent to a surface in one stage
constexpr double kAboveSurface = 1e-4;  // [m] how far above it

}  // namespace

AvoidingReach::AvoidingReach(const ContinuumRobot& robot)
    : robot_(robot), links_(static_cast<std::size_t>(robot.section_count())) {
  std::size_t most_arcs = 0;
  for (int i = 0; i < robot.section_count(); ++i) {
    shapes_.emplace_back(robot.section(i));
    most_arcs = std::max(most_arcs, robot.section(i).length_weights().size());
  }
  arcs_.resize(most_arcs);
}

void AvoidingReach::aim(const TipTarget& target, const Obstacles& obstacles,
                        double safety_distance) noexcept {
  target_ = target;
  obstacles_ = &obstacles;
  safety_distance_ = safety_distance;
}

void AvoidingReach::place(SectionStates states, const BaseState& base) noexcept {
  base_ = base;
  Eigen::Isometry3d X_BS = base_pose(base);
  Running at{X_BS.translation(), X_BS.linear().col(2)};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const int section = static_cast<int>(i);
    const SectionState state = robot_.clamped(section, states[i]);
    const Vector3d side = X_BS.linear() * Vector3d(std::cos(state.phi), std::sin(state.phi), 0.0);
    settle(i, {state.theta, state.extension}, side, at);
    X_BS = X_BS * section_end_pose(robot_.section(section), state);
  }
  tip_axis_ = at.z;
}

void AvoidingReach::iterate() noexcept {
  forward_stage();
  backward_stage();
}

void AvoidingReach::forward_stage() noexcept {
  Vector3d goal = target_.position();  // (2.35)
  Vector3d v = target_.task == TipTask::PositionAndDirection
                   ? Vector3d(-target_.direction())                                 // (2.36)
                   : direction_of(links_.back().tangent_point - goal, -tip_axis_);  // (2.37)
  for (std::size_t i = links_.size() - 1; i > 0; --i) {
    Link& link = links_[i];
    link.goal = goal;
    const Vector3d tangent_point = goal + v * link.second;             // (2.38)
    v = direction_of(links_[i - 1].tangent_point - tangent_point, v);  // (2.39)
    goal = tangent_point + v * link.first;                             // (2.40)
  }
  links_.front().goal = goal;
}

void AvoidingReach::backward_stage() noexcept {
  Running at{Vector3d(0.0, 0.0, base_.feed), Vector3d::UnitZ()};
  int surface_goals = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Vector3d side;
    PlaneBend bend = reach(i, at, links_[i].goal, side);
    Running end = at;
    settle(i, bend, side, end);
    const bool is_last = i + 1 == links_.size();
    for (; !is_last && surface_goals < kMaxSurfaceGoals; ++surface_goals) {
      const Clearance inside = obstacles_->nearest(end.p, safety_distance_ - kTouchDistance);
      if (inside.obstacle < 0) break;
      const Vector3d surface =
          end.p + (safety_distance_ - inside.distance + kAboveSurface) * inside.normal;
      bend = reach(i, at, surface, side);
      end = at;
      settle(i, bend, side, end);
    }
    at = end;
  }
  tip_axis_ = at.z;
}

/// Bend of section i for its end at `goal`, corrected for the obstacles.
PlaneBend AvoidingReach::reach(std::size_t i, const Running& at, const Vector3d& goal,
                               Vector3d& side) noexcept {
  const Vector3d d = goal - at.p;
  const double along = d.dot(at.z);
  const Vector3d lateral = d - along * at.z;
  const double rho = lateral.norm();
  side = rho > kOnBaseAxis ? Vector3d(lateral / rho) : unit_perpendicular(links_[i].side, at.z);
  const SectionIkResult desired =
      solve_section_newton(shapes_[i], rho, along, {}, links_[i].bend.theta);
  const Section& section = robot_.section(static_cast<int>(i));
  PlaneBend bend =
      avoid(section, {at.p, at.z, side}, {desired.theta, desired.extension}, goal, *obstacles_,
            safety_distance_, std::span(arcs_).first(section.length_weights().size()));
  if (bend.theta < 0.0) {
    bend.theta = -bend.theta;
    side = -side;
  }
  return bend;
}

/// Puts section i at `at` and moves `at` to its end.
void AvoidingReach::settle(std::size_t i, const PlaneBend& bend, const Vector3d& side,
                           Running& at) noexcept {
  const Section& section = robot_.section(static_cast<int>(i));
  const double length = section.length() + bend.extension;
  const PlanarPoint end = section.end_point(bend.theta);
  const TangentLinks links = tangent_links(section, bend.theta, length, end);
  Link& link = links_[i];
  link.bend = bend;
  link.side = side;
  link.first = links.first;
  link.second = links.second;
  link.tangent_point = at.p + links.first * at.z;
  at.p += length * (end.x * side + end.z * at.z);
  at.z = std::cos(bend.theta) * at.z + std::sin(bend.theta) * side;
  link.end = at.p;
}

double AvoidingReach::position_error() const noexcept {
  return (links_.back().end - target_.position()).norm();
}

double AvoidingReach::angle_error() const noexcept {
  if (target_.task == TipTask::Position) return 0.0;
  return std::atan2(tip_axis_.cross(target_.direction()).norm(),
                    tip_axis_.dot(target_.direction()));
}

void AvoidingReach::states(std::span<SectionState> states) const noexcept {
  assert(states.size() == links_.size());
  Eigen::Isometry3d X_BE = base_pose(base_);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Vector3d e = X_BE.linear().transpose() * links_[i].side;
    states[i] = {links_[i].bend.theta, std::atan2(e.y(), e.x()), links_[i].bend.extension};
    X_BE = X_BE * section_end_pose(robot_.section(static_cast<int>(i)), states[i]);
  }
}

}  // namespace tendril
