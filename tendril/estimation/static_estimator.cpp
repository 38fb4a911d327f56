#include "tendril/estimation/static_estimator.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/range.hpp"

namespace tendril {

using Eigen::VectorXd;

StaticEstimator::StaticEstimator(const ElasticArm& arm, std::vector<Sensor> sensors,
                                 const StaticEstimatorOptions& options)
    : arm_(arm), sensors_(arm, std::move(sensors)), options_(options) {
  require("static estimator", "bend_deviation", options.bend_deviation, kPositive, "rad");
  require("static estimator", "force_deviation", options.force_deviation, kPositive, "N");
  require("static estimator", "friction_deviation", options.friction_deviation, kPositive);
  require("static estimator", "load_deviation", options.load_deviation, kPositive, "rad");
  require("static estimator", "offset_deviation", options.offset_deviation, kPositive, "m");
  require("static estimator", "max_iterations", options.max_iterations, {.low = 1.0});
  require("static estimator", "tolerance", options.tolerance, kPositive);
  const Eigen::Index n = arm.coordinate_count(), t = arm.tendon_count();
  const Eigen::Index size = n + 3 + t + arm.load_count() + arm.offset_count();
  const Eigen::Index rows = std::max<Eigen::Index>({n, 3, t, sensors_.largest_row_count()});
  moment_weight_ = (options.bend_deviation * arm.scale_moment()).cwiseInverse();
  for (Eigen::Index k = 0; k < n; ++k)
    if (!arm.moves(k)) moment_weight_[k] = 1.0;
  acting_weight_ = moment_weight_;
  contact_weight_.setConstant(arm.load_count() + arm.offset_count(), 1.0 / options.load_deviation);
  contact_weight_.tail(arm.offset_count()).setConstant(1.0 / options.offset_deviation);
  estimate_.x.setZero(arm.state_size());
  estimate_.covariance.setZero(size, size);
  trial_ = estimate_.x;
  residual_.setZero(rows);
  by_x_.setZero(rows, arm.state_size());
  by_y_.setZero(rows, size);
  gradient_.setZero(size);
  step_.setZero(size);
  normal_.setIdentity(size, size);
  damped_ = normal_;
  factor_.compute(normal_);
}

/// Adds normalized residuals: the first rows of residual_ and by_y_.
void StaticEstimator::add(Eigen::Index rows) noexcept {
  const auto J = by_y_.topRows(rows);
  normal_.noalias() += J.transpose() * J;
  gradient_.noalias() += J.transpose() * residual_.head(rows);
  estimate_.residual_count += static_cast<int>(rows);
}

double StaticEstimator::normal_equations(const VectorXd& x, const ArmInput& input,
                                         std::span<const Reading> readings) noexcept {
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
  const Eigen::Index c = contact_weight_.size(), l = arm_.load_count();
  const double force_weight = 1.0 / options_.force_deviation;
  const double friction_weight = 1.0 / options_.friction_deviation;
  normal_.setZero();
  normal_.diagonal().segment(n, 3).setConstant(force_weight * force_weight);
  normal_.diagonal().segment(n + 3, t).setConstant(friction_weight * friction_weight);
  normal_.diagonal().tail(c) = contact_weight_.cwiseAbs2();
  gradient_.head(n).setZero();
  gradient_.segment<3>(n) = -force_weight * force_weight * x.segment<3>(2 * n);
  gradient_.segment(n + 3, t) = -friction_weight * friction_weight * x.segment(2 * n + 3, t);
  gradient_.tail(c) = -contact_weight_.cwiseAbs2().cwiseProduct(x.tail(c));
  double cost = force_weight * force_weight * x.segment<3>(2 * n).squaredNorm() +
                friction_weight * friction_weight * x.segment(2 * n + 3, t).squaredNorm() +
                contact_weight_.cwiseProduct(x.tail(c)).squaredNorm();
  estimate_.residual_count = static_cast<int>(3 + t + c);

  const ElasticArm::Balance& balance = arm_.linearize(x, input);
  for (Eigen::Index k = 0; k < n; ++k) acting_weight_[k] = moment_weight_[k] / arm_.acting(k);
  const auto weights = acting_weight_.asDiagonal();
  residual_.head(n) = -acting_weight_.cwiseProduct(balance.moment);
  by_y_.topLeftCorner(n, n) = weights * balance.by_q;
  by_y_.block(0, n, n, 3) = weights * balance.by_force;
  by_y_.block(0, n + 3, n, t) = weights * balance.by_friction;
  by_y_.topRightCorner(n, c).setZero();
  by_y_.block(0, n + 3 + t, n, l) = weights * balance.by_load;
  cost += residual_.head(n).squaredNorm();
  add(n);

  for (const Reading& reading : readings) {
    const Eigen::Map<const VectorXd> value(reading.value.data(),
                                           sensors_.reading_size(reading.sensor));
    const int rows = sensors_.row_count(reading.sensor);
    const double weight = 1.0 / sensors_[reading.sensor].deviation;
    sensors_.residual(reading.sensor, arm_, x, input, value, residual_.head(rows), by_x_);
    residual_.head(rows) *= weight;
    for (int r = 0; r < rows; ++r) {
      if (std::ranges::all_of(sensors_.needed(reading.sensor, r, reading.value),
                              [](double number) { return std::isfinite(number); }))
        continue;
      residual_[r] = 0.0;
      by_x_.row(r).setZero();
      --estimate_.residual_count;
    }
    by_y_.topLeftCorner(rows, n) = weight * by_x_.topLeftCorner(rows, n);
    by_y_.topRightCorner(rows, 3 + t + c) = weight * by_x_.topRightCorner(rows, 3 + t + c);
    cost += residual_.head(rows).squaredNorm();
    add(rows);
  }
  return cost;
}

const StaticEstimate& StaticEstimator::solve(const ArmInput& input,
                                             std::span<const Reading> readings,
                                             const VectorXd& start) noexcept {
  const Eigen::Index n = arm_.coordinate_count();
  VectorXd& x = estimate_.x;
  x.setZero();
  x.head(n) = start;
  estimate_.converged = false;
  double cost = normal_equations(x, input, readings), damping = 1e-3;
  int i = 0;
  while (!estimate_.converged && i < options_.max_iterations) {
    ++i;
    damped_ = normal_;
    damped_.diagonal() *= 1.0 + damping;
    factor_.compute(damped_);
    step_ = gradient_;
    factor_.solveInPlace(step_);
    const double size = std::sqrt(std::max(0.0, step_.dot(gradient_)));  // in deviations
    trial_ = x;
    trial_.head(n) += step_.head(n);
    trial_.tail(step_.size() - n) += step_.tail(step_.size() - n);
    const double trial_cost = normal_equations(trial_, input, readings);
    if (trial_cost <= cost) {
      x.swap(trial_);
      cost = trial_cost;
      damping *= 0.1;
      estimate_.converged = size <= options_.tolerance;
    } else {
      // A step within rounding of the minimum does not lower the cost any more.
      estimate_.converged = size <= std::max(options_.tolerance, 1e-7 * std::sqrt(cost));
      damping *= 10.0;
      (void)normal_equations(x, input, readings);
    }
  }
  estimate_.iterations = i;
  estimate_.cost = cost;
  (void)normal_equations(x, input, readings);
  factor_.compute(normal_);
  estimate_.covariance.setIdentity();
  factor_.solveInPlace(estimate_.covariance);
  return estimate_;
}

int StaticEstimator::locate(const ArmInput& input, std::span<const Reading> readings,
                            const VectorXd& start, std::span<const BodyPlace> places) noexcept {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < places.size(); ++k) {
    arm_.set_force_place(places[k]);
    if (const double cost = solve(input, readings, start).cost; cost < least) {
      least = cost;
      best = static_cast<int>(k);
    }
  }
  arm_.set_force_place(places[static_cast<std::size_t>(best)]);
  (void)solve(input, readings, start);
  return best;
}

}  // namespace tendril
