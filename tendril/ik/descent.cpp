#include "tendril/ik/descent.hpp"

namespace tendril {
namespace {

constexpr double kMinDamping = 1e-12;  // in units of the squared length scale
constexpr double kEarlyProgress = 1e-3, kLateProgress = 1e-9;  // least, of the cost in a step
constexpr double kMinFraction = 1e-2;  // of the distance to a preferred pose in one step
constexpr double kMinRelief = 1e-4;    // of its square, gained in one step
constexpr int kCorrections = 6;        // iterations to meet the target again after such a step

double squared(double x) noexcept { return x * x; }

}  // namespace

Descent::Descent(const ContinuumRobot& robot, bool free_feed)
    : TipDescent(robot, {.free_feed = free_feed, .free_spin = true}),
      preferred_(coordinates_.size()),
      before_(coordinates_.size()),
      marked_(coordinates_.size()) {}

DescentEnd Descent::run(StopRule stall_timeout, int& iterations, int max_iterations) noexcept {
  const double least_progress =
      stall_timeout == StopRule::GiveUpEarly ? kEarlyProgress : kLateProgress;
  return descend({kMinDamping, least_progress}, iterations, max_iterations);
}

void Descent::mark() noexcept {
  marked_ = coordinates_;
  marked_base_ = base_;
}

bool Descent::is_beyond(double limit) const noexcept {
  if (std::abs(base_.feed - marked_base_.feed) > limit * length_scale_) return true;
  if (std::abs(base_.spin - marked_base_.spin) > limit) return true;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const double du = coordinates_[i].u - marked_[i].u, dv = coordinates_[i].v - marked_[i].v;
    if (du * du + dv * dv > limit * limit) return true;
    if (std::abs(coordinates_[i].s - marked_[i].s) > limit * length_scale_) return true;
  }
  return false;
}

/// Calls `function` with the number of rows as a constant.
template <class Function>
void Descent::with_rows(Function function) const noexcept {
  switch (tip_rows()) {
    case 6:
      return function(FixedRows<6>{});
    case 5:
      return function(FixedRows<5>{});
    default:
      return function(FixedRows<3>{});
  }
}

/// Columns of the tip, the directions that are free, and the normal matrix.
void Descent::differentiate(Limits limits) noexcept {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) set_tip_columns(i, velocities(i));
  const bool at_start = base_.feed <= 0.0 && residual_[2] < 0.0;
  const bool at_end = base_.feed >= feed_limit_ && residual_[2] > 0.0;
  const bool feed_is_free =
      feed_limit_ > 0.0 && (limits == Limits::Ignored || (!at_start && !at_end));
  with_rows([&](auto rows) {
    clear_directions();
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      if (limits == Limits::Active) {
        add_free_directions(i, rows);
      } else {
        add_all_directions(i, rows);
      }
    }
    add_feed(feed_is_free);
    add_spin();
    multiply(rows);
  });
}

void Descent::step(double damping, const Row& residual) noexcept {
  with_rows([&](auto rows) { move(solve(damping, residual, rows), rows); });
}

double Descent::distance_to_preferred() const noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    sum +=
        squared(coordinates_[i].u - preferred_[i].u) + squared(coordinates_[i].v - preferred_[i].v);
    if (prefer_lengths_) sum += squared((coordinates_[i].s - preferred_[i].s) / length_scale_);
  }
  if (prefer_lengths_ && feed_limit_ > 0.0)
    sum += squared((base_.feed - preferred_feed_) / length_scale_);
  return sum;
}

/// coordinates_ = previous_ + a, a fraction of the difference to the preferred pose, less what of
/// it would move the tip: a + J^T (J J^T)^-1 (residual - J a). All directions are free.
void Descent::step_to_preferred(double fraction) noexcept {
  const auto difference = [&](std::size_t i, int k) {
    const Coordinates &from = previous_[i], &to = preferred_[i];
    if (k == 0) return fraction * (to.u - from.u);
    if (k == 1) return fraction * (to.v - from.v);
    return prefer_lengths_ ? fraction * (to.s - from.s) / length_scale_ : 0.0;
  };
  const double feed_difference =
      prefer_lengths_ ? fraction * (preferred_feed_ - previous_base_.feed) / length_scale_ : 0.0;
  Row residual = residual_;
  const std::size_t rows = tip_rows();
  std::size_t column = 0;
  const auto subtract = [&](double amount) {
    const Row& J = reduced_[column++];
    for (std::size_t r = 0; r < rows; ++r) residual[r] -= amount * J[r];
  };
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    for (int k = 0; k < free_[i].count; ++k) subtract(difference(i, k));
  }
  if (feed_moves_) subtract(feed_difference);
  step(kMinDamping * length_scale_ * length_scale_, residual);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    coordinates_[i].u += difference(i, 0);
    coordinates_[i].v += difference(i, 1);
    if (free_[i].count == 3) coordinates_[i].s += length_scale_ * difference(i, 2);
    clamp(i);
  }
  if (feed_moves_)
    base_.feed = std::clamp(base_.feed + length_scale_ * feed_difference, 0.0, feed_limit_);
}

void Descent::relax(SectionStates preferred, const BaseState& preferred_base, bool lengths,
                    int& iterations, int max_iterations) noexcept {
  for (std::size_t i = 0; i < preferred_.size(); ++i) {
    const Eigen::Vector2d bend = bend_vector(preferred[i]);
    preferred_[i] = {bend.x(), bend.y(), preferred[i].extension};
  }
  preferred_feed_ = preferred_base.feed;
  prefer_lengths_ = lengths;
  double fraction = 1.0;
  double distance = distance_to_preferred();
  while (fraction >= kMinFraction && iterations < max_iterations) {
    before_ = coordinates_;
    const BaseState base_before = base_;
    differentiate(Limits::Ignored);
    previous_ = coordinates_;
    previous_base_ = base_;
    step_to_preferred(fraction);
    ++iterations;
    const DescentEnd end =
        run(StopRule::GiveUpEarly, iterations, std::min(max_iterations, iterations + kCorrections));
    const double now = distance_to_preferred();
    if (end == DescentEnd::Converged && now < distance * (1.0 - kMinRelief)) {
      distance = now;
      fraction = std::min(1.0, 2.0 * fraction);
      continue;
    }
    coordinates_ = before_;
    base_ = base_before;
    cost_ = evaluate();
    fraction /= 4.0;
  }
}

}  // namespace tendril
