#pragma once

// Read robot_driver.hpp first.

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "binding/driven_joint.hpp"
#include "controllers/arm/servo.hpp"
#include "drive/robot_driver.hpp"

namespace tendril {

/// A driver with controller C of a robot that the description D describes, whose joints have
/// actuators of their names.
template <class C, class D>
class JointDriver : public DriverOf<C> {
 public:
  [[nodiscard]] const std::string& text() const noexcept final { return robot_.text; }
  [[nodiscard]] std::span<const RobotSensor> sensors() const noexcept final {
    return robot_.sensors;
  }
  [[nodiscard]] std::vector<std::string> joints() const final {
    std::vector<std::string> names;
    for (const DrivenJoint& joint : driven_)
      names.push_back(mechanism_.joints[static_cast<std::size_t>(joint.joint)].name);
    return names;
  }
  void joint_states(std::span<std::array<double, 2>> out) const noexcept final {
    for (std::size_t j = 0; j < states_.size(); ++j)
      out[j] = {states_[j].position, states_[j].velocity};
  }

 protected:
  JointDriver(D robot, const ComputerOptions& options, const RobotSizes& sizes)
      : DriverOf<C>(robot.controller, options.timestep, sizes),
        robot_(prepared(std::move(robot), options)),
        mechanism_(driven_mechanism(RobotDescription(robot_), options)) {}
  /// RobotDriver::start with these joints, which must outlive it.
  /// @param drives  names of what the actuators tell
  void start_with(std::span<const DrivenJoint> joints, std::span<const std::string> drives,
                  int own_size) {
    driven_ = joints;
    states_.resize(joints.size());
    RobotPorts ports;
    ports.add_sensors(robot_.sensors);
    for (const std::string& name : drives) ports.add_drive_reading(name);
    for (const DrivenJoint& joint : joints) ports.add_actuator(mechanism_, joint.actuator);
    this->start(std::move(ports), own_size);
  }

  D robot_;
  Mechanism mechanism_;
  std::span<const DrivenJoint> driven_;
  std::vector<JointState> states_;

 private:
  [[nodiscard]] static D prepared(D robot, const ComputerOptions& options) {
    prepare_sensors(robot.sensors, options);
    return robot;
  }
};

}  // namespace tendril
