#include "controllers/mobile/trajectory_generator.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kBrakingFraction = 0.8;  // of the acceleration limit is used in planned braking

}  // namespace

TrajectoryGenerator::TrajectoryGenerator(const MobileRobot& robot, const MobileSpeedLimits& limits,
                                         double fraction, double timestep)
    : robot_(robot),
      h_(timestep),
      speed_(Eigen::VectorXd::Constant(configuration_size(robot), limits.joint_speed)),
      acceleration_(
          Eigen::VectorXd::Constant(configuration_size(robot), limits.joint_acceleration)),
      desired_(configuration_size(robot)) {
  speed_.head<3>() << limits.platform_speed, limits.platform_speed, limits.turn_speed;
  acceleration_.head<3>() << limits.platform_acceleration, limits.platform_acceleration,
      limits.turn_acceleration;
  speed_ *= fraction;
  acceleration_ *= fraction;
}

double TrajectoryGenerator::ratio(const MobileConfiguration& v,
                                  const Eigen::VectorXd& limits) const noexcept {
  double most = hypotenuse(v[0], v[1]) / limits[0];
  for (Eigen::Index k = 2; k < v.size(); ++k) most = std::max(most, std::abs(v[k]) / limits[k]);
  return most;
}

double TrajectoryGenerator::braking_speed(double distance, double acceleration) const noexcept {
  const double steps = distance / (acceleration * h_ * h_);
  if (steps <= 0.0) return 0.0;
  if (steps <= 0.5) return distance / h_;  // reached in one step
  return acceleration * h_ * (std::sqrt(2.0 * steps) - 0.5);
}

/// Limits joint speeds so that every joint can brake before its limit.
void TrajectoryGenerator::keep_joints_inside(const MobileConfiguration& x,
                                             Vector v) const noexcept {
  for (int j = 0; j < robot_.joint_count(); ++j) {
    const Eigen::Index k = kPlatformSize + j;
    const JointLimits& limits = robot_.joint_limits(j);
    v[k] = std::clamp(v[k], -braking_speed(x[k] - limits.min, acceleration_[k]),
                      braking_speed(limits.max - x[k], acceleration_[k]));
  }
}

void TrajectoryGenerator::step(const MobileConfiguration& goal,
                               const MobileConfiguration& goal_rate, Vector x, Vector v) noexcept {
  desired_ = goal - x;
  double gain = 1.0 / h_;
  const auto slow_for = [&](double distance, Eigen::Index k) {
    if (distance <= 0.0) return;
    const double fastest =
        std::min(speed_[k], braking_speed(distance, kBrakingFraction * acceleration_[k]));
    gain = std::min(gain, fastest / distance);
  };
  slow_for(hypotenuse(desired_[0], desired_[1]), 0);
  for (Eigen::Index k = 2; k < desired_.size(); ++k) slow_for(std::abs(desired_[k]), k);
  desired_ = goal_rate + gain * desired_;
  desired_ /= std::max(1.0, ratio(desired_, speed_));
  desired_ -= v;
  v += desired_ / std::max(1.0, step_ratio(desired_));
  keep_joints_inside(x, v);
  x += h_ * v;
}

void TrajectoryGenerator::brake(Vector x, Vector v) noexcept {
  const double steps = step_ratio(v);  // for braking
  v *= steps <= 1.0 ? 0.0 : 1.0 - 1.0 / steps;
  keep_joints_inside(x, v);
  x += h_ * v;
}

void TrajectoryGenerator::stop_point(const MobileConfiguration& x, const MobileConfiguration& v,
                                     Vector stop) const noexcept {
  // v (1 - 1/n), v (1 - 2/n) ...: (n - 1) / 2 steps of full speed.
  const double steps = step_ratio(v);
  stop = x + 0.5 * h_ * std::max(0.0, steps - 1.0) * v;
  for (int j = 0; j < robot_.joint_count(); ++j) {
    const JointLimits& limits = robot_.joint_limits(j);
    double& q = stop[kPlatformSize + j];
    q = std::clamp(q, limits.min, limits.max);
  }
}

}  // namespace tendril
