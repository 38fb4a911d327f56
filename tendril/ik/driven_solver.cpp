#include "tendril/ik/driven_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

// Of the damping, relative to the squared length scale.
constexpr double kFirstDamping = 1e-3, kLeastDamping = 1e-9, kLargestDamping = 1e3;
constexpr double kLessDamping = 0.2, kMoreDamping = 5.0;  // after a step that helps; that does not
constexpr double kLeastProgress = 1e-3;                   // of the cost in a step
constexpr int kSlowSteps = 4;                             // in a row, until a descent has stalled

}  // namespace

DrivenSolver::DrivenSolver(const ContinuumRobot& robot, const Actuation& actuation,
                           const DrivenOptions& options)
    : robot_(robot),
      options_(options),
      length_scale_(robot.max_length() / robot.section_count()),
      nearest_(actuation.directions, actuation.low, actuation.high),
      body_(actuation.rest) {
  require_solver_options("driven options", options);
  require("driven options", "max_restarts", options.max_restarts, kNotNegative);
  const Eigen::Index n = robot.coordinate_count(), drives = actuation.directions.cols();
  Eigen::Index count = drives;
  if (options.feed_base && robot.base().feed_limit > 0.0) feed_ = static_cast<int>(count++);
  if (options.spin_base && robot.base().spin) spin_ = static_cast<int>(count++);
  directions_ = Eigen::MatrixXd::Zero(n, count);
  directions_.leftCols(drives) = actuation.directions;
  low_ = Eigen::VectorXd::Constant(count, -std::numeric_limits<double>::infinity());
  high_ = -low_;
  low_.head(drives) = actuation.low;
  high_.head(drives) = actuation.high;
  if (feed_ >= 0) {
    low_[feed_] = 0.0;
    high_[feed_] = robot.base().feed_limit;
  }
  const Eigen::Index rows = kTipRows + robot.section_count();
  x_ = before_ = best_ = gradient_ = change_ = Eigen::VectorXd::Zero(count);
  u_ = Eigen::VectorXd::Zero(drives);
  q_ = Eigen::VectorXd::Zero(n);
  states_.assign(robot.straight().begin(), robot.straight().end());
  best_states_ = states_;
  J_q_.setZero(6, n);
  J_ = Eigen::MatrixXd::Zero(rows, count);
  residual_ = Eigen::VectorXd::Zero(rows);
  normal_ = damped_ = Eigen::MatrixXd::Identity(count, count);
  factor_.compute(damped_);
}

void DrivenSolver::limit(Eigen::VectorXd& q) noexcept {
  q -= body_;
  nearest_.distribute(q, u_);
  q = body_;
  q.noalias() += directions_.leftCols(u_.size()).lazyProduct(u_);
}

IkResult DrivenSolver::solve(const TipTarget& target, SectionStates start,
                             const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  std::copy(start.begin(), start.end(), states_.begin());  // it may be the previous solution
  base_ = base;
  to_coordinates(robot_, states_, q_);
  q_ -= body_;
  nearest_.distribute(q_, u_);
  x_.head(u_.size()) = u_;
  if (feed_ >= 0) x_[feed_] = std::clamp(base.feed, low_[feed_], high_[feed_]);
  if (spin_ >= 0) x_[spin_] = base.spin;

  IkResult result;
  double best_cost = std::numeric_limits<double>::infinity();
  SplitMix64 random(options_.seed);
  End end = End::Stalled;
  for (int restart = 0; restart <= options_.max_restarts && end == End::Stalled; ++restart) {
    if (restart > 0) draw(random);
    end = descend(target, result);
    if (end != End::Converged && !(cost_ < best_cost)) continue;
    best_cost = cost_;
    best_ = x_;
    result.jumped = restart > 0;
  }
  x_ = best_;
  evaluate(target);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    best_states_[k] = robot_.clamped(i, states_[k]);
  }
  const Eigen::Isometry3d X_BE = tip_pose(robot_, best_states_, base_);
  result.position_error = position_error(X_BE, target);
  result.angle_error = angle_error(X_BE, target);
  const bool met = result.position_error <= options_.position_tolerance &&
                   result.angle_error <= options_.angle_tolerance;
  result.status = met                       ? IkStatus::Converged
                  : end == End::BudgetSpent ? IkStatus::MaxIterations
                                            : IkStatus::Stalled;
  result.base = base_;
  result.states = best_states_;
  return result;
}

/// One descent from x_, which ends at the best pose found.
DrivenSolver::End DrivenSolver::descend(const TipTarget& target, IkResult& result) noexcept {
  const double unit = length_scale_ * length_scale_;
  double damping = kFirstDamping;
  int slow = 0;
  evaluate(target);
  ++result.iterations;
  while (!is_met(target)) {
    build_system();
    const double cost = cost_;
    before_ = x_;
    for (cost_ = std::numeric_limits<double>::infinity(); !(cost_ < cost);) {
      if (result.iterations >= options_.max_iterations || damping > kLargestDamping) {
        x_ = before_;
        evaluate(target);
        return damping > kLargestDamping ? End::Stalled : End::BudgetSpent;
      }
      step(damping * unit);
      evaluate(target);
      ++result.iterations;
      damping =
          cost_ < cost ? std::max(kLeastDamping, kLessDamping * damping) : kMoreDamping * damping;
    }
    slow = cost_ > (1.0 - kLeastProgress) * cost ? slow + 1 : 0;
    if (slow == kSlowSteps) return End::Stalled;
  }
  return End::Converged;
}

/// Evaluates the pose of x_: tip, residual, cost.
void DrivenSolver::evaluate(const TipTarget& target) noexcept {
  if (feed_ >= 0) base_.feed = x_[feed_];
  if (spin_ >= 0) base_.spin = x_[spin_];
  q_ = body_;
  q_.noalias() += directions_.lazyProduct(x_);
  from_coordinates(robot_, q_, states_);
  X_BE_ = tip_jacobian(robot_, states_, base_, J_q_);
  residual_.setZero();
  residual_.head<3>() = X_BE_.translation() - target.position();
  if (target.task != TipTask::Position)
    residual_.segment<3>(3) = length_scale_ * (X_BE_.linear().col(2) - target.direction());
  for (int i = 0; i < robot_.section_count(); ++i) {
    const SectionState& state = states_[static_cast<std::size_t>(i)];
    const double limit = robot_.section(i).bend_angle_limit_at(state.extension);
    residual_[kTipRows + i] = length_scale_ * std::max(0.0, state.theta - limit);
  }
  cost_ = residual_.squaredNorm();
}

bool DrivenSolver::is_met(const TipTarget& target) const noexcept {
  return position_error(X_BE_, target) <= options_.position_tolerance &&
         angle_error(X_BE_, target) <= options_.angle_tolerance &&
         residual_.tail(robot_.section_count()).maxCoeff() <= 0.0;
}

/// Normal equations of the pose evaluated last. Drives at a limit that the descent presses on are
/// left out.
void DrivenSolver::build_system() noexcept {
  J_.setZero();
  J_.topRows<3>().noalias() = J_q_.topRows<3>().lazyProduct(directions_);
  const bool has_direction = !residual_.segment<3>(3).isZero(0.0);
  if (has_direction)
    J_.middleRows<3>(3).noalias() = length_scale_ * J_q_.bottomRows<3>().lazyProduct(directions_);
  if (feed_ >= 0) J_(2, feed_) = 1.0;
  if (spin_ >= 0) {
    J_.col(spin_).head<3>() = Vector3d::UnitZ().cross(X_BE_.translation());
    if (has_direction)
      J_.col(spin_).segment<3>(3) =
          length_scale_ * Vector3d::UnitZ().cross(Vector3d(X_BE_.linear().col(2)));
  }
  for (int i = 0; i < robot_.section_count(); ++i) {
    if (residual_[kTipRows + i] == 0.0) continue;
    const int k = robot_.coordinate_index(i);
    const double phi = states_[static_cast<std::size_t>(i)].phi;
    J_.row(kTipRows + i) = length_scale_ * (std::cos(phi) * directions_.row(k) +
                                            std::sin(phi) * directions_.row(k + 1));
  }
  gradient_.noalias() = J_.transpose().lazyProduct(residual_);
  normal_.noalias() = J_.transpose().lazyProduct(J_);
  for (Eigen::Index j = 0; j < x_.size(); ++j) {
    const bool presses =
        (x_[j] <= low_[j] && gradient_[j] > 0.0) || (x_[j] >= high_[j] && gradient_[j] < 0.0);
    if (!presses) continue;
    gradient_[j] = 0.0;
    normal_.row(j).setZero();
    normal_.col(j).setZero();
  }
}

void DrivenSolver::step(double damping) noexcept {
  damped_ = normal_;
  damped_.diagonal().array() += damping;
  factor_.compute(damped_);
  change_ = factor_.solve(gradient_);
  x_ = (before_ - change_).cwiseMax(low_).cwiseMin(high_);
}

/// Draws drives elsewhere.
void DrivenSolver::draw(SplitMix64& random) noexcept {
  for (Eigen::Index j = 0; j < u_.size(); ++j)  // tendons may bend by far more than sections do
    x_[j] = random.uniform(low_[j], std::min(high_[j], std::max(low_[j], 0.0) + std::numbers::pi));
  if (feed_ >= 0) x_[feed_] = random.uniform(low_[feed_], high_[feed_]);
  if (spin_ >= 0) x_[spin_] = random.uniform(-std::numbers::pi, std::numbers::pi);
}

}  // namespace tendril
