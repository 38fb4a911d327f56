#include "tendril/estimation/arm_estimator.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr auto is_0 = [](double number) { return number == 0.0; };

/// Replaces `stacked` by its triangular factor R, R^T R = stacked^T stacked, in its first rows.
void triangularize(MatrixXd& stacked, VectorXd& workspace) noexcept {
  const Eigen::Index rows = stacked.rows(), columns = stacked.cols();
  for (Eigen::Index k = 0; k < columns; ++k) {
    double tau = 0.0, beta = 0.0;
    auto column = stacked.col(k).tail(rows - k);
    column.makeHouseholderInPlace(tau, beta);
    stacked.bottomRightCorner(rows - k, columns - k - 1)
        .applyHouseholderOnTheLeft(column.tail(rows - k - 1), tau, workspace.data());
    stacked(k, k) = beta;
    column.tail(rows - k - 1).setZero();
  }
}

}  // namespace

ArmEstimator::ArmEstimator(const ElasticArm& arm, std::vector<Sensor> sensors,
                           const ArmEstimatorOptions& options)
    : arm_(arm), sensors_(arm, std::move(sensors)), options_(options) {
  const char* const object = "arm estimator";
  require(object, "timestep", options.timestep, kPositive, "s");
  require(object, "bend_noise", options.bend_noise, kNotNegative, "rad sqrt(s)");
  require(object, "force_noise", options.force_noise, kNotNegative, "N/sqrt(s)");
  require(object, "friction_deviation", options.friction_deviation, kNotNegative);
  require(object, "friction_time", options.friction_time, kPositive, "s");
  require(object, "start_bend", options.start_bend, kNotNegative, "rad");
  require(object, "start_rate", options.start_rate, kNotNegative, "rad/s");
  require(object, "start_force", options.start_force, kNotNegative, "N");

  const Eigen::Index n = arm.coordinate_count(), t = arm.tendon_count(), N = arm.state_size();
  Eigen::Index values = 0;
  for (int s = 0; s < sensors_.count(); ++s) {
    delays_.push_back(static_cast<int>(std::lround(sensors_[s].delay / options.timestep)));
    first_value_.push_back(static_cast<int>(values));
    values += sensors_.reading_size(s);
  }
  arrived_.assign(delays_.size(), 0);
  const int times = delays_.empty() ? 1 : 1 + *std::max_element(delays_.begin(), delays_.end());
  head_ = layout_.index(0, times - 1);
  filled_ = layout_.index(0, times);
  for (State* const state : {&now_, &oldest_}) {
    state->x = layout_.vector(N);
    state->L = layout_.matrix<MatrixXd>(N, N);
  }
  ring_.resize(static_cast<std::size_t>(times));
  for (Time& time : ring_) {
    time.tension = layout_.vector(t);
    time.moment = layout_.vector(n);
    time.values = layout_.vector(values);
    time.feed = layout_.number();
    time.spin = layout_.number();
    time.present = layout_.indices(static_cast<std::size_t>(values), 0, 1);
  }

  moment_noise_ = options.bend_noise * arm.scale_moment();
  x_.setZero(N);
  linearized_at_ = gain_ = phi_ = workspace_ = x_;
  residual_.setZero(std::max(1, sensors_.largest_row_count()));
  L_.setZero(N, N);
  F_ = L_;
  stacked_.setZero(N + n + 3 + t, N);
  by_x_.setZero(residual_.size(), N);
  noise_.setZero(n, n);
  input_ = {VectorXd::Zero(t), VectorXd::Zero(n), {}};
  jacobian_.setZero(6, n);
  by_tip_.setZero(6, N);
  by_q_.setZero(3, n);
}

ArmEstimate ArmEstimator::empty_estimate() const {
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count(), N = arm_.state_size();
  return {VectorXd::Zero(n),
          VectorXd::Zero(n),
          Eigen::Vector3d::Zero(),
          VectorXd::Zero(t),
          Eigen::Isometry3d::Identity(),
          MatrixXd::Zero(N, N),
          Eigen::Matrix<double, 6, 6>::Zero()};
}

const ArmEstimator::Time& ArmEstimator::time(std::span<const double> memory,
                                             int steps_back) const noexcept {
  const int count = static_cast<int>(ring_.size());
  return ring_[static_cast<std::size_t>((head_(memory) - steps_back + count) % count)];
}

void ArmEstimator::start(std::span<double> memory, const VectorXd& q) const noexcept {
  layout_.reset(memory);
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
  oldest_.x(memory).head(n) = q;
  auto deviations = oldest_.L(memory).diagonal();
  deviations.head(n) = options_.start_bend * arm_.scale();
  deviations.segment(n, n) = options_.start_rate * arm_.scale();
  deviations.segment<3>(2 * n).setConstant(options_.start_force);
  deviations.tail(t).setConstant(options_.friction_deviation);
  now_.x(memory) = oldest_.x(std::span<const double>(memory));
  now_.L(memory) = oldest_.L(std::span<const double>(memory));
}

void ArmEstimator::load(std::span<const double> memory, const State& state) noexcept {
  x_ = state.x(memory);
  L_ = state.L(memory);
}

void ArmEstimator::store(const State& state, std::span<double> memory) const noexcept {
  state.x(memory) = x_;
  state.L(memory) = L_;
}

void ArmEstimator::load_input(std::span<const double> memory, const Time& time) noexcept {
  input_.tension = time.tension(memory);
  input_.moment = time.moment(memory);
  input_.base = {time.feed(memory), time.spin(memory)};
}

/// One step of x_ and L_ with input_.
void ArmEstimator::predict() noexcept {
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count(), N = arm_.state_size();
  const double h = options_.timestep, keep = std::exp(-h / options_.friction_time);
  const ElasticArm::Balance& balance = arm_.linearize(x_, input_);
  const auto& factor = arm_.step_factor(h);

  // Rows of q' and then of q: q' <- A^-1 (M q' + h r), q <- q + h q'.
  F_.setZero();
  F_.block(n, 0, n, n) = h * balance.by_q;
  F_.block(n, n, n, n) = balance.mass;
  F_.block(n, 2 * n, n, 3) = h * balance.by_force;
  F_.block(n, 2 * n + 3, n, t) = h * balance.by_friction;
  auto rates = F_.middleRows(n, n);
  factor.solveInPlace(rates);
  gain_.head(n).noalias() = balance.mass * x_.segment(n, n);
  gain_.head(n) += h * balance.moment;
  auto rate = gain_.head(n);
  factor.solveInPlace(rate);
  F_.topRows(n) = h * rates;
  F_.topLeftCorner(n, n).diagonal().array() += 1.0;
  F_.block<3, 3>(2 * n, 2 * n).setIdentity();
  F_.bottomRightCorner(t, t).diagonal().setConstant(keep);

  stacked_.setZero();
  stacked_.topRows(N).noalias() = L_.transpose() * F_.transpose();
  noise_ = (std::sqrt(h) * moment_noise_).asDiagonal();
  factor.solveInPlace(noise_);  // column k: what the noise of moment k does to q'
  stacked_.block(N, n, n, n) = noise_.transpose();
  stacked_.block(N, 0, n, n) = h * noise_.transpose();
  stacked_.block<3, 3>(N + n, 2 * n).diagonal().setConstant(options_.force_noise * std::sqrt(h));
  stacked_.bottomRightCorner(t, t).diagonal().setConstant(options_.friction_deviation *
                                                          std::sqrt(1.0 - keep * keep));
  triangularize(stacked_, workspace_);
  L_ = stacked_.topRows(N).transpose();

  x_.segment(n, n) = gain_.head(n);
  x_.head(n) += h * x_.segment(n, n);
  x_.tail(t) *= keep;
}

Innovation ArmEstimator::correct(std::span<const double> memory, const Time& time,
                                 int steps_back) noexcept {
  Innovation innovation;
  for (std::size_t i = 0; i < delays_.size(); ++i) {
    const auto flags = time.present(memory).subspan(static_cast<std::size_t>(first_value_[i]));
    const int s = static_cast<int>(i), rows = sensors_.row_count(s);
    if (std::ranges::all_of(flags.first(static_cast<std::size_t>(sensors_.reading_size(s))), is_0))
      continue;
    const double variance = sensors_[s].deviation * sensors_[s].deviation;
    linearized_at_ = x_;
    sensors_.residual(s, arm_, x_, input_,
                      time.values(memory).segment(first_value_[i], sensors_.reading_size(s)),
                      residual_.head(rows), by_x_);
    for (int row = 0; row < rows; ++row) {  // [Maybeck] Potter's update
      if (std::ranges::any_of(sensors_.needed(s, row, flags), is_0)) continue;
      const auto H = by_x_.row(row);
      phi_.noalias() = L_.transpose() * H.transpose();
      const double expected = phi_.squaredNorm() + variance;
      gain_.noalias() = L_ * phi_;
      const double error = residual_[row] - H.dot(x_ - linearized_at_);
      x_ += (error / expected) * gain_;
      L_.noalias() -= gain_ * (phi_ / (expected + std::sqrt(expected * variance))).transpose();
      if (arrived_[i] == 0 || delays_[i] != steps_back) continue;
      innovation.squared += error * error / expected;
      ++innovation.count;
    }
  }
  return innovation;
}

void ArmEstimator::push(std::span<double> memory, const ArmInput& input) noexcept {
  const int times = static_cast<int>(ring_.size()), filled = filled_(memory);
  const bool moves_on = filled == 0 || filled == times;
  if (moves_on) load(memory, oldest_);
  if (filled == times) {
    load_input(memory, time(memory, times - 1));
    (void)correct(memory, time(memory, times - 1), times - 1);
  }
  head_(memory) = (head_(memory) + 1) % times;
  filled_(memory) = std::min(filled + 1, times);
  const Time& now = time(memory, 0);
  now.tension(memory) = input.tension;
  now.moment(memory) = input.moment;
  now.feed(memory) = input.base.feed;
  now.spin(memory) = input.base.spin;
  for (double& flag : now.present(memory)) flag = 0.0;
  if (!moves_on) return;
  load_input(memory, time(memory, filled_(memory) - 1));
  predict();
  store(oldest_, memory);
}

int ArmEstimator::add(std::span<double> memory, std::span<const Reading> readings) noexcept {
  int first = 0;
  for (const Reading& reading : readings) {
    const auto s = static_cast<std::size_t>(reading.sensor);
    const int back = delays_[s];
    if (back >= filled_(memory)) continue;  // older than the start
    const Time& then = time(memory, back);
    for (int i = 0; i < sensors_.reading_size(reading.sensor); ++i) {
      const double number = reading.value[static_cast<std::size_t>(i)];
      if (!std::isfinite(number)) continue;
      then.values(memory)[first_value_[s] + i] = number;
      then.present(memory)[static_cast<std::size_t>(first_value_[s] + i)] = 1.0;
      arrived_[s] = 1;
    }
    if (arrived_[s] != 0) first = std::max(first, back);
  }
  return first;
}

Innovation ArmEstimator::step(std::span<double> memory, const ArmInput& input,
                              std::span<const Reading> readings) noexcept {
  std::fill(arrived_.begin(), arrived_.end(), 0);
  push(memory, input);
  const int first = add(memory, readings), oldest = filled_(memory) - 1;
  int back = 0;
  if (first > 0 || oldest == 0) {
    load(memory, oldest_);
    back = oldest;
  } else {
    load(memory, now_);
    load_input(memory, time(memory, 0));
    predict();
  }
  Innovation sum;
  for (; back >= 0; --back) {
    const Time& then = time(memory, back);
    load_input(memory, then);
    if (first > 0 && back < oldest) predict();
    const Innovation innovation = correct(memory, then, back);
    sum.squared += innovation.squared;
    sum.count += innovation.count;
  }
  store(now_, memory);
  return sum;
}

void ArmEstimator::estimate(std::span<const double> memory, ArmEstimate& estimate) noexcept {
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
  load(memory, now_);
  estimate.q = x_.head(n);
  estimate.q_rate = x_.segment(n, n);
  estimate.force = x_.segment<3>(2 * n);
  estimate.friction = x_.tail(t);
  estimate.covariance.noalias() = L_ * L_.transpose();
  const Time& now = time(memory, 0);
  const BaseState base{now.feed(memory), now.spin(memory)};
  estimate.X_BE = arm_.pose(estimate.q, base, {}, jacobian_);
  by_tip_.noalias() = jacobian_ * L_.topRows(n);
  estimate.X_BE.translation() = arm_.position(x_, base, {}, by_q_, by_force_);
  by_tip_.topRows<3>().noalias() = by_q_ * L_.topRows(n);
  by_tip_.topRows<3>().noalias() += by_force_ * L_.middleRows<3>(2 * n);
  estimate.tip_covariance.noalias() = by_tip_ * by_tip_.transpose();
}

}  // namespace tendril
