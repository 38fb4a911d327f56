#pragma once

#include <Eigen/Core>

#include "tendril/mobile/mobile_configuration.hpp"
#include "tendril/mobile/mobile_speed.hpp"

namespace tendril {

/// Moves a configuration of a mobile robot towards a goal, step by step: platform and arm scaled in
/// time together, so that a motion from rest goes straight, and no speed or acceleration beyond its
/// limit. It brakes in time for the goal, which may move, and for the joint limits; a goal at rest
/// is met exactly after finite time. Nothing but the constructor allocates or throws.
/// Source: docs/derivations-mobile.md, "Motion under limits". Tested by: trajectory_generator_test.
class TrajectoryGenerator {
 public:
  /// @param share  of the limits that is used, in (0, 1]
  TrajectoryGenerator(const MobileRobot& robot, const MobileSpeedLimits& limits, double share,
                      double timestep);

  using Vector = Eigen::Ref<Eigen::VectorXd>;

  /// One step from position `x` at velocity `v`, both replaced, towards `goal`, which is there at
  /// the step's begin and moves at `goal_rate`.
  void step(const MobileConfiguration& goal, const MobileConfiguration& goal_rate, Vector x,
            Vector v) noexcept;
  /// One step of braking.
  void brake(Vector x, Vector v) noexcept;
  /// Where braking from now on would end, written to `stop`.
  void stop_point(const MobileConfiguration& x, const MobileConfiguration& v,
                  Vector stop) const noexcept;

  /// Largest ratio of a speed to its limit, and of a change of speed within a step to its own.
  [[nodiscard]] double speed_ratio(const MobileConfiguration& v) const noexcept {
    return ratio(v, speed_);
  }
  [[nodiscard]] double step_ratio(const MobileConfiguration& change) const noexcept {
    return ratio(change, acceleration_) / h_;
  }
  /// The limits, one for each coordinate; those of the platform's x and y hold for their norm.
  [[nodiscard]] const Eigen::VectorXd& speed() const noexcept { return speed_; }
  [[nodiscard]] const Eigen::VectorXd& acceleration() const noexcept { return acceleration_; }

 private:
  [[nodiscard]] double ratio(const MobileConfiguration& v,
                             const Eigen::VectorXd& limits) const noexcept;
  /// The largest speed from which constant braking in steps ends within `distance`.
  [[nodiscard]] double braking_speed(double distance, double acceleration) const noexcept;
  void keep_joints_inside(const MobileConfiguration& x, Vector v) const noexcept;

  MobileRobot robot_;
  double h_;
  Eigen::VectorXd speed_, acceleration_, desired_;
};

}  // namespace tendril
