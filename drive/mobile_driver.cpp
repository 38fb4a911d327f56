#include "drive/mobile_driver.hpp"

#include <algorithm>
#include <utility>

#include "binding/mobile_controllers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
MobileDriver::MobileDriver(const MobileDescription& robot, const ComputerOptions& options)
    : JointDriver(robot, options, MobileLoop::sizes(robot)) {
  if (robot.mounted)
    throw ModelError(robot.name + ": its arm is a continuum arm: drive that, by its own file");
  if (options.R_WB) X_WB_.linear() = *options.R_WB;
  take(make_mobile_controller(kind(), settings(), robot_, options.timestep, scene()));
  loop_.emplace(
      mechanism_, robot_,
      MobileLoop::Options{.commands = controller_->commands(),
                          .gravity = settings().flag("gravity_compensation")
                                         ? options.gravity
                                         : Eigen::Vector3d(Eigen::Vector3d::Zero()),
                          .velocity_feed_forward = settings().flag("velocity_feed_forward"),
                          .is_sensed = true});
  loop_->use_sensors(mechanism_, robot_);
  start_with(loop_->joints(), {}, loop_->layout().size());
}

void MobileDriver::reset_own(std::span<double> own) noexcept {
  loop_->layout().reset(own);
  for (std::size_t j = 0; j < states_.size(); ++j) {
    const auto index = static_cast<std::size_t>(driven_[j].joint);
    states_[j] = {};
    states_[j].position = mechanism_.joints[index].start;
  }
  has_begun_ = false;
}

void MobileDriver::see(const Input& input, std::span<const double> /*own*/,
                       std::span<double> next_own) noexcept {
  measurement_.time = input.time;
  if (!has_begun_) loop_->read_positions(input.readings, input.arrived, states_);
  has_begun_ = true;
  loop_->sense(input.readings, input.arrived, next_own, X_WB_, states_, measurement_);
  measurement_.has_target = input.target != nullptr;
  if (input.target != nullptr) measurement_.X_WG = *input.target;
}

void MobileDriver::setpoints(std::span<double> /*next_own*/, std::span<double> commands) noexcept {
  loop_->setpoints(measurement_, command_, commands);
}

}  // namespace tendril
