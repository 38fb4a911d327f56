#include "controllers/arm/arm_rollouts.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kResolution = 4e-3;  // [m] of the body, half of a piece with one distance
constexpr double kDeepest = 2.0;      // of the margin: deeper violations cost no more

/// Lowers `least` to the distance of the arc between two arc lengths from the obstacles, where that
/// is less. The piece is halved where a point of it may be nearer.
void find_least(const Obstacles& obstacles, const BodyArc& arc, double from, double to,
                double& least) noexcept {
  const double half = 0.5 * (to - from), middle = from + half;
  const double distance = obstacles.nearest(arc.point(middle), least + half).distance;
  if (distance >= least + half) return;
  least = std::min(least, distance);
  if (half <= kResolution) return;
  find_least(obstacles, arc, from, middle, least);
  find_least(obstacles, arc, middle, to, least);
}

}  // namespace

ArmRollouts::ArmRollouts(const ContinuumRobot& robot, const RolloutOptions& options)
    : robot_(robot),
      options_(options),
      length_(straight_length(robot)),
      arcs_(robot),
      plans_(robot.coordinate_count(), options.samples * kKnots),
      reached_(plans_.rows(), plans_.cols()),
      commands_(robot.coordinate_count(), options.samples),
      bodies_(robot.coordinate_count(), options.samples),
      desired_(robot.coordinate_count()),
      costs_(static_cast<std::size_t>(options.samples)),
      is_direct_(costs_.size()),
      free_(costs_.size()) {}

void ArmRollouts::set_direct(int sample, const Eigen::Ref<const Eigen::VectorXd>& pose) noexcept {
  plan(sample).colwise() = pose;
  is_direct_[static_cast<std::size_t>(sample)] = true;
}

void ArmRollouts::predict(const Start& start, int first, int last, Obstacles& obstacles) noexcept {
  for (int s = first; s < last; ++s) {
    commands_.col(s) = start.command;
    bodies_.col(s) = start.body;
    costs_[static_cast<std::size_t>(s)] = 0.0;
    free_[static_cast<std::size_t>(s)] = true;
  }
  const double dt = options_.horizon / options_.steps;
  TipTarget target = start.target;
  for (int k = 0; k < options_.steps; ++k) {
    target.X_BG.translation() += dt * start.target_velocity;
    if (!record_.q.empty()) {
      const auto at = static_cast<std::size_t>(3 * k);
      Vector3d::Map(&record_.targets[at]) = target.position();
      Vector3d::Map(&record_.desired[at]) = target.direction();
    }
    start.forecast.place((k + 1) * dt, start.forecast_memory, obstacles);
    for (int s = first; s < last; ++s) advance(s, k, start, target, obstacles);
  }
  if (record_.q.empty()) return;
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  std::copy(&costs_[from], &costs_[from] + (to - from), &record_.costs[from]);
}

/// One step of one plan, and what it costs.
void ArmRollouts::advance(int sample, int step, const Start& start, const TipTarget& target,
                          const Obstacles& obstacles) noexcept {
  const double dt = options_.horizon / options_.steps;
  const auto poses = plan(sample);
  auto command = commands_.col(sample);
  auto body = bodies_.col(sample);

  // 1. The command goes to the plan within its rates, the body behind it.
  const int knot = step * kKnots / options_.steps;
  const bool ends_knot = (step + 1) * kKnots / options_.steps > knot;
  if (is_direct(sample) || ends_knot) {
    desired_ = poses.col(knot);
  } else {
    const double left = (knot + 1.0) * options_.steps / kKnots - step;  // steps to the knot
    desired_ = command + (poses.col(knot) - command) / left;
  }
  const double fraction = options_.rates.fraction(robot_, command, desired_, dt);
  const double used = 1.0 / std::max(1.0, fraction);
  command += std::min(1.0, fraction) * (desired_ - command);
  if (ends_knot) reached_.col(sample * kKnots + knot) = command;
  body += (command - body) * (start.lag > 0.0 ? -std::expm1(-dt / start.lag) : 1.0);

  // 2. Where tip and body are.
  const std::span<const BodyArc> arcs = arcs_.at(body, start.base);
  const BodyArc& end = arcs.back();
  double distance = (end.end() - target.position()).norm();
  if (target.task != TipTask::Position)
    distance +=
        TipIntegral::kDirectionArm *
        std::acos(std::clamp(end.tangent_at(end.length).dot(target.direction()), -1.0, 1.0));
  const double enough = options_.body_radius + options_.margin;
  double least = enough;
  for (const BodyArc& arc : arcs) find_least(obstacles, arc, 0.0, arc.length, least);
  const double violation = (enough - least) / options_.margin;

  // 3. Its cost.
  double& cost = costs_[static_cast<std::size_t>(sample)];
  cost += (distance / length_ + options_.rate_weight * used * used +
           options_.obstacle_weight * std::clamp(violation, 0.0, kDeepest)) /
          options_.steps;
  if (violation > 0.0) free_[static_cast<std::size_t>(sample)] = false;
  if (step + 1 == options_.steps) cost += options_.end_weight * distance / length_;
  if (!record_.q.empty()) write(sample, step, start, end, least - options_.body_radius, used);
}

/// Writes one step of one plan to the record.
void ArmRollouts::write(int sample, int step, const Start& start, const BodyArc& end,
                        double clearance, double rate) const noexcept {
  const auto body = bodies_.col(sample);
  const bool has_rail = robot_.rail_count() > 0;
  const Eigen::Index n = body.size() - (has_rail ? PosePlanner::kShift + 1 : 0);
  const auto row = static_cast<std::size_t>(sample * options_.steps + step);
  Eigen::VectorXd::Map(&record_.q[row * static_cast<std::size_t>(n)], n) = body.tail(n);
  record_.feed[row] = start.base.feed + (has_rail ? body[PosePlanner::kShift] : 0.0);
  Vector3d::Map(&record_.tips[3 * row]) = end.end();
  Vector3d::Map(&record_.directions[3 * row]) = end.tangent_at(end.length);
  record_.clearances[row] = clearance;
  record_.rates[row] = rate;
}

void path_integral_weights(std::span<const double> costs, double temperature,
                           std::span<double> weights) noexcept {
  const double least = *std::min_element(costs.begin(), costs.end());
  double sum = 0.0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    weights[i] = std::exp((least - costs[i]) / temperature);
    sum += weights[i];
  }
  for (double& weight : weights) weight /= sum;
}

}  // namespace tendril
