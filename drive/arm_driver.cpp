#include "drive/arm_driver.hpp"

#include <utility>

#include "binding/arm_controllers.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"

namespace tendril {
namespace {

RobotSizes sizes(const ContinuumDescription& robot) {
  return {robot.kinematics().coordinate_count(), tendon_count(robot)};
}

}  // namespace

ArmDriver::ArmDriver(ContinuumDescription robot, const ComputerOptions& options)
    : DriverOf(robot.controller, options.timestep, sizes(robot)),
      robot_(ArmComputer::prepared(std::move(robot), options)) {
  take(make_arm_controller(kind(), settings(), robot_,
                           {options.timestep, options.numerical_damping_time}, scene()));
  require_sensed_contacts(kind(), controller_->needs_contacts(), robot_);
  const bool compensates = settings().flag("gravity_compensation");
  computer_.emplace(
      robot_, options,
      ArmMechanics::Options{
          .gravity = compensates ? options.gravity : Eigen::Vector3d(Eigen::Vector3d::Zero()),
          .velocity_feed_forward = settings().flag("velocity_feed_forward"),
          .commands = controller_->commands()},
      controller_->needs_contacts(), measurement_);
  command_.tension = Eigen::VectorXd::Zero(measurement_.tendon_tension.size());
  start(computer_->ports(), computer_->loop().layout().size());
}

void ArmDriver::see(const Input& input, std::span<const double> own,
                    std::span<double> next_own) noexcept {
  ArmLoop& loop = computer_->loop();
  computer_->sense(input.readings, input.arrived, own, next_own);
  const ArmMechanics::State& state = computer_->state();
  measurement_.time = input.time;
  loop.measure(state, computer_->tendon_commands(), next_own, measurement_);
  loop.sense_contacts(state, *controller_, next_own, measurement_);
  measurement_.has_target = input.target != nullptr;
  if (input.target != nullptr) measurement_.X_BG = *input.target;
}

void ArmDriver::setpoints(std::span<double> next_own, std::span<double> commands) noexcept {
  computer_->loop().setpoints(computer_->state(), measurement_, command_, next_own, commands);
}

}  // namespace tendril
