#include "drive/arm_computer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

Mechanism mechanism_of(const ContinuumDescription& robot) {
  Mechanism mechanism = robot_mechanism(robot);
  mechanism.numerical_damping_time = robot.numerical_damping_time;
  return mechanism;
}

}  // namespace

ContinuumDescription ArmComputer::prepared(ContinuumDescription robot,
                                           const ArmComputerOptions& options) {
  if (!(options.timestep > 0.0 && std::isfinite(options.timestep)))
    throw ModelError("timestep = " + std::to_string(options.timestep) + " s: must be positive");
  if (!(options.link_delay >= 0.0 && std::isfinite(options.link_delay)))
    throw ModelError("link_delay = " + std::to_string(options.link_delay) +
                     " s: must be at least 0");
  robot.timestep = options.timestep;
  robot.numerical_damping_time = options.numerical_damping_time;
  if (options.numerical_damping_time == 0.0) robot.integrator = Integrator::ImplicitFast;
  require_sampled(robot.sensors, options.timestep);
  for (RobotSensor& sensor : robot.sensors) {
    sensor.delay += options.link_delay;
    for (EngineSensor& one : sensor.sensors) one.is_late = one.is_late && options.are_forces_late;
  }
  return robot;
}

ArmComputer::ArmComputer(const ContinuumDescription& robot, const ArmComputerOptions& options,
                         ArmMechanics::Options mechanics, ContactNeed contacts,
                         ArmMeasurement& measurement)
    : link_delay_(options.link_delay),
      mechanism_(mechanism_of(robot)),
      loop_(std::make_unique<ArmLoop>(mechanism_, robot, std::move(mechanics), true, contacts,
                                      measurement)) {
  loop_->use_sensors(mechanism_, robot, options.gravity, options.R_WB);
  measurement.timestep = options.timestep;
  start_ = loop_->mechanics().make_state();
  start_.R_WB = options.R_WB;
  state_ = start_;
  tendon_commands_.resize(loop_->model().tendons.size());

  for (const RobotSensor& sensor : robot.sensors)
    for (const EngineSensor& one : sensor.sensors) {
      channels_.push_back({one.name, one.width, true});
      sensor_numbers_ += static_cast<std::size_t>(one.width);
    }
  sensor_count_ = channels_.size();
  for (const ArmLoop::DriveReading& reading : loop_->drive_readings())
    channels_.push_back({reading.name, 1, false});
  reading_count_ = sensor_numbers_ + channels_.size() - sensor_count_;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int index : loop_->model().actuators) {
    const Mechanism::Actuator& of = mechanism_.actuators[static_cast<std::size_t>(index)];
    const bool is_limited = of.command_range[1] > of.command_range[0];
    actuators_.push_back(
        {of.name, is_limited ? of.command_range : std::array<double, 2>{-kInfinity, kInfinity}});
  }
}

void ArmComputer::sense(std::span<const double> readings, std::span<const bool> arrived,
                        std::span<const double> own, std::span<double> next) noexcept {
  loop_->read_drives(readings.subspan(sensor_numbers_), own, state_, tendon_commands_);
  for (JointState* const joint : {&state_.feed, &state_.spin})
    joint->position += link_delay_ * joint->velocity;
  loop_->sense(readings.first(sensor_numbers_), arrived, tendon_commands_, next, state_);
}

std::vector<std::string> ArmComputer::joints() const {
  const ArmModel& model = loop_->model();
  std::vector<std::string> names;
  const auto add = [&](int joint) {
    if (joint >= 0) names.push_back(mechanism_.joints[static_cast<std::size_t>(joint)].name);
  };
  std::ranges::for_each(model.joints, add);
  add(model.feed);
  add(model.spin);
  return names;
}

void ArmComputer::joint_states(std::span<std::array<double, 2>> out) const noexcept {
  auto next = out.begin();
  const auto add = [&](const JointState& joint) { *next++ = {joint.position, joint.velocity}; };
  std::ranges::for_each(state_.joints, add);
  if (loop_->model().feed >= 0) add(state_.feed);
  if (loop_->model().spin >= 0) add(state_.spin);
}

}  // namespace tendril
