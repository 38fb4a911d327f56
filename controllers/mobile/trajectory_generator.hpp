#pragma once

#include <Eigen/Core>

#include "tendril/mobile/configuration.hpp"
#include "tendril/mobile/speed.hpp"

namespace tendril {

/// Online trajectory generator of a mobile robot: moves its configuration towards a goal step by
/// step within limits of speed and acceleration. Platform and arm are synchronized, so that a
/// motion from rest is a straight line. The motion brakes in time for the goal, which may move, and
/// for the joint limits. A goal at rest is reached exactly in finite time. Only the constructor
/// allocates or throws.
/// Source: docs/theory/mobile.md, "Motion under limits". Tested by:
/// trajectory_generator_test.
class TrajectoryGenerator {
 public:
  /// @param fraction  of the limits that is used, in (0, 1]
  /// @param timestep  [s]
  TrajectoryGenerator(const MobileRobot& robot, const MobileSpeedLimits& limits, double fraction,
                      double timestep);

  using Vector = Eigen::Ref<Eigen::VectorXd>;

  /// One step from position `x` and velocity `v`, both updated, towards `goal`, which is the goal
  /// at the beginning of the step and moves at `goal_rate`.
  void step(const MobileConfiguration& goal, const MobileConfiguration& goal_rate, Vector x,
            Vector v) noexcept;
  /// One step of braking.
  void brake(Vector x, Vector v) noexcept;
  /// Writes to `stop` the configuration at which braking from now on would end.
  void stop_point(const MobileConfiguration& x, const MobileConfiguration& v,
                  Vector stop) const noexcept;

  /// Largest ratio of a speed to its limit, and of a change of speed in one step to its limit.
  [[nodiscard]] double speed_ratio(const MobileConfiguration& v) const noexcept {
    return ratio(v, speed_);
  }
  [[nodiscard]] double step_ratio(const MobileConfiguration& change) const noexcept {
    return ratio(change, acceleration_) / h_;
  }
  /// The limits, one for each coordinate; those of the platform's x and y apply to their norm.
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
