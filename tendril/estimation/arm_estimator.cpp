#include "tendril/estimation/arm_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"
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

const ArmEstimatorOptions& checked(const ArmEstimatorOptions& options, int tendon_count) {
  const char* const object = "arm estimator";
  const std::size_t count = options.tension_deviations.size();
  if (count != 0 && count != static_cast<std::size_t>(tendon_count))
    throw ModelError("arm estimator: tension_deviations has " + std::to_string(count) +
                     " values, must have " + std::to_string(tendon_count));
  for (const double deviation : options.tension_deviations)
    require(object, "tension_deviations", deviation, kNotNegative, "N");
  require(object, "timestep", options.timestep, kPositive, "s");
  require(object, "bend_noise", options.bend_noise, kNotNegative, "rad sqrt(s)");
  require(object, "force_noise", options.force_noise, kNotNegative, "N/sqrt(s)");
  require(object, "friction_deviation", options.friction_deviation, kNotNegative);
  require(object, "friction_time", options.friction_time, kPositive, "s");
  require(object, "load_deviation", options.load_deviation, kNotNegative, "rad");
  require(object, "offset_deviation", options.offset_deviation, kNotNegative, "m");
  require(object, "contact_time", options.contact_time, kPositive, "s");
  require(object, "start_bend", options.start_bend, kNotNegative, "rad");
  require(object, "start_rate", options.start_rate, kNotNegative, "rad/s");
  require(object, "start_force", options.start_force, kNotNegative, "N");
  return options;
}

}  // namespace

ArmEstimatorMemory::ArmEstimatorMemory(int n, int t, bool disturbed,
                                       std::span<const Sensor> sensors, double timestep) {
  const int N = 2 * n + 3 + t + (disturbed ? n + 3 : 0);
  int values = 0, times = 1;
  for (const Sensor& sensor : sensors) {
    delays.push_back(static_cast<int>(std::lround(sensor.delay / timestep)));
    times = std::max(times, 1 + delays.back());
    first_value.push_back(values);
    values += reading_size(sensor.kind, n, t);
  }
  head = layout.index(0, times - 1);
  filled = layout.index(0, times);
  for (State* const state : {&now, &oldest}) {
    state->x = layout.vector(N);
    state->L = layout.matrix<MatrixXd>(N, N);
  }
  ring.resize(static_cast<std::size_t>(times));
  for (Time& time : ring) {
    time.tension = layout.vector(t);
    time.moment = layout.vector(n);
    time.values = layout.vector(values);
    time.feed = layout.number();
    time.spin = layout.number();
    time.present = layout.indices(static_cast<std::size_t>(values), 0, 1);
  }
}

ArmEstimator::ArmEstimator(const ElasticArm& arm, std::vector<Sensor> sensors,
                           const ArmEstimatorOptions& options)
    : arm_(arm),
      sensors_(arm, sensors),
      options_(checked(options, arm.tendon_count())),
      memory_(arm.coordinate_count(), arm.tendon_count(), arm.parameters().disturbed, sensors,
              options.timestep) {
  const Eigen::Index n = arm.coordinate_count(), t = arm.tendon_count(), N = arm.state_size();
  arrived_.assign(memory_.delays.size(), 0);
  moment_noise_ = options.bend_noise * arm.scale_moment();
  x_.setZero(N);
  linearized_at_ = gain_ = phi_ = workspace_ = x_;
  residual_.setZero(std::max(1, sensors_.largest_row_count()));
  L_.setZero(N, N);
  F_ = L_;
  const std::vector<double>& deviations = options_.tension_deviations;
  if (!std::ranges::all_of(deviations, is_0)) {
    tension_noise_ = VectorXd::Map(deviations.data(), t);
    by_tension_.setZero(n, t);
  }
  contact_deviation_.setZero(arm.load_count() + arm.offset_count());
  for (Eigen::Index k = 0; k < arm.load_count(); ++k)
    if (arm.moves(k)) contact_deviation_[k] = options.load_deviation;
  contact_deviation_.tail(arm.offset_count()).setConstant(options.offset_deviation);
  stacked_.setZero(N + n + 3 + t + contact_deviation_.size() + tension_noise_.size(), N);
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

const ArmEstimatorMemory::Time& ArmEstimator::time(std::span<const double> memory,
                                                   int steps_back) const noexcept {
  const int count = static_cast<int>(memory_.ring.size());
  return memory_
      .ring[static_cast<std::size_t>((memory_.head(memory) - steps_back + count) % count)];
}

void ArmEstimator::start(std::span<double> memory, const VectorXd& q) const noexcept {
  memory_.layout.reset(memory);
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
  memory_.oldest.x(memory).head(n) = q;
  auto deviations = memory_.oldest.L(memory).diagonal();
  deviations.head(n) = options_.start_bend * arm_.scale();
  deviations.segment(n, n) = options_.start_rate * arm_.scale();
  deviations.segment<3>(2 * n).setConstant(options_.start_force);
  deviations.segment(2 * n + 3, t).setConstant(options_.friction_deviation);
  deviations.tail(contact_deviation_.size()) = contact_deviation_;
  memory_.now.x(memory) = memory_.oldest.x(std::span<const double>(memory));
  memory_.now.L(memory) = memory_.oldest.L(std::span<const double>(memory));
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
  const Eigen::Index c = contact_deviation_.size(), contact = 2 * n + 3 + t;
  const double h = options_.timestep, keep = std::exp(-h / options_.friction_time);
  const double keep_contact = std::exp(-h / options_.contact_time);
  const ElasticArm::Balance& balance = arm_.linearize(x_, input_);
  const auto& factor = arm_.step_factor(h);

  // Rows of q' and then of q: q' <- A^-1 (M q' + h r), q <- q + h q'.
  F_.setZero();
  F_.block(n, 0, n, n) = h * balance.by_q;
  F_.block(n, n, n, n) = balance.mass;
  F_.block(n, 2 * n, n, 3) = h * balance.by_force;
  F_.block(n, 2 * n + 3, n, t) = h * balance.by_friction;
  F_.block(n, contact, n, arm_.load_count()) = h * balance.by_load;
  auto rates = F_.middleRows(n, n);
  factor.solveInPlace(rates);
  gain_.head(n).noalias() = balance.mass * x_.segment(n, n);
  gain_.head(n) += h * balance.moment;
  auto rate = gain_.head(n);
  factor.solveInPlace(rate);
  F_.topRows(n) = h * rates;
  F_.topLeftCorner(n, n).diagonal().array() += 1.0;
  F_.block<3, 3>(2 * n, 2 * n).setIdentity();
  F_.diagonal().segment(2 * n + 3, t).setConstant(keep);
  F_.diagonal().tail(c).setConstant(keep_contact);

  stacked_.setZero();
  stacked_.topRows(N).noalias() = L_.transpose() * F_.transpose();
  noise_.setZero();
  noise_.diagonal() = std::sqrt(h) * moment_noise_.cwiseProduct(arm_.exposure(input_.base));
  factor.solveInPlace(noise_);  // column k: what the noise of moment k does to q'
  stacked_.block(N, n, n, n) = noise_.transpose();
  stacked_.block(N, 0, n, n) = h * noise_.transpose();
  stacked_.block<3, 3>(N + n, 2 * n).diagonal().setConstant(options_.force_noise * std::sqrt(h));
  stacked_.block(N + n + 3, 2 * n + 3, t, t)
      .diagonal()
      .setConstant(options_.friction_deviation * std::sqrt(1.0 - keep * keep));
  stacked_.block(N + n + 3 + t, contact, c, c).diagonal() =
      std::sqrt(1.0 - keep_contact * keep_contact) * contact_deviation_;
  if (tension_noise_.size() > 0) {  // column k: what the noise of tension k does to q'
    by_tension_.noalias() = -h * arm_.tendons().jacobian().transpose();
    for (Eigen::Index k = 0; k < t; ++k)
      by_tension_.col(k) *= tension_noise_[k] * (1.0 + x_[2 * n + 3 + k]);
    factor.solveInPlace(by_tension_);
    stacked_.block(N + n + 3 + t + c, n, t, n) = by_tension_.transpose();
    stacked_.block(N + n + 3 + t + c, 0, t, n) = h * by_tension_.transpose();
  }
  triangularize(stacked_, workspace_);
  L_ = stacked_.topRows(N).transpose();

  x_.segment(n, n) = gain_.head(n);
  x_.head(n) += h * x_.segment(n, n);
  x_.segment(2 * n + 3, t) *= keep;
  x_.tail(c) *= keep_contact;
}

Innovation ArmEstimator::correct(std::span<const double> memory, const Time& time,
                                 int steps_back) noexcept {
  Innovation innovation;
  for (std::size_t i = 0; i < memory_.delays.size(); ++i) {
    const auto flags =
        time.present(memory).subspan(static_cast<std::size_t>(memory_.first_value[i]));
    const int s = static_cast<int>(i), rows = sensors_.row_count(s);
    if (std::ranges::all_of(flags.first(static_cast<std::size_t>(sensors_.reading_size(s))), is_0))
      continue;
    const double variance = sensors_[s].deviation * sensors_[s].deviation;
    linearized_at_ = x_;
    sensors_.residual(s, arm_, x_, input_,
                      time.values(memory).segment(memory_.first_value[i], sensors_.reading_size(s)),
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
      if (arrived_[i] == 0 || memory_.delays[i] != steps_back) continue;
      innovation.squared += error * error / expected;
      ++innovation.count;
    }
  }
  return innovation;
}

void ArmEstimator::push(std::span<double> memory, const ArmInput& input) noexcept {
  const int times = static_cast<int>(memory_.ring.size()), filled = memory_.filled(memory);
  const bool moves_on = filled == 0 || filled == times;
  if (moves_on) load(memory, memory_.oldest);
  if (filled == times) {
    load_input(memory, time(memory, times - 1));
    (void)correct(memory, time(memory, times - 1), times - 1);
  }
  memory_.head(memory) = (memory_.head(memory) + 1) % times;
  memory_.filled(memory) = std::min(filled + 1, times);
  const Time& now = time(memory, 0);
  now.tension(memory) = input.tension;
  now.moment(memory) = input.moment;
  now.feed(memory) = input.base.feed;
  now.spin(memory) = input.base.spin;
  for (double& flag : now.present(memory)) flag = 0.0;
  if (!moves_on) return;
  load_input(memory, time(memory, memory_.filled(memory) - 1));
  predict();
  store(memory_.oldest, memory);
}

int ArmEstimator::add(std::span<double> memory, std::span<const Reading> readings) noexcept {
  int first = 0;
  for (const Reading& reading : readings) {
    const auto s = static_cast<std::size_t>(reading.sensor);
    const int back = memory_.delays[s];
    if (back >= memory_.filled(memory)) continue;  // older than the start
    const Time& then = time(memory, back);
    for (int i = 0; i < sensors_.reading_size(reading.sensor); ++i) {
      const double number = reading.value[static_cast<std::size_t>(i)];
      if (!std::isfinite(number)) continue;
      then.values(memory)[memory_.first_value[s] + i] = number;
      then.present(memory)[static_cast<std::size_t>(memory_.first_value[s] + i)] = 1.0;
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
  const int first = add(memory, readings), oldest = memory_.filled(memory) - 1;
  int back = 0;
  if (first > 0 || oldest == 0) {
    load(memory, memory_.oldest);
    back = oldest;
  } else {
    load(memory, memory_.now);
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
  store(memory_.now, memory);
  return sum;
}

Eigen::Map<const Eigen::VectorXd> ArmEstimator::coordinates(
    std::span<const double> memory) const noexcept {
  return {memory_.now.x(memory).data(), arm_.coordinate_count()};
}

void ArmEstimator::mean(std::span<const double> memory, ArmEstimate& estimate) noexcept {
  const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
  load(memory, memory_.now);
  estimate.q = x_.head(n);
  estimate.q_rate = x_.segment(n, n);
  estimate.force = x_.segment<3>(2 * n);
  estimate.friction = x_.segment(2 * n + 3, t);
  const Time& now = time(memory, 0);
  const BaseState base{now.feed(memory), now.spin(memory)};
  estimate.X_BE = arm_.pose(estimate.q, base, {}, jacobian_);
  estimate.X_BE.translation() = arm_.position(x_, base, {}, by_q_, by_force_);
  if (arm_.offset_count() > 0) estimate.X_BE.translation() += x_.tail<3>();
  const VectorXd& exposure = arm_.exposure(base);
  estimate.q = estimate.q.cwiseProduct(exposure);
  estimate.q_rate = estimate.q_rate.cwiseProduct(exposure);
}

void ArmEstimator::estimate(std::span<const double> memory, ArmEstimate& estimate) noexcept {
  const Eigen::Index n = arm_.coordinate_count();
  mean(memory, estimate);
  by_tip_.noalias() = jacobian_ * L_.topRows(n);
  by_tip_.topRows<3>().noalias() = by_q_ * L_.topRows(n);
  by_tip_.topRows<3>().noalias() += by_force_ * L_.middleRows<3>(2 * n);
  if (arm_.offset_count() > 0) by_tip_.topRows<3>() += L_.bottomRows<3>();
  estimate.tip_covariance.noalias() = by_tip_ * by_tip_.transpose();
  const Time& now = time(memory, 0);
  const VectorXd& exposure = arm_.exposure({now.feed(memory), now.spin(memory)});
  for (Eigen::Index k = 0; k < 2 * n; ++k) L_.row(k) *= exposure[k % n];
  estimate.covariance.noalias() = L_ * L_.transpose();
}

}  // namespace tendril
