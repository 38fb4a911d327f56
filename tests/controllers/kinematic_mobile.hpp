#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "controllers/interface/mobile_controller.hpp"
#include "tendril/mobile/configuration.hpp"
#include "tests/controllers/test_report.hpp"

namespace tendril::test {

/// A mobile robot without physics: it is measured where it was last commanded, less `droop`. Keeps
/// the fastest setpoints.
class KinematicMobile {
 public:
  template <class C>
  KinematicMobile(C& controller, const MobileRobot& robot, double timestep,
                  const PlatformPose& base, JointAngles joints)
      : measurement(robot.joint_count()),
        report(C::kQuantities),
        droop(Eigen::VectorXd::Zero(configuration_size(robot))),
        setpoint(configuration_size(robot)),
        controller_(controller),
        robot_(robot),
        memory_(static_cast<std::size_t>(controller.memory_size())),
        next_(memory_.size()),
        velocity_(Eigen::VectorXd::Zero(setpoint.size())) {
    measurement.timestep = timestep;
    measurement.has_target = true;
    set_configuration(base, joints, setpoint);
    controller_.reset(memory_);
    measure();
  }

  void step() {
    std::copy(memory_.begin(), memory_.end(), next_.begin());
    command = MobileCommand(robot_.joint_count());
    report.clear();
    controller_.update(measurement, memory_, next_, command, report);
    memory_ = next_;
    const Eigen::VectorXd before = setpoint, velocity_before = velocity_;
    set_configuration(command.base, {command.q.data(), static_cast<std::size_t>(command.q.size())},
                      setpoint);
    velocity_ = (setpoint - before) / measurement.timestep;
    const Eigen::VectorXd acceleration = (velocity_ - velocity_before) / measurement.timestep;
    const auto keep = [](double& most, double value) { most = std::max(most, value); };
    keep(fastest.platform_speed, velocity_.head<2>().norm());
    keep(fastest.turn_speed, std::abs(velocity_[2]));
    keep(fastest.joint_speed, velocity_.tail(velocity_.size() - 3).cwiseAbs().maxCoeff());
    keep(fastest.platform_acceleration, acceleration.head<2>().norm());
    keep(fastest.turn_acceleration, std::abs(acceleration[2]));
    keep(fastest.joint_acceleration, acceleration.tail(velocity_.size() - 3).cwiseAbs().maxCoeff());
    inside = inside && within_limits(robot_, joints_of(setpoint), 0.0);
    measurement.time += measurement.timestep;
    measure();
  }
  /// Steps until the target is reached or refused, `duration` at most [s]. Returns whether reached.
  bool run_to_target(double duration) {
    const int steps = static_cast<int>(std::ceil(duration / measurement.timestep));
    for (int i = 0; i < steps; ++i) {
      step();
      if (report.status == ControllerStatus::Finished) return true;
    }
    return false;
  }
  void run(double duration) {
    const int steps = static_cast<int>(std::round(duration / measurement.timestep));
    for (int i = 0; i < steps; ++i) step();
  }
  [[nodiscard]] const std::vector<double>& memory() const { return memory_; }

  MobileMeasurement measurement;
  MobileCommand command{0};
  TestReport report;
  Eigen::VectorXd droop;     ///< setpoint less measured position, in every step
  Eigen::VectorXd setpoint;  ///< last one
  MobileSpeedLimits fastest{0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  bool inside = true;  ///< every setpoint was inside the joint limits

 private:
  void measure() {
    const Eigen::VectorXd x = setpoint - droop;
    measurement.base = platform_of(x);
    measurement.q = x.tail(x.size() - kPlatformSize);
    measurement.X_WE = tool_pose(robot_, measurement.base, joints_of(x));
  }

  MobileController& controller_;
  const MobileRobot& robot_;
  std::vector<double> memory_, next_;
  Eigen::VectorXd velocity_;
};

}  // namespace tendril::test
