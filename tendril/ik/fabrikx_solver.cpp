#include "tendril/ik/fabrikx_solver.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tendril/ik/reaching_support.hpp"
#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kProgress = 0.95;   // ratio of the score that a run must fall below to continue
constexpr double kAligned = 1e-9;    // [rad], a smaller rotation moves nothing
constexpr double kSameScore = 1e-9;  // ratio: two rests are the same fixed point

void check(const ContinuumRobot& robot, const FabrikxOptions& options) {
  constexpr const char* kObject = "fabrikx options";
  require_solver_options(kObject, options);
  const SectionIkOptions& inner = options.section_ik;
  require(kObject, "section_ik.max_iterations", inner.max_iterations, {.low = 1});
  require(kObject, "section_ik.position_tolerance", inner.position_tolerance, kPositive, "m");
  require(kObject, "section_ik.angle_tolerance", inner.angle_tolerance, kPositive, "rad");
  if (!(inner.max_feed_step > 0.0))  // infinity: no limit
    refuse(kObject, "section_ik.max_feed_step", inner.max_feed_step, "> 0", "m");
  require(kObject, "stall_window", options.stall_window, {.low = 1});
  require(kObject, "rotation_period", options.rotation_period, {.low = 0});
  require(kObject, "rotation_divisor", options.rotation_divisor, {.low = 1.0});
  const std::vector<SectionMap>& maps = options.section_maps;
  if (maps.empty()) return;
  if (maps.size() != static_cast<std::size_t>(robot.section_count()))
    refuse(kObject, "number of section_maps", static_cast<double>(maps.size()),
           std::to_string(robot.section_count()) + ", one for each section, or 0");
  if (options.feed_base && maps.front().is_given())
    throw ModelError(std::string(kObject) +
                     ": feed_base = true, must be false: the first section has a map");
}

}  // namespace

FabrikxSolver::FabrikxSolver(const ContinuumRobot& robot, const FabrikxOptions& options)
    : robot_(robot),
      options_(options),
      links_(static_cast<std::size_t>(robot.section_count())),
      best_(links_.size()),
      states_(links_.size()) {
  check(robot, options);
  sections_.reserve(links_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    SectionIkOptions section_ik = options.section_ik;
    section_ik.feed_limit = i == 0 && options.feed_base ? robot.base().feed_limit : 0.0;
    const SectionMap map = options.section_maps.empty() ? SectionMap{} : options.section_maps[i];
    const int index = static_cast<int>(i);
    sections_.emplace_back(robot.section(index), options.section_solve, section_ik, map, index + 1);
  }
}

IkResult FabrikxSolver::solve(const TipTarget& target, SectionStates start,
                              const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  load(target, start, base);
  if (within_tolerance()) {
    const IkResult result = report(IkStatus::Converged, 0);
    if (result.converged()) return result;
  }
  const double at_rest = kReachingAtRest * robot_.max_length();
  double watched_score = score_;
  int watched_since = 0;
  double rest_score = -1.0;  // where the last rotation began
  for (int i = 1; i <= options_.max_iterations; ++i) {
    if (i > 1 && iterations_to_rotation(i - 1) == 0) rotate_about_tip();
    forward_reach();
    const double moved = backward_reach();
    keep_if_best();
    if (within_tolerance()) {
      const IkResult result = report(IkStatus::Converged, i);
      if (result.converged()) return result;
    }
    const bool is_at_rest = moved <= at_rest;
    if (!options_.stall_restart) {
      if (!is_at_rest) continue;
      // Iterations until the next rotation would change nothing: they count, but do not run.
      const bool is_back = std::abs(score_ - rest_score) <= kSameScore * score_;
      const bool can_rotate = options_.rotation_period > 0 && missing_rotation().norm() > kAligned;
      if (!can_rotate || is_back) return report(IkStatus::Stalled, i);
      rest_score = score_;
      i = std::min(i + iterations_to_rotation(i), options_.max_iterations);
      continue;
    }
    if (score_ < kProgress * watched_score) {
      watched_score = score_;
      watched_since = i;
    } else if (is_at_rest || i - watched_since >= options_.stall_window) {
      restart();
      watched_score = score_;
      watched_since = i;
    }
  }
  return report(IkStatus::MaxIterations, options_.max_iterations);
}

/// Takes over the arguments.
void FabrikxSolver::load(const TipTarget& target, SectionStates start,
                         const BaseState& base) noexcept {
  target_ = target;
  target_direction_ = direction_of(target.direction(), Vector3d::UnitZ());
  base_state_ = base;
  if (options_.feed_base)
    base_state_.feed = std::clamp(base_state_.feed, 0.0, robot_.base().feed_limit);
  random_ = SplitMix64(options_.seed);
  restarted_ = false;
  best_score_ = std::numeric_limits<double>::infinity();
  place(start);
  keep_if_best();
}

/// Continues from a random admissible pose.
void FabrikxSolver::restart() noexcept {
  random_states(robot_, random_, states_);
  restarted_ = true;
  place(states_);
  keep_if_best();
}

int FabrikxSolver::iterations_to_rotation(int iteration) const noexcept {
  if (options_.rotation_period == 0) return options_.max_iterations;
  return (options_.rotation_period - iteration % options_.rotation_period) %
         options_.rotation_period;
}

/// Rotation vector from the tip's direction to the desired one [rad]. Where none is desired, it is
/// that of (2.37).
Vector3d FabrikxSolver::missing_rotation() const noexcept {
  const Vector3d desired =
      target_.task == TipTask::PositionAndDirection
          ? target_direction_
          : direction_of(target_.position() - links_.back().tangent_point, tip_axis_);
  const Vector3d axis = tip_axis_.cross(desired);
  const double sine = axis.norm();
  const Vector3d unit_axis = sine > 0.0 ? Vector3d(axis / sine) : tip_axis_.unitOrthogonal();
  return std::atan2(sine, tip_axis_.dot(desired)) * unit_axis;
}

/// Rotates all key points about the tip.
void FabrikxSolver::rotate_about_tip() noexcept {
  const Vector3d tip = links_.back().end;
  const Vector3d missing = missing_rotation();
  const double angle = missing.norm();
  if (!(angle > 0.0)) return;
  const Eigen::Matrix3d R =
      Eigen::AngleAxisd(angle / options_.rotation_divisor, missing / angle).toRotationMatrix();
  for (Link& link : links_) {
    link.tangent_point = tip + R * (link.tangent_point - tip);
    link.end = tip + R * (link.end - tip);
  }
  tip_axis_ = R * tip_axis_;
}

/// Places the chain of tangent links on a pose. Writes nothing that `start` may be a view of.
void FabrikxSolver::place(SectionStates start) noexcept {
  Eigen::Isometry3d X_BS = base_pose(base_state_);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const SectionState state = robot_.clamped(i, start[i]);
    const PlacedSection section = sections_[i].place({state.theta, state.extension});
    Link& link = links_[i];
    link.placement = {section.bend,
                      X_BS.linear() * Vector3d(std::cos(state.phi), std::sin(state.phi), 0.0)};
    link.first = section.first;
    link.second = section.second;
    link.tangent_point = X_BS.translation() + link.first * X_BS.linear().col(2);
    X_BS = X_BS * sections_[i].end_pose(state);
    link.end = X_BS.translation();
  }
  tip_axis_ = X_BS.linear().col(2);
}

/// Tip to base over the tangent links, without limits: where the end of every section should lie.
/// The link lengths and the tangent points of the previous sections are those of the last backward
/// stage.
void FabrikxSolver::forward_reach() noexcept {
  const int last = robot_.section_count() - 1;
  Vector3d goal = target_.position();  // (2.35)
  const Vector3d v_free = options_.keep_free_direction
                              ? Vector3d(-tip_axis_)
                              : direction_of(links_[last].tangent_point - goal,
                                             -tip_axis_);  // (2.37)
  Vector3d v = target_.task == TipTask::PositionAndDirection ? Vector3d(-target_direction_)
                                                             : v_free;  // (2.36)
  for (int i = last; i > 0; --i) {
    Link& link = links_[i];
    const Link& previous = links_[i - 1];
    link.goal = goal;
    const Vector3d tangent_point = goal + v * link.second;  // (2.38)
    const Vector3d v_in = v;
    v = direction_of(previous.tangent_point - tangent_point, v_in);  // (2.39)
    if (options_.cap_forward_bend) {
      const double limit = sections_[i].largest_turn(link.placement.bend.extension);
      if (std::atan2(v_in.cross(v).norm(), v_in.dot(v)) > limit)
        v = std::cos(limit) * v_in + std::sin(limit) * unit_perpendicular(v, v_in);
    }
    goal = tangent_point + v * link.first;  // (2.40)
  }
  links_.front().goal = goal;
}

/// Base to tip over true sections, each reaching for its goal inside its limits.
/// Returns the largest distance by which a section end moved.
double FabrikxSolver::backward_reach() noexcept {
  // With base shift the first section looks at its goal from the base at h = 0.
  Vector3d p(0.0, 0.0, options_.feed_base ? 0.0 : base_state_.feed);
  Vector3d z = Vector3d::UnitZ();
  double moved_squared = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    Link& link = links_[i];
    const Vector3d d = link.goal - p;
    const double along = d.dot(z);
    const Vector3d lateral = d - along * z;
    const double rho = lateral.norm();
    const Vector3d e = rho > kOnBaseAxis ? Vector3d(lateral / rho)
                                         : unit_perpendicular(link.placement.bend_direction, z);

    const PlacedSection section = sections_[i].reach(rho, along, link.placement.bend);
    link.placement = {section.bend, e};
    if (i == 0 && options_.feed_base) {
      base_state_.feed = section.feed;
      p.z() = section.feed;
    }
    link.first = section.first;
    link.second = section.second;
    link.tangent_point = p + section.first * z;  // (2.34)
    p += section.x * e + section.z * z;
    z = section.cos_tangent * z + section.sin_tangent * e;
    moved_squared = std::max(moved_squared, (p - link.end).squaredNorm());
    link.end = p;
  }
  tip_axis_ = z;
  return std::sqrt(moved_squared);
}

void FabrikxSolver::keep_if_best() noexcept {
  position_error_ = (links_.back().end - target_.position()).norm();
  angle_error_ =
      target_.task == TipTask::PositionAndDirection
          ? std::atan2(tip_axis_.cross(target_direction_).norm(), tip_axis_.dot(target_direction_))
          : 0.0;
  score_ = std::max(position_error_ / options_.position_tolerance,
                    angle_error_ / options_.angle_tolerance);
  if (!(score_ < best_score_)) return;
  best_score_ = score_;
  best_feed_ = base_state_.feed;
  best_is_restarted_ = restarted_;
  for (std::size_t i = 0; i < links_.size(); ++i) best_[i] = links_[i].placement;
}

bool FabrikxSolver::within_tolerance() const noexcept {
  return position_error_ <= options_.position_tolerance && angle_error_ <= options_.angle_tolerance;
}

/// The best iterate as states, its directions phi found by walking the frames, and its errors by
/// forward kinematics.
IkResult FabrikxSolver::report(IkStatus status, int iterations) noexcept {
  const BaseState base{best_feed_, base_state_.spin};
  Eigen::Isometry3d X_BE = base_pose(base);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const Vector3d e = X_BE.linear().transpose() * best_[i].bend_direction;
    states_[i] = {best_[i].bend.theta, std::atan2(e.y(), e.x()), best_[i].bend.extension};
    X_BE = X_BE * sections_[i].end_pose(states_[i]);
  }
  IkResult result;
  result.iterations = iterations;
  result.position_error = tendril::position_error(X_BE, target_);
  result.angle_error = tendril::angle_error(X_BE, target_);
  result.jumped = best_is_restarted_;
  result.base = base;
  result.states = states_;
  const bool within = result.position_error <= options_.position_tolerance &&
                      result.angle_error <= options_.angle_tolerance;
  result.status = within                          ? IkStatus::Converged
                  : status == IkStatus::Converged ? IkStatus::MaxIterations
                                                  : status;
  return result;
}

}  // namespace tendril
