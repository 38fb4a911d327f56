#include "tendril/ik/fabrikx_solver.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tendril/ik/reaching_support.hpp"
#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/tangent_links.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kStraight = 1e-12;  // [rad], below it an arc is as long as its chord
constexpr double kProgress = 0.95;   // ratio of the score that a run must fall below to continue
constexpr double kAligned = 1e-9;    // [rad], a smaller rotation moves nothing
constexpr double kSameScore = 1e-9;  // ratio: two rests are the same fixed point

void check(const FabrikxOptions& options) {
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
}

}  // namespace

FabrikxSolver::FabrikxSolver(const ContinuumRobot& robot, const FabrikxOptions& options)
    : robot_(robot),
      options_(options),
      links_(static_cast<std::size_t>(robot.section_count())),
      best_(links_.size()),
      states_(links_.size()) {
  check(options);
  shapes_.reserve(links_.size());
  for (int i = 0; i < robot_.section_count(); ++i) shapes_.emplace_back(robot_.section(i));
  if (options_.section_solve == SectionSolve::Polynomial)
    for (const SectionShape& shape : shapes_) polynomials_.emplace_back(shape);
  options_.section_ik.feed_limit = 0.0;
  fed_section_ik_ = options_.section_ik;
  if (options_.feed_base) fed_section_ik_.feed_limit = robot_.base().feed_limit;
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
    const PlanarShape shape =
        shape_of(i, state.theta, state.extension, shapes_[i].end(state.theta));
    Link& link = links_[i];
    link.placement = {state.theta, state.extension,
                      X_BS.linear() * Vector3d(std::cos(state.phi), std::sin(state.phi), 0.0)};
    link.first = shape.first;
    link.second = shape.second;
    link.tangent_point = X_BS.translation() + link.first * X_BS.linear().col(2);
    X_BS = X_BS * section_end_pose(robot_.section(i), state);
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
      const double limit = forward_bend_limit(i);
      if (std::atan2(v_in.cross(v).norm(), v_in.dot(v)) > limit)
        v = std::cos(limit) * v_in + std::sin(limit) * unit_perpendicular(v, v_in);
    }
    goal = tangent_point + v * link.first;  // (2.40)
  }
  links_.front().goal = goal;
}

double FabrikxSolver::forward_bend_limit(int i) const noexcept {
  return robot_.section(i).bend_angle_limit_at(links_[i].placement.extension);
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

    const PlanarShape shape = reach_in_plane(i, rho, along);
    link.placement = {shape.theta, shape.extension, e};
    if (i == 0 && options_.feed_base) {
      base_state_.feed = shape.feed;
      p.z() = shape.feed;
    }
    link.first = shape.first;
    link.second = shape.second;
    link.tangent_point = p + shape.first * z;  // (2.34)
    p += shape.x * e + shape.z * z;
    z = shape.cos_theta * z + shape.sin_theta * e;
    moved_squared = std::max(moved_squared, (p - link.end).squaredNorm());
    link.end = p;
  }
  tip_axis_ = z;
  return std::sqrt(moved_squared);
}

FabrikxSolver::PlanarShape FabrikxSolver::reach_in_plane(int i, double rho,
                                                         double z) const noexcept {
  const SectionShape& shape = shapes_[i];
  const bool is_fed = i == 0 && fed_section_ik_.feed_limit > 0.0;
  if (shape.is_single_arc() && !is_fed) return reach_with_arc(shape, rho, z);
  const SectionIkOptions& section_ik = is_fed ? fed_section_ik_ : options_.section_ik;
  const SectionIkResult solution = [&] {
    switch (options_.section_solve) {
      case SectionSolve::Iterative:
        return solve_section_iterative(shape, rho, z, section_ik);
      case SectionSolve::Polynomial:
        if (!is_fed) return polynomials_[i].solve(rho, z, section_ik);
        break;
      case SectionSolve::Newton:
        break;
    }
    if (is_fed) return solve_section_with_feed(shape, rho, z, section_ik);
    return solve_section_newton(shape, rho, z, section_ik, links_[i].placement.theta);
  }();
  PlanarShape placed = shape_of(i, solution.theta, solution.extension, solution.end);
  placed.feed = solution.feed;
  return placed;
}

/// One arc in closed form: theta = 2 alpha. Sine and cosine of theta/2 are the target's direction
/// itself.
FabrikxSolver::PlanarShape FabrikxSolver::reach_with_arc(const SectionShape& section, double rho,
                                                         double z) const noexcept {
  const double n = std::sqrt(rho * rho + z * z);
  double theta = 2.0 * std::atan2(rho, z);
  double cos_half = n > 0.0 ? z / n : 1.0, sin_half = n > 0.0 ? rho / n : 0.0;
  const auto bend_by = [&](double angle) {
    theta = angle;
    cos_half = std::cos(angle / 2.0);
    sin_half = std::sin(angle / 2.0);
  };
  const auto chord_ratio = [&] { return theta < kStraight ? 1.0 : sin_half / (theta / 2.0); };

  double extension = 0.0;
  if (section.is_extensible()) {
    if (theta > section.bend_angle_limit()) bend_by(section.bend_angle_limit());
    const double c = chord_ratio();
    extension = c > 0.0 ? std::clamp(n / c - section.length(), 0.0, section.variable_length())
                        : section.variable_length();
  }
  const double limit = section.bend_angle_limit_at(extension);
  if (theta > limit) bend_by(limit);

  const double C = (section.length() + extension) * chord_ratio();
  const double cos_quarter = theta > kLargestLinkBend ? std::cos(kLargestLinkBend / 2.0) : cos_half;
  const double link = C / (2.0 * cos_quarter);  // (2.31), (2.32) for alpha = theta/2
  return {.theta = theta,
          .extension = extension,
          .feed = 0.0,
          .x = C * sin_half,
          .z = C * cos_half,
          .cos_theta = (cos_half - sin_half) * (cos_half + sin_half),
          .sin_theta = 2.0 * sin_half * cos_half,
          .first = link,
          .second = link};
}

FabrikxSolver::PlanarShape FabrikxSolver::shape_of(int i, double theta, double extension,
                                                   const SectionShape::End& end) const noexcept {
  const double S = shapes_[i].length() + extension;
  PlanarShape shape{.theta = theta,
                    .extension = extension,
                    .feed = 0.0,
                    .x = S * end.x,
                    .z = S * end.z,
                    .cos_theta = end.cos_theta,
                    .sin_theta = end.sin_theta,
                    .first = 0.0,
                    .second = 0.0};
  if (theta >= kStraight && theta <= kLargestLinkBend) {
    shape.second = shape.x / shape.sin_theta;  // `tangent_links` with sine and cosine at hand
    shape.first = shape.z - shape.second * shape.cos_theta;
  } else {
    const TangentLinks links = tangent_links(robot_.section(i), theta, S, {end.x, end.z});
    shape.first = links.first;
    shape.second = links.second;
  }
  return shape;
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
    states_[i] = {best_[i].theta, std::atan2(e.y(), e.x()), best_[i].extension};
    X_BE = X_BE * section_end_pose(robot_.section(i), states_[i]);
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
