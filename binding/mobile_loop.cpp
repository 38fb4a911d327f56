#include "binding/mobile_loop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "binding/arm_model.hpp"
#include "tendril/model/mobile/sensors.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

std::vector<std::string> joint_names(const MobileDescription& robot) {
  std::vector<std::string> all{names::kPlatformX, names::kPlatformY, names::kHeading};
  for (int j = 1; j <= MobileLoop::sizes(robot).n; ++j) all.push_back(names::arm_joint(j));
  return all;
}

/// In the frame in which the platform moves.
Eigen::Isometry3d platform_pose(std::span<const JointState> states) noexcept {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() << states[0].position, states[1].position, 0.0;
  X.linear() = Eigen::AngleAxisd(states[2].position, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  return X;
}

}  // namespace

MobileLoop::MobileLoop(const Mechanism& mechanism, const MobileDescription& robot,
                       const Options& options)
    : options_(options), timestep_(mechanism.timestep), layout_(layout(robot, options.is_sensed)) {
  for (const std::string& name : joint_names(robot))
    joints_.push_back(driven_joint(mechanism, name));
}

MemoryLayout MobileLoop::layout(const MobileDescription& robot, bool is_sensed) {
  if (!is_sensed) return {};
  return SensedMobile::Memory(static_cast<int>(kPlatform) + sizes(robot).n).layout;
}

void MobileLoop::use_sensors(const Mechanism& mechanism, const MobileDescription& robot) {
  std::vector<int> coordinates;
  for (const DrivenJoint& joint : joints_) coordinates.push_back(joint.joint);
  sensed_.emplace(SensedMobile::Parameters{
      .observations = mobile_observations(robot, timestep_),
      .joints = joint_names(robot),
      .limits = robot.speeds,
      .timestep = timestep_,
      .chain = robot.mounted
                   ? std::nullopt
                   : std::optional(chain_of(mechanism, coordinates, mechanism.site(names::kTip)))});
}

void MobileLoop::measure(std::span<const JointState> states,
                         MobileMeasurement& out) const noexcept {
  out.base = {states[0].position, states[1].position, states[2].position};
  out.base_velocity = {states[0].velocity, states[1].velocity, states[2].velocity};
  for (Eigen::Index k = 0; k < out.q.size(); ++k) {
    const std::size_t j = kPlatform + static_cast<std::size_t>(k);
    out.q[k] = states[j].position;
    out.q_velocity[k] = states[j].velocity;
    out.gravity_torque[k] =
        gravity_load(states[j], joints_[j].mass, options_.gravity, joints_[j].is_slide);
  }
}

void MobileLoop::sense(std::span<const double> readings, std::span<const bool> arrived,
                       std::span<double> next_own, const Eigen::Isometry3d& X_WB,
                       std::span<JointState> states, MobileMeasurement& seen) noexcept {
  if (sensed_->has_tip()) {
    sensed_->sense(readings, arrived, next_own, X_WB, states, seen.X_WE);
  } else {
    const Eigen::Isometry3d X_PE = platform_pose(states).inverse() * seen.X_WE;
    sensed_->sense(readings, arrived, next_own, X_WB, states, seen.X_WE);
    seen.X_WE = platform_pose(states) * X_PE;
  }
  measure(states, seen);
}

void MobileLoop::setpoints(const MobileMeasurement& seen, const MobileCommand& command,
                           std::span<double> setpoints) const noexcept {
  const PlatformPose &base = command.base, &rate = command.base_rate;
  const std::array<double, kPlatform> positions{base.x, base.y, base.heading},
      rates{rate.x, rate.y, rate.heading};
  const double feed_forward = options_.velocity_feed_forward ? 1.0 : 0.0;
  const bool torques = options_.commands != CommandKind::Setpoints;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const Servo& servo = joints_[j].servo;
    if (j < kPlatform) {
      setpoints[j] = servo.setpoint(positions[j], feed_forward * rates[j], 0.0);
      continue;
    }
    const auto k = static_cast<Eigen::Index>(j - kPlatform);
    setpoints[j] = torques ? std::clamp(command.torque[k], servo.min_force, servo.max_force)
                           : servo.setpoint(command.q[k], feed_forward * command.q_rate[k],
                                            seen.gravity_torque[k]);
  }
}

bool is_finite(const MobileCommand& command) noexcept {
  const auto finite = [](const PlatformPose& pose) {
    return std::isfinite(pose.x) && std::isfinite(pose.y) && std::isfinite(pose.heading);
  };
  return finite(command.base) && finite(command.base_rate) && command.q.allFinite() &&
         command.q_rate.allFinite() && command.torque.allFinite();
}

void forget(MobileCommand& command, CommandKind /*kind*/,
            const MobileMeasurement& measured) noexcept {
  command.base = measured.base;
  command.base_rate = {};
  command.q = measured.q;
  command.q_rate.setZero();
  command.torque.setZero();
}

}  // namespace tendril
