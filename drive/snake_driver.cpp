#include "drive/snake_driver.hpp"

#include <algorithm>
#include <utility>

#include "binding/snake_controllers.hpp"
#include "tendril/model/snake/mjcf.hpp"

namespace tendril {
namespace {

Eigen::Isometry3d start_of(const SnakeDescription& robot, const ComputerOptions& options) {
  Eigen::Isometry3d X_WB = start_pose(robot);
  if (options.R_WB) X_WB.linear() = *options.R_WB;
  if (options.p_WB) X_WB.translation() = *options.p_WB;
  return X_WB;
}

}  // namespace

SnakeDriver::SnakeDriver(const SnakeDescription& robot, const ComputerOptions& options)
    : JointDriver(robot, options, RobotSizes(robot.joints)),
      link_delay_(options.link_delay),
      X_WB_(start_of(robot_, options)),
      start_angles_(start_angles(robot_)) {
  take(make_snake_controller(kind(), settings(), robot_, options.timestep, X_WB_, scene()));
  loop_.emplace(mechanism_, robot_, controller_->commands(), options.gravity,
                SnakeLoop::base_of(robot_, *controller_));
  loop_->use_sensors(mechanism_, robot_, *controller_, kind().name);
  start_with(loop_->joints(), loop_->drive_readings(), loop_->layout().size());
}

void SnakeDriver::reset_own(std::span<double> own) noexcept {
  loop_->layout().reset(own);
  std::ranges::fill(states_, JointState());
  measurement_.q = Eigen::Map<const Eigen::VectorXd>(
      start_angles_.data(), static_cast<Eigen::Index>(start_angles_.size()));
  loop_->place(X_WB_, measurement_, states_);
  has_begun_ = false;
}

void SnakeDriver::see(const Input& input, std::span<const double> own,
                      std::span<double> next_own) noexcept {
  SnakeMeasurement& seen = measurement_;
  seen.time = input.time;
  const std::span<const double> readings = input.readings.first(ports().sensor_numbers),
                                drives = input.readings.subspan(ports().sensor_numbers);
  Eigen::Isometry3d X_WT = X_WB_;
  if (!drives.empty()) {
    JointState& feed = states_.back();
    feed.axis = X_WB_.linear().col(0);
    feed.velocity = drives[1];
    feed.position = drives[0] + link_delay_ * feed.velocity;
    X_WT.translate(Eigen::Vector3d(feed.position, 0.0, 0.0));
  }
  if (!is_free()) seen.X_WT = X_WT;
  if (!has_begun_) {
    loop_->read_angles(readings, input.arrived, seen.q);
    loop_->place(X_WT, seen, states_);
    has_begun_ = true;
  }
  loop_->sense(readings, input.arrived, next_own, seen, states_);
  loop_->measure(states_, own, seen);
  seen.has_target = input.target != nullptr;
  if (input.target == nullptr) return;
  seen.p_WG = input.target->translation();
  if (!is_free()) seen.p_WG = X_WB_ * seen.p_WG;
}

void SnakeDriver::setpoints(std::span<double> next_own, std::span<double> commands) noexcept {
  loop_->setpoints(states_, command_, next_own, commands);
}

void SnakeDriver::keep_own(std::span<const double> commands, std::span<double> own) noexcept {
  loop_->keep(states_, commands, own);
}

RobotDriver::Places SnakeDriver::places() const noexcept {
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
  X_WG.translation() = measurement_.p_WG;
  if (is_free()) return {measurement_.X_WE, X_WG, measurement_.X_WT};
  const Eigen::Isometry3d X_BW = X_WB_.inverse();
  return {X_BW * measurement_.X_WE, X_BW * X_WG, std::nullopt};
}

}  // namespace tendril
