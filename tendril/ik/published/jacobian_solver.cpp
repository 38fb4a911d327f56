#include "tendril/ik/published/jacobian_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/cholesky.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {
namespace {

constexpr double kAtRest = 1e-13;  // [rad], [ratio of the robot's length]: no section moves by more

void check(const JacobianOptions& options) {
  constexpr const char* kObject = "jacobian options";
  require_solver_options(kObject, options);
  require(kObject, "damping", options.damping, kNotNegative, "m^2");
  require(kObject, "direction_weight", options.direction_weight, kPositive, "m");
  require(kObject, "length_weight", options.length_weight, kPositive, "m");
}

}  // namespace

JacobianSolver::JacobianSolver(const ContinuumRobot& robot, const JacobianOptions& options)
    : robot_(robot),
      options_(options),
      states_(static_cast<std::size_t>(robot.section_count())),
      best_(states_.size()),
      jacobian_(6, robot.coordinate_count() + (options.feed_base ? 1 : 0)),
      step_(jacobian_.cols()) {
  check(options);
}

IkResult JacobianSolver::solve(const TipTarget& target, SectionStates start,
                               const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  load(start, base);
  evaluate(target);
  if (best_within_tolerance()) return report(IkStatus::Converged, 0);
  if (raise_to_least_start()) {
    evaluate(target);
    if (best_within_tolerance()) return report(IkStatus::Converged, 0);
  }
  const double at_rest = kAtRest * std::max(1.0, robot_.max_length());
  for (int i = 1; i <= options_.max_iterations; ++i) {
    solve_for_step(target);
    const double moved = apply_step();
    evaluate(target);
    if (best_within_tolerance()) return report(IkStatus::Converged, i);
    if (moved <= at_rest) return report(IkStatus::Stalled, i);
  }
  return report(IkStatus::MaxIterations, options_.max_iterations);
}

/// Reads all of `start` before anything that `start` may be a view of is written.
void JacobianSolver::load(SectionStates start, const BaseState& base) noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) states_[i] = robot_.clamped(i, start[i]);
  base_ = base;
  if (options_.feed_base) base_.feed = std::clamp(base.feed, 0.0, robot_.base().feed_limit);
  best_score_ = std::numeric_limits<double>::infinity();
  best_ = states_;
  best_base_ = base_;
}

/// Returns whether a state changed.
bool JacobianSolver::raise_to_least_start() noexcept {
  bool raised = false;
  for (int i = 0; i < robot_.section_count(); ++i) {
    SectionState& state = states_[i];
    const double least_extension = kMinStartExtension * robot_.section(i).variable_length();
    raised = raised || state.theta < kMinStartBend || state.extension < least_extension;
    state.extension = std::max(state.extension, least_extension);
    state.theta = std::max(state.theta, kMinStartBend);
    state = robot_.clamped(i, state);
  }
  return raised;
}

/// Tip pose and plain Jacobian of the states, and the states kept if they are the best so far.
void JacobianSolver::evaluate(const TipTarget& target) noexcept {
  X_BE_ = tip_jacobian(robot_, states_, base_, jacobian_.leftCols(robot_.coordinate_count()));
  const double e_L = position_error(X_BE_, target);
  const double e_A = angle_error(X_BE_, target);
  const double score = std::max(e_L / options_.position_tolerance, e_A / options_.angle_tolerance);
  if (score > best_score_) return;
  best_score_ = score;
  best_position_error_ = e_L;
  best_angle_error_ = e_A;
  best_ = states_;
  best_base_ = base_;
}

/// step_ = J^T (J J^T + lambda I)^-1 (x_goal - x), in the weighted coordinates.  (1.18)
void JacobianSolver::solve_for_step(const TipTarget& target) noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) weight_columns(i);
  if (options_.feed_base) jacobian_.rightCols<1>() = options_.length_weight * Vector6d::Unit(2);
  const auto solve_rows = [&]<int Rows>(const Eigen::Matrix<double, Rows, 1>& residual) {
    const auto J = jacobian_.topRows<Rows>();
    Eigen::Matrix<double, Rows, Rows> A;
    A.noalias() = J.lazyProduct(J.transpose());
    A.diagonal().array() += options_.damping;
    const Eigen::Matrix<double, Rows, 1> y = cholesky_solve(A, residual);
    step_.noalias() = J.transpose().lazyProduct(y);
  };
  const Eigen::Vector3d to_goal = target.position() - X_BE_.translation();
  if (target.task == TipTask::Position) return solve_rows(to_goal);
  const double w_A = options_.direction_weight;
  jacobian_.bottomRows<3>() *= w_A;
  if (options_.damping == 0.0) {
    const Eigen::Vector3d z = X_BE_.linear().col(2), x = z.unitOrthogonal(), y = z.cross(x);
    for (Eigen::Index k = 0; k < jacobian_.cols(); ++k) {
      const Eigen::Vector3d rate = jacobian_.col(k).tail<3>();
      jacobian_(3, k) = x.dot(rate);
      jacobian_(4, k) = y.dot(rate);
    }
    Vector5d across;
    across << to_goal, w_A * x.dot(target.direction()), w_A * y.dot(target.direction());
    return solve_rows(across);
  }
  Vector6d residual;
  residual << to_goal, w_A * (target.direction() - X_BE_.linear().col(2));
  solve_rows(residual);
}

/// Turns the columns u, v, s of section i into those of the unknowns: theta and phi in polar
/// coordinates, and lengths in units of their weight.
void JacobianSolver::weight_columns(int i) noexcept {
  const int k = robot_.coordinate_index(i);
  if (options_.coordinates == JacobianCoordinates::Polar) {
    const SectionState& state = states_[i];
    const double c = std::cos(state.phi), s = std::sin(state.phi);
    const Vector6d u = jacobian_.col(k), v = jacobian_.col(k + 1);
    jacobian_.col(k) = c * u + s * v;
    jacobian_.col(k + 1) = state.theta * (c * v - s * u);
  }
  if (robot_.section(i).is_extensible()) jacobian_.col(k + 2) *= options_.length_weight;
}

/// Takes the whole step, clamped. Returns the largest change of a bend [rad] or a length [m]; 0
/// when the step is not finite, which the target's distance alone can cause.
double JacobianSolver::apply_step() noexcept {
  if (!step_.allFinite()) return 0.0;
  double moved = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    SectionState& state = states_[i];
    const SectionState next = robot_.clamped(i, stepped(i, state));
    moved = std::max({moved, (bend_vector(next) - bend_vector(state)).norm(),
                      std::abs(next.extension - state.extension)});
    state = next;
  }
  if (options_.feed_base) {
    const double feed = std::clamp(base_.feed + options_.length_weight * step_.tail<1>()[0], 0.0,
                                   robot_.base().feed_limit);
    moved = std::max(moved, std::abs(feed - base_.feed));
    base_.feed = feed;
  }
  return moved;
}

SectionState JacobianSolver::stepped(int i, const SectionState& state) const noexcept {
  const int k = robot_.coordinate_index(i);
  const double extension =
      state.extension +
      (robot_.section(i).is_extensible() ? options_.length_weight * step_[k + 2] : 0.0);
  if (options_.coordinates == JacobianCoordinates::BendVector) {
    const Eigen::Vector2d bend = bend_vector(state) + step_.segment<2>(k);
    return state_from_bend_vector(bend.x(), bend.y(), extension, state.phi);
  }
  constexpr double pi = std::numbers::pi;
  double theta = state.theta + step_[k], phi = state.phi + step_[k + 1];
  if (theta < 0.0) {  // a negative bend is a bend in the opposite direction
    theta = -theta;
    phi += pi;
  }
  return {.theta = theta, .phi = std::remainder(phi, 2.0 * pi), .extension = extension};
}

bool JacobianSolver::best_within_tolerance() const noexcept {
  return best_position_error_ <= options_.position_tolerance &&
         best_angle_error_ <= options_.angle_tolerance;
}

IkResult JacobianSolver::report(IkStatus status, int iterations) const noexcept {
  return {.status = status,
          .iterations = iterations,
          .position_error = best_position_error_,
          .angle_error = best_angle_error_,
          .base = best_base_,
          .states = best_};
}

}  // namespace tendril
