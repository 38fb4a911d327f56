#include "tendril/ik/fabrikx_solver.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/tangent_links.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kStraight = 1e-12;  // [rad], below it an arc is as long as its chord
constexpr double kOnAxis = 1e-11;  // [m], a target this near the base axis gives no bend direction
constexpr double kCoincident = 1e-14;  // [m], points this near give no direction
constexpr double kAtRest = 1e-13;      // of the robot's length: no section end moves by more

void check(const FabrikxOptions& options) {
  require_solver_options("fabrikx", options.max_iterations, options.position_tolerance,
                         options.angle_tolerance);
  const SectionIkOptions& inner = options.section_ik;
  if (inner.max_iterations < 1)
    refuse_solver_option("fabrikx", "section_ik.max_iterations", inner.max_iterations, ">= 1");
  if (!(inner.position_tolerance > 0.0))
    refuse_solver_option("fabrikx", "section_ik.position_tolerance", inner.position_tolerance,
                         "> 0");
  if (!(inner.angle_tolerance > 0.0))
    refuse_solver_option("fabrikx", "section_ik.angle_tolerance", inner.angle_tolerance, "> 0");
}

/// Unit vector along `v`, or `otherwise` when v has no direction.
Vector3d direction_of(const Vector3d& v, const Vector3d& otherwise) noexcept {
  const double length = v.norm();
  return length > kCoincident ? Vector3d(v / length) : otherwise;
}

/// The part of `e` perpendicular to the unit vector z, unit; any perpendicular when there is none.
Vector3d perpendicular(const Vector3d& e, const Vector3d& z) noexcept {
  const Vector3d rest = e - e.dot(z) * z;
  const double length = rest.norm();
  return length > 1e-6 ? Vector3d(rest / length) : z.unitOrthogonal();
}

}  // namespace

FabrikxSolver::FabrikxSolver(const ContinuumRobot& robot, const FabrikxOptions& options)
    : robot_(robot),
      options_(options),
      links_(static_cast<std::size_t>(robot.section_count())),
      best_(links_.size()),
      states_(links_.size()) {
  check(options);
}

IkResult FabrikxSolver::solve(const TipTarget& target, SectionStates start,
                              const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  load(target, start, base);
  if (within_tolerance()) {
    const IkResult result = report(IkStatus::Converged, 0);
    if (result.converged()) return result;
  }
  const double at_rest = kAtRest * robot_.max_length();
  for (int i = 1; i <= options_.max_iterations; ++i) {
    forward_reach();
    const double moved = backward_reach();
    keep_if_best();
    if (within_tolerance()) {
      const IkResult result = report(IkStatus::Converged, i);
      if (result.converged()) return result;
    }
    if (moved <= at_rest) return report(IkStatus::Stalled, i);
  }
  return report(IkStatus::MaxIterations, options_.max_iterations);
}

/// Places the chain of tangent links on the start pose. Reads all of `start` before anything that
/// `start` may be a view of is written.
void FabrikxSolver::load(const TipTarget& target, SectionStates start,
                         const BaseState& base) noexcept {
  target_ = target;
  target_direction_ = direction_of(target.direction(), Vector3d::UnitZ());
  base_state_ = base;
  Eigen::Isometry3d X_BS = base_pose(base);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const SectionState state = robot_.clamped(i, start[static_cast<std::size_t>(i)]);
    const Section& section = robot_.section(i);
    const PlanarShape shape =
        shape_of(section, state.theta, state.extension, section.end_point(state.theta));
    Link& link = links_[static_cast<std::size_t>(i)];
    link.placement = {state.theta, state.extension,
                      X_BS.linear() * Vector3d(std::cos(state.phi), std::sin(state.phi), 0.0)};
    link.first = shape.first;
    link.second = shape.second;
    link.tangent_point = X_BS.translation() + link.first * X_BS.linear().col(2);
    X_BS = X_BS * section_end_pose(section, state);
    link.end = X_BS.translation();
  }
  tip_axis_ = X_BS.linear().col(2);
  best_score_ = std::numeric_limits<double>::infinity();
  keep_if_best();
}

/// Tip to base over the tangent links, without limits: where the end of every section should lie.
/// The link lengths and the tangent points of the previous sections are those of the last backward
/// stage.
void FabrikxSolver::forward_reach() noexcept {
  const int last = robot_.section_count() - 1;
  Vector3d goal = target_.position();  // (2.35)
  const Vector3d v_free = direction_of(links_[static_cast<std::size_t>(last)].tangent_point - goal,
                                       -tip_axis_);  // (2.37)
  Vector3d v = target_.task == TipTask::PositionAndDirection ? Vector3d(-target_direction_)
                                                             : v_free;  // (2.36)
  for (int i = last; i > 0; --i) {
    Link& link = links_[static_cast<std::size_t>(i)];
    const Link& previous = links_[static_cast<std::size_t>(i - 1)];
    link.goal = goal;
    const Vector3d tangent_point = goal + v * link.second;  // (2.38)
    const Vector3d v_in = v;
    v = direction_of(previous.tangent_point - tangent_point, v_in);  // (2.39)
    if (options_.cap_forward_bend) {
      const double limit = forward_bend_limit(i);
      if (std::atan2(v_in.cross(v).norm(), v_in.dot(v)) > limit)
        v = std::cos(limit) * v_in + std::sin(limit) * perpendicular(v, v_in);
    }
    goal = tangent_point + v * link.first;  // (2.40)
  }
  links_.front().goal = goal;
}

double FabrikxSolver::forward_bend_limit(int i) const noexcept {
  return robot_.section(i).bend_angle_limit_at(
      links_[static_cast<std::size_t>(i)].placement.extension);
}

/// Base to tip over true sections, each reaching for its goal inside its limits.
/// Returns the largest distance by which a section end moved.
double FabrikxSolver::backward_reach() noexcept {
  Vector3d p(0.0, 0.0, base_state_.feed);
  Vector3d z = Vector3d::UnitZ();
  double moved_squared = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    Link& link = links_[static_cast<std::size_t>(i)];
    const Vector3d d = link.goal - p;
    const double along = d.dot(z);
    const Vector3d lateral = d - along * z;
    const double rho = lateral.norm();
    const Vector3d e =
        rho > kOnAxis ? Vector3d(lateral / rho) : perpendicular(link.placement.bend_direction, z);

    const PlanarShape shape = reach_in_plane(i, rho, along);
    link.placement = {shape.theta, shape.extension, e};
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
  const Section& section = robot_.section(i);
  if (section.length_weights().size() == 1) return reach_with_arc(section, rho, z);
  const SectionIkResult answer =
      options_.section_solve == SectionSolve::Iterative
          ? solve_section_iterative(section, rho, z, options_.section_ik)
          : solve_section_newton(section, rho, z, options_.section_ik,
                                 links_[static_cast<std::size_t>(i)].placement.theta);
  return shape_of(section, answer.theta, answer.extension, answer.end);
}

/// One arc in closed form: theta = 2 alpha. Sine and cosine of theta/2 are the target's direction
/// itself.
FabrikxSolver::PlanarShape FabrikxSolver::reach_with_arc(const Section& section, double rho,
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
          .x = C * sin_half,
          .z = C * cos_half,
          .cos_theta = (cos_half - sin_half) * (cos_half + sin_half),
          .sin_theta = 2.0 * sin_half * cos_half,
          .first = link,
          .second = link};
}

FabrikxSolver::PlanarShape FabrikxSolver::shape_of(const Section& section, double theta,
                                                   double extension,
                                                   const PlanarPoint& end) const noexcept {
  const double S = section.length() + extension;
  const TangentLinks links = tangent_links(section, theta, S, end);
  return {.theta = theta,
          .extension = extension,
          .x = S * end.x,
          .z = S * end.z,
          .cos_theta = std::cos(theta),
          .sin_theta = std::sin(theta),
          .first = links.first,
          .second = links.second};
}

void FabrikxSolver::keep_if_best() noexcept {
  position_error_ = (links_.back().end - target_.position()).norm();
  angle_error_ =
      target_.task == TipTask::PositionAndDirection
          ? std::atan2(tip_axis_.cross(target_direction_).norm(), tip_axis_.dot(target_direction_))
          : 0.0;
  const double score = std::max(position_error_ / options_.position_tolerance,
                                angle_error_ / options_.angle_tolerance);
  if (!(score < best_score_)) return;
  best_score_ = score;
  for (std::size_t i = 0; i < links_.size(); ++i) best_[i] = links_[i].placement;
}

bool FabrikxSolver::within_tolerance() const noexcept {
  return position_error_ <= options_.position_tolerance && angle_error_ <= options_.angle_tolerance;
}

/// The best iterate as states, its directions phi found by walking the frames, and its errors by
/// forward kinematics.
IkResult FabrikxSolver::report(IkStatus status, int iterations) noexcept {
  Eigen::Isometry3d X_BE = base_pose(base_state_);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Vector3d e = X_BE.linear().transpose() * best_[k].bend_direction;
    states_[k] = {best_[k].theta, std::atan2(e.y(), e.x()), best_[k].extension};
    X_BE = X_BE * section_end_pose(robot_.section(i), states_[k]);
  }
  IkResult result;
  result.iterations = iterations;
  result.position_error = tendril::position_error(X_BE, target_);
  result.angle_error = tendril::angle_error(X_BE, target_);
  result.base = base_state_;
  result.states = states_;
  const bool within = result.position_error <= options_.position_tolerance &&
                      result.angle_error <= options_.angle_tolerance;
  result.status = within                          ? IkStatus::Converged
                  : status == IkStatus::Converged ? IkStatus::MaxIterations
                                                  : status;
  return result;
}

}  // namespace tendril
