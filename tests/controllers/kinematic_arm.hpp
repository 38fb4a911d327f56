#pragma once

#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tests/controllers/test_report.hpp"

namespace tendril::test {

/// An arm without physics: it is measured where it was last commanded.
class KinematicArm {
 public:
  KinematicArm(const ContinuumRobot& robot, double timestep)
      : robot_(robot),
        states_(robot_.straight().begin(), robot_.straight().end()),
        measurement(robot_.coordinate_count()) {
    measurement.timestep = timestep;
    to_coordinates(robot_, states_, measurement.q);
    measure();
  }

  void move_target(const Eigen::Vector3d& p_BG) {
    measurement.has_target = true;
    measurement.X_BG.translation() = p_BG;
  }
  void move_to(const Eigen::VectorXd& q, const BaseState& base) {
    measurement.q = q;
    measurement.base = base;
    measure();
  }
  void pass_time() { measurement.time += measurement.timestep; }

 private:
  void measure() {
    from_coordinates(robot_, measurement.q, states_);
    const int n = robot_.coordinate_count();
    Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, n);
    measurement.X_BE = tip_jacobian(robot_, states_, measurement.base, J);
    measurement.tip_jacobian.setZero();
    measurement.tip_jacobian.topLeftCorner(3, n) = J.topRows<3>();
    const Eigen::Vector3d z = measurement.X_BE.linear().col(2);
    for (int k = 0; k < n; ++k)  // the rate of a direction is w x z; the part of w along z is free
      measurement.tip_jacobian.col(k).tail<3>() = z.cross(Eigen::Vector3d(J.col(k).tail<3>()));
    measurement.tip_jacobian.col(n)[2] = 1.0;
  }

  ContinuumRobot robot_;
  std::vector<SectionState> states_;

 public:
  ArmMeasurement measurement;
};

/// A controller with its memory, stepped as the plugin steps it.
struct ControllerRun {
  template <class C>
  ControllerRun(C& c, const ContinuumRobot& robot)
      : controller(c),
        report(C::kQuantities),
        memory(static_cast<std::size_t>(c.memory_size())),
        next(memory.size()),
        command(robot.coordinate_count()) {
    controller.reset(memory);
  }

  void update(const ArmMeasurement& measurement) {
    next = memory;
    command.q.setZero();
    command.q_rate.setZero();
    command.plan.setZero();
    command.base = {};
    command.feed_rate = 0.0;
    report.clear();
    controller.update(measurement, memory, next, command, report);
  }
  void advance() { memory.swap(next); }
  void step(KinematicArm& arm) {
    update(arm.measurement);
    advance();
    arm.move_to(command.q, command.base);
    arm.pass_time();
  }

  ArmController& controller;
  TestReport report;
  std::vector<double> memory, next;
  ArmCommand command;
};

}  // namespace tendril::test
