#include "drive/arm_computer.hpp"

#include <algorithm>
#include <utility>

namespace tendril {

ContinuumDescription ArmComputer::prepared(ContinuumDescription robot,
                                           const ComputerOptions& options) {
  prepare_sensors(robot.sensors, options);
  robot.timestep = options.timestep;
  robot.numerical_damping_time = options.numerical_damping_time;
  if (options.numerical_damping_time == 0.0) robot.integrator = Integrator::ImplicitFast;
  return robot;
}

ArmComputer::ArmComputer(const ContinuumDescription& robot, const ComputerOptions& options,
                         ArmMechanics::Options mechanics, ContactNeed contacts,
                         ArmMeasurement& measurement)
    : link_delay_(options.link_delay),
      mechanism_(driven_mechanism(RobotDescription(robot), options)),
      loop_(std::make_unique<ArmLoop>(mechanism_, robot, std::move(mechanics), true, contacts,
                                      measurement)) {
  const Eigen::Matrix3d R_WB = options.R_WB.value_or(Eigen::Matrix3d::Identity());
  loop_->use_sensors(mechanism_, robot, options.gravity, R_WB);
  measurement.timestep = options.timestep;
  start_ = loop_->mechanics().make_state();
  start_.R_WB = R_WB;
  state_ = start_;
  tendon_commands_.resize(loop_->model().tendons.size());

  std::vector<std::string> tendons;
  for (const Tendon& tendon : robot.tendons) tendons.push_back(tendon.name);
  ports_.add_sensors(robot.sensors, tendons);
  for (const ArmLoop::DriveReading& reading : loop_->drive_readings())
    ports_.add_drive_reading(reading.name);
  for (const int index : loop_->model().actuators) ports_.add_actuator(mechanism_, index);
}

void ArmComputer::sense(std::span<const double> readings, std::span<const bool> arrived,
                        std::span<const double> own, std::span<double> next) noexcept {
  loop_->read_drives(readings.subspan(ports_.sensor_numbers), own, state_, tendon_commands_);
  const auto now = [&](JointState& joint) { joint.position += link_delay_ * joint.velocity; };
  now(state_.feed);
  now(state_.spin);
  std::ranges::for_each(state_.turns, now);
  loop_->sense(readings.first(ports_.sensor_numbers), arrived, tendon_commands_, next, state_);
}

std::vector<std::string> ArmComputer::joints() const {
  const ArmModel& model = loop_->model();
  std::vector<std::string> names;
  const auto add = [&](int joint) {
    if (joint >= 0) names.push_back(mechanism_.joints[static_cast<std::size_t>(joint)].name);
  };
  std::ranges::for_each(model.joints, add);
  std::ranges::for_each(model.turns, add);
  add(model.feed);
  add(model.spin);
  return names;
}

void ArmComputer::joint_states(std::span<std::array<double, 2>> out) const noexcept {
  auto next = out.begin();
  const auto add = [&](const JointState& joint) { *next++ = {joint.position, joint.velocity}; };
  std::ranges::for_each(state_.joints, add);
  std::ranges::for_each(state_.turns, add);
  if (loop_->model().feed >= 0) add(state_.feed);
  if (loop_->model().spin >= 0) add(state_.spin);
}

}  // namespace tendril
