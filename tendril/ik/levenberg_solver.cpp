#include "tendril/ik/levenberg_solver.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {
namespace {

// Damping in units of the squared length scale; from and to which it is steered.
constexpr double kFirstDamping = 1e-4, kLeastDamping = 1e-12, kMostDamping = 1e4;
constexpr double kGrow = 8.0, kShrink = 0.1;
constexpr double kAtLimit = 1e-9;  // [rad], [parts of SD]: so near a limit counts as on it
constexpr double kLeastProgress =
    1e-3;  // a descent rests when kSlowSteps steps in a row gain less than this part of the cost
constexpr int kSlowSteps = 5;

}  // namespace

LevenbergSolver::LevenbergSolver(const ContinuumRobot& robot, const LevenbergOptions& options)
    : robot_(robot),
      options_(options),
      length_scale_(robot.max_length() / robot.section_count() / 2.0),
      states_(static_cast<std::size_t>(robot.section_count())),
      trial_(states_.size()),
      best_(states_.size()),
      jacobian_(6, robot.coordinate_count()),
      reduced_(6, robot.coordinate_count()),
      step_(robot.coordinate_count()),
      free_(states_.size()) {
  require_solver_options("levenberg", options.max_iterations, options.position_tolerance,
                         options.angle_tolerance);
  if (options.max_restarts < 0)
    refuse_solver_option("levenberg", "max_restarts", options.max_restarts, ">= 0");
}

IkResult LevenbergSolver::solve(const TipTarget& target, SectionStates start,
                                const BaseState& base) noexcept {
  if (const auto refusal = refused_solve(robot_, target, start, base)) return *refusal;
  IkResult result;
  result.base = base;
  for (int i = 0; i < robot_.section_count(); ++i) {
    states_[static_cast<std::size_t>(i)] = robot_.clamped(i, start[static_cast<std::size_t>(i)]);
  }
  rows_ = target.task == TipTask::Position ? 3 : 6;
  iterations_ = 0;
  best_cost_ = std::numeric_limits<double>::infinity();
  SplitMix64 random(options_.seed);

  Descent descent = descend(target, base);
  for (int restart = 0; restart < options_.max_restarts && descent == Descent::AtRest; ++restart) {
    random_states(robot_, random, states_);
    descent = descend(target, base);
  }
  result.status = descent == Descent::Converged     ? IkStatus::Converged
                  : descent == Descent::BudgetSpent ? IkStatus::MaxIterations
                                                    : IkStatus::Stalled;
  result.iterations = iterations_;
  result.position_error = best_position_error_;
  result.angle_error = best_angle_error_;
  result.states = best_;
  return result;
}

LevenbergSolver::Descent LevenbergSolver::descend(const TipTarget& target,
                                                  const BaseState& base) noexcept {
  const double unit = length_scale_ * length_scale_;
  double damping = kFirstDamping;
  double cost = evaluate(target, base);
  keep_if_best(target);
  int slow = 0;
  while (true) {
    if (best_position_error_ <= options_.position_tolerance &&
        best_angle_error_ <= options_.angle_tolerance) {
      return Descent::Converged;
    }
    reduce();
    if (free_count_ == 0) return Descent::AtRest;
    // J^T (J J^T + lambda I)^-1 r: a small system whatever the number of sections.
    const auto J = reduced_.leftCols(free_count_);
    Eigen::Matrix<double, 6, 6> JJ;
    JJ.noalias() = J.lazyProduct(J.transpose());
    trial_ = states_;  // where the step starts from
    const Eigen::Matrix<double, 6, 1> residual = residual_;
    bool improved = false;
    while (!improved) {
      if (iterations_ >= options_.max_iterations) {
        states_ = trial_;
        return Descent::BudgetSpent;
      }
      if (damping > kMostDamping) {
        states_ = trial_;
        return Descent::AtRest;
      }
      Eigen::Matrix<double, 6, 6> A = JJ;
      A.diagonal().array() += damping * unit;
      Eigen::Matrix<double, 6, 1> y;
      if (rows_ == 3) {
        y.head<3>() = A.topLeftCorner<3, 3>().llt().solve(residual.head<3>());
        y.tail<3>().setZero();
      } else {
        y = A.llt().solve(residual);
      }
      step_.head(free_count_).noalias() = J.transpose().lazyProduct(y);
      states_ = trial_;
      apply_step();
      ++iterations_;
      const double new_cost = evaluate(target, base);
      if (new_cost < cost) {
        improved = true;
        slow = new_cost > (1.0 - kLeastProgress) * cost ? slow + 1 : 0;
        cost = new_cost;
        damping = std::max(kLeastDamping, damping * kShrink);
        keep_if_best(target);
      } else {
        damping *= kGrow;
      }
    }
    if (slow >= kSlowSteps) return Descent::AtRest;
  }
}

double LevenbergSolver::evaluate(const TipTarget& target, const BaseState& base) noexcept {
  X_BE_ = tip_jacobian(robot_, states_, base, jacobian_);
  residual_.head<3>() = target.position() - X_BE_.translation();
  if (rows_ == 6) {
    residual_.tail<3>() = length_scale_ * (target.direction() - X_BE_.linear().col(2));
  } else {
    residual_.tail<3>().setZero();
  }
  return residual_.squaredNorm();
}

void LevenbergSolver::reduce() noexcept {
  free_count_ = 0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const SectionState& state = states_[static_cast<std::size_t>(i)];
    const Section& section = robot_.section(i);
    FreeDirections& free = free_[static_cast<std::size_t>(i)];
    free.count = 0;
    const auto J = jacobian_.middleCols(robot_.coordinate_index(i), section.coordinate_count());
    const auto pull = [&](const Eigen::Vector3d& direction) {  // of the residual along a direction
      double sum = 0.0;
      for (int c = 0; c < section.coordinate_count(); ++c) {
        double column = J.col(c).head<3>().dot(residual_.head<3>());
        if (rows_ == 6) column += length_scale_ * J.col(c).tail<3>().dot(residual_.tail<3>());
        sum += direction[c] * column;
      }
      return sum;
    };
    const auto add = [&](const Eigen::Vector3d& direction) {
      free.columns.col(free.count++) = direction;
      auto column = reduced_.col(free_count_++);
      column.setZero();
      for (int c = 0; c < section.coordinate_count(); ++c) column += direction[c] * J.col(c);
      column.tail<3>() *= rows_ == 6 ? length_scale_ : 0.0;
    };

    const double limit = section.bend_angle_limit_at(state.extension);
    const Eigen::Vector3d radial(std::cos(state.phi), std::sin(state.phi), 0.0);
    const Eigen::Vector3d tangential(-radial.y(), radial.x(), 0.0);
    const bool at_bend_limit = state.theta >= limit - kAtLimit && pull(radial) > 0.0;
    if (!section.is_extensible()) {
      if (at_bend_limit) {
        add(tangential);
      } else {
        add(Eigen::Vector3d::UnitX());
        add(Eigen::Vector3d::UnitY());
      }
      continue;
    }
    // Along the cone of limits a longer section may bend more.
    const double slope = section.bend_angle_limit() / section.variable_length();
    Eigen::Vector3d lengthen = length_scale_ * Eigen::Vector3d::UnitZ();
    if (at_bend_limit) lengthen += length_scale_ * slope * radial;
    const double s = state.extension, s_max = section.variable_length();
    const double length_pull = pull(lengthen);
    const bool at_length_limit = (s <= kAtLimit * s_max && length_pull < 0.0) ||
                                 (s >= (1.0 - kAtLimit) * s_max && length_pull > 0.0);
    if (limit > kAtLimit) {
      if (at_bend_limit) {
        add(tangential);
      } else {
        add(Eigen::Vector3d::UnitX());
        add(Eigen::Vector3d::UnitY());
      }
    }
    if (!at_length_limit) add(lengthen);
  }
}

void LevenbergSolver::apply_step() noexcept {
  int k = 0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    SectionState& state = states_[static_cast<std::size_t>(i)];
    const FreeDirections& free = free_[static_cast<std::size_t>(i)];
    Eigen::Vector3d change = Eigen::Vector3d::Zero();
    for (int c = 0; c < free.count; ++c) change += step_[k++] * free.columns.col(c);
    const Eigen::Vector2d bend = bend_vector(state) + change.head<2>();
    state = robot_.clamped(
        i, state_from_bend_vector(bend.x(), bend.y(), state.extension + change.z(), state.phi));
  }
}

void LevenbergSolver::keep_if_best(const TipTarget& target) noexcept {
  const double cost = residual_.squaredNorm();
  if (!(cost < best_cost_)) return;
  best_cost_ = cost;
  best_position_error_ = position_error(X_BE_, target);
  best_angle_error_ = angle_error(X_BE_, target);
  best_ = states_;
}

}  // namespace tendril
