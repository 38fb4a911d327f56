#include "controllers/arm/predictive_planner.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

// Samples: the last plan, the straight motion to the solution, staying; straight motions to other
// solutions; the others have noise. The last one is the mean.
constexpr int kPlan = 0, kStraight = 1, kStay = 2, kOther = 3;
constexpr int kOthers = 6;
constexpr int kNoisy = kOther + kOthers;
constexpr int kScales = 3;              // of the noise: 1, 1/2, 1/4
constexpr double kOtherNoise = 2.0;     // of the noise: starts for other solutions
constexpr double kVelocityTime = 0.03;  // [s], of the filter of the target's velocity
constexpr double kJump = 0.01;          // [m] of the target in a step: no motion
constexpr double kLagGain = 1.0;        // [1/s]
constexpr double kSlowRate = 0.3;       // [rad/s]: below it little is learnt of the lag

RolloutOptions with_mean(RolloutOptions options) {
  options.samples += 1;
  return options;
}

}  // namespace

PredictivePlanner::PredictivePlanner(const ContinuumRobot& robot, const Obstacles& obstacles,
                                     int moving, const PredictivePlannerOptions& options,
                                     PlanCost* cost)
    : PosePlanner(robot),
      options_(options),
      period_steps_(std::max(1, static_cast<int>(std::lround(options.period / options.timestep)))),
      rollouts_(robot, with_mean(options.rollouts)),
      cost_(cost),
      solver_(robot, {.max_iterations = options.max_iterations,
                      .position_tolerance = options.position_tolerance,
                      .angle_tolerance = options.angle_tolerance,
                      .max_restarts = 0}),
      forecast_(moving, options.timestep),
      steps_(layout_.index(0, period_steps_ - 1)),
      round_(layout_.counter()),
      follows_(layout_.flag()),
      plan_(layout_.matrix<Eigen::MatrixXd>(robot.coordinate_count(), ArmRollouts::kKnots)),
      body_(layout_.matrix(straight_coordinates(robot))),
      lag_(layout_.number()),
      known_(layout_.flag()),
      target_(layout_.matrix<Vector3d>()),
      target_velocity_(layout_.matrix<Vector3d>()),
      forecast_memory_(layout_.part(forecast_.layout())),
      obstacles_(obstacles),
      states_(static_cast<std::size_t>(robot.section_count())),
      costs_(static_cast<std::size_t>(options.rollouts.samples) + 1),
      weights_(costs_.size() - 1),
      q_last_(robot.coordinate_count()),
      q_solution_(robot.coordinate_count()),
      q_next_(robot.coordinate_count()),
      q_body_(robot.coordinate_count()),
      scale_(Eigen::VectorXd::Ones(robot.coordinate_count())) {
  for (int i = 0; i < robot.section_count(); ++i)
    if (robot.section(i).is_extensible())
      scale_[robot.coordinate_index(i) + 2] = TipIntegral::kLengthScale;
  if (cost_ != nullptr)
    rollouts_.write_to(cost_->record(options.rollouts.samples + 1, options.rollouts.steps));
}

/// Takes in how target and obstacles move, and how far the body is behind its commands.
void PredictivePlanner::measure(const TipTarget& target, const ArmMeasurement& measurement,
                                std::span<const double> memory,
                                std::span<double> next_memory) noexcept {
  const double h = options_.timestep;
  const Obstacles& obstacles = obstacles_or_none(measurement.obstacles);
  forecast_.measure(obstacles, forecast_memory_(memory), forecast_memory_(next_memory));
  for (int i = 0; i < obstacles_.count(); ++i)
    if (obstacles.pose(i).matrix() != obstacles_.pose(i).matrix())
      obstacles_.set_pose(i, obstacles.pose(i));

  const Vector3d moved = target.position() - target_(memory);
  target_(next_memory) = target.position();
  if (!known_(memory) || moved.norm() > kJump) {
    target_velocity_(next_memory).setZero();
  } else {
    const Vector3d velocity = target_velocity_(memory);
    target_velocity_(next_memory) =
        velocity + std::min(1.0, h / kVelocityTime) * (moved / h - velocity);
  }
  known_(next_memory) = true;

  // body' = (q - body) / lag; of the measured coordinates q - measured = lag measured'.
  const Eigen::Index n = measurement.q.size(), first = q_last_.size() - n;
  double behind = 0.0, fast = 0.0;
  for (Eigen::Index k = 0; k < n; ++k) {
    const double scale = scale_[first + k] * scale_[first + k];
    behind += (q_last_[first + k] - measurement.q[k]) * measurement.q_rate[k] / scale;
    fast += measurement.q_rate[k] * measurement.q_rate[k] / scale;
  }
  const double lag = lag_(memory);
  lag_(next_memory) = std::clamp(
      lag + kLagGain * h * (behind - lag * fast) / (fast + kSlowRate * kSlowRate), 0.0, kMaxLag);
  q_body_ = body_(memory);
  q_body_ += (q_last_ - q_body_) * (lag > 0.0 ? -std::expm1(-h / lag) : 1.0);
  body_(next_memory) = q_body_;
}

/// Brings a pose inside the limits.
void PredictivePlanner::clamp(Eigen::Ref<Eigen::VectorXd> pose) noexcept {
  from_coordinates(robot(), pose, states_);
  for (int i = 0; i < robot().section_count(); ++i) {
    SectionState& state = states_[static_cast<std::size_t>(i)];
    state = robot().clamped(i, state);
  }
  to_coordinates(robot(), states_, pose);
}

/// Sets a plan on the line to a pose, as fast as it can.
void PredictivePlanner::set_line(int sample,
                                 const Eigen::Ref<const Eigen::VectorXd>& pose) noexcept {
  const RolloutOptions& options = rollouts_.options();
  auto plan = rollouts_.plan(sample);
  for (int i = 0; i < ArmRollouts::kKnots; ++i) {
    const double time = (i + 1) * options.horizon / ArmRollouts::kKnots;
    const double fraction = options.rates.fraction(robot(), q_last_, pose, time);
    plan.col(i) = q_last_ + std::min(1.0, fraction) * (pose - q_last_);
  }
  rollouts_.set_polyline(sample);
}

/// Adds noise to the poses of a plan; every second one keeps its end.
void PredictivePlanner::add_noise(int sample, const RandomDraws& random,
                                  std::uint64_t first) noexcept {
  auto plan = rollouts_.plan(sample);
  const double deviation = std::ldexp(options_.noise, -(sample / 2 % kScales));
  const Eigen::Index knots = plan.cols() - sample % 2;
  for (Eigen::Index i = 0; i < knots; ++i) {
    for (Eigen::Index k = 0; k < plan.rows(); ++k, first += RandomDraws::kPerNormal)
      plan(k, i) += deviation * scale_[k] * random.normal(first);
    clamp(plan.col(i));
  }
}

/// Sets the plans of all samples.
void PredictivePlanner::sample(const ArmRollouts::Start& start, std::span<double> next_memory,
                               Step& step) noexcept {
  const int samples = options_.rollouts.samples;
  const auto round = static_cast<std::uint64_t>(static_cast<int>(round_(next_memory)));
  const RandomDraws random(static_cast<std::uint64_t>(options_.seed), "tendril.predictive");
  const auto per_sample =
      static_cast<std::uint64_t>(plan_(next_memory).size()) * RandomDraws::kPerNormal;
  const auto first = [&](int s) {
    return (round * static_cast<std::uint64_t>(samples) + static_cast<std::uint64_t>(s)) *
           per_sample;
  };

  if (follows_(next_memory)) {  // one period later
    const auto last = plan_(next_memory);
    auto plan = rollouts_.plan(kPlan);
    plan = last;
    const double fraction = options_.period / rollouts_.knot_time();
    for (int i = 0; i + 1 < ArmRollouts::kKnots; ++i)
      plan.col(i) += fraction * (last.col(i + 1) - last.col(i));
    rollouts_.set_polyline(kPlan);
  } else {
    set_line(kPlan, q_solution_);
  }
  set_line(kStay, q_last_);
  for (int s = kOther; s < std::min(samples, kNoisy); ++s) {
    q_next_ = q_solution_;
    const double deviation = kOtherNoise * std::ldexp(options_.noise, -(s % kScales));
    for (Eigen::Index k = 0; k < q_next_.size(); ++k)
      q_next_[k] +=
          deviation * scale_[k] *
          random.normal(first(s) + static_cast<std::uint64_t>(k) * RandomDraws::kPerNormal);
    clamp(q_next_);
    const IkResult other = solver_.solve(start.target, states_, start.base);
    step.iterations += other.iterations;
    to_coordinates(robot(), other.states, q_next_);
    rollouts_.set_direct(s, q_next_);
  }
  for (int s = kNoisy; s < samples; ++s) {
    const int base = s % kNoisy;
    if (base == kPlan || base == kStay)
      rollouts_.plan(s) = rollouts_.plan(base);
    else
      set_line(s, rollouts_.plan(base).rightCols<1>());
    rollouts_.set_polyline(s);
    add_noise(s, random, first(s));
  }
}

/// Sets the costs of predicted plans.
void PredictivePlanner::evaluate(int first, int last) noexcept {
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  const std::span<double> costs = std::span(costs_).subspan(from, to - from);
  if (cost_ != nullptr) return cost_->evaluate(first, last, costs);
  for (int s = first; s < last; ++s) costs_[static_cast<std::size_t>(s)] = rollouts_.cost(s);
}

/// Takes a sample's plan.
void PredictivePlanner::take(int sample, std::span<double> next_memory) noexcept {
  follows_(next_memory) = !rollouts_.is_direct(sample);
  if (follows_(next_memory)) {
    plan_(next_memory) = rollouts_.reached(sample);
  } else {
    q_solution_ = rollouts_.plan(sample).rightCols<1>();
  }
}

/// Sets q_next_ to where the plan, made `steps` ago, has the arm after this step.
void PredictivePlanner::follow(int steps, std::span<const double> next_memory) noexcept {
  const double left = rollouts_.knot_time() - steps * options_.timestep;
  q_next_ =
      q_last_ + std::min(1.0, options_.timestep / left) * (plan_(next_memory).col(0) - q_last_);
}

void PredictivePlanner::make_plan(const ArmRollouts::Start& start, std::span<double> next_memory,
                                  Step& step) noexcept {
  const int samples = options_.rollouts.samples, mean = samples;
  rollouts_.set_direct(kStraight, q_solution_);
  if (options_.straight_first) {
    rollouts_.predict(start, kStraight, kStraight + 1, obstacles_);
    if (rollouts_.is_free(kStraight)) return take(kStraight, next_memory);
  }

  sample(start, next_memory, step);
  rollouts_.predict(start, 0, samples, obstacles_);
  evaluate(0, samples);
  const std::span<const double> costs = std::span(costs_).first(weights_.size());
  path_integral_weights(costs, options_.temperature, weights_);
  auto average = rollouts_.plan(mean);
  average.setZero();
  for (int s = 0; s < samples; ++s)
    average += weights_[static_cast<std::size_t>(s)] * rollouts_.reached(s);
  rollouts_.set_polyline(mean);
  rollouts_.predict(start, mean, mean + 1, obstacles_);
  evaluate(mean, mean + 1);
  const auto best = std::min_element(costs.begin(), costs.end()) - costs.begin();
  take(costs_.back() < costs[static_cast<std::size_t>(best)] ? mean : static_cast<int>(best),
       next_memory);
  round_(next_memory) += 1;
}

PosePlanner::Step PredictivePlanner::step(const TipTarget& target,
                                          const ArmMeasurement& measurement,
                                          std::span<const double> memory,
                                          std::span<double> next_memory) noexcept {
  Step step;
  q_last_ = pose(memory);
  BaseState base = measurement.base;
  if (robot().rail_count() > 0) {
    if (!known_(memory)) q_last_[kShift] = base.feed;
    base.feed = 0.0;
  }
  measure(target, measurement, memory, next_memory);

  // 1. The solution of the inverse kinematics.
  load_states(solution_memory_(memory), states_);
  const IkResult ik = solver_.solve(target, states_, base);
  step.iterations = ik.iterations;
  step.reached = ik.converged();
  to_coordinates(robot(), ik.states, q_solution_);

  // 2. From time to time, a plan.
  steps_(next_memory) = (steps_(memory) + 1) % period_steps_;
  if (steps_(memory) == 0)
    make_plan({.command = q_last_,
               .body = q_body_,
               .lag = lag_(next_memory),
               .base = base,
               .target = target,
               .target_velocity = target_velocity_(next_memory),
               .forecast = forecast_,
               .forecast_memory = forecast_memory_(std::span<const double>(next_memory))},
              next_memory, step);

  // 3. One step along it.
  q_next_ = q_solution_;
  if (follows_(next_memory)) follow(steps_(memory), next_memory);
  step.scale =
      std::min(1.0, options_.rollouts.rates.fraction(robot(), q_last_, q_next_, options_.timestep));
  q_next_ = q_last_ + step.scale * (q_next_ - q_last_);
  step.there = q_next_ == q_solution_;
  load_states(solution_memory_(memory), states_);
  from_coordinates(robot(), q_solution_, states_);
  store_states(states_, solution_memory_(next_memory));
  pose_memory_(next_memory) = q_next_;
  return step;
}

}  // namespace tendril
