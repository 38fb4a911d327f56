#include "binding/snake_loop.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "binding/arm_model.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model/snake/description.hpp"
#include "tendril/model/snake/mjcf.hpp"
#include "tendril/model/snake/observations.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

struct RigidPart {
  double mass = 0.0;
  Vector3d center = Vector3d::Zero();  // of mass, in the frame of the body
};

/// A body with all that hangs on it without a joint, as a payload.
RigidPart rigid_part(const Mechanism& mechanism, int body) {
  RigidPart part;
  const auto count = static_cast<int>(mechanism.bodies.size());
  for (int b = body; b < count; ++b) {
    Vector3d center = mechanism.bodies[static_cast<std::size_t>(b)].center;
    int at = b;
    while (at > body && std::ranges::count(mechanism.joints, at, &Mechanism::Joint::body) == 0) {
      const Mechanism::Body& on = mechanism.bodies[static_cast<std::size_t>(at)];
      center = on.orientation * center;
      center += on.position;
      at = on.parent;
    }
    const double mass = mechanism.bodies[static_cast<std::size_t>(b)].mass;
    if (at != body || !(mass > 0.0)) continue;
    part.mass += mass;
    part.center += (mass / part.mass) * (center - part.center);
  }
  return part;
}

}  // namespace

SnakeLoop::Memory::Memory(int joint_count, std::optional<SensedSnake::Base> base)
    : torque(layout.vector(joint_count)) {
  if (base) sensed = layout.part(SensedSnake::Memory(joint_count, *base).layout);
}

SnakeLoop::SnakeLoop(const Mechanism& mechanism, const SnakeDescription& snake,
                     CommandKind commands, const Vector3d& gravity,
                     std::optional<SensedSnake::Base> base)
    : commands_(commands),
      gravity_(gravity),
      timestep_(mechanism.timestep),
      memory_(snake.joints, base) {
  for (int j = 1; j <= snake.joints; ++j)
    joints_.push_back(driven_joint(mechanism, names::snake_joint(j)));
  if (snake.base == SnakeBase::Carriage) joints_.push_back(driven_joint(mechanism, names::kFeed));
}

SensedSnake::Base SnakeLoop::base_of(const SnakeDescription& snake,
                                     const SnakeController& controller) noexcept {
  if (snake.base != SnakeBase::Free) return SensedSnake::Base::Known;
  return controller.pose_need() == PoseNeed::None ? SensedSnake::Base::Unknown
                                                  : SensedSnake::Base::Measured;
}

void SnakeLoop::use_sensors(const Mechanism& mechanism, const SnakeDescription& snake,
                            const SnakeController& controller, const std::string& controller_name) {
  const auto refuse = [](const std::string& what) {
    throw ModelError("measured = sensors: " + what + ": must be \"truth\"");
  };
  SensedSnake::Parameters parameters;
  parameters.base = base_of(snake, controller);
  if (parameters.base == SensedSnake::Base::Measured) {
    if (controller.pose_need() == PoseNeed::OnPole)
      refuse(controller_name + " works by the height on a pole, of which no sensor tells");
    if (snake.medium) refuse("the snake swims: it has no ground that tells how it moves");
  }
  parameters.link_lengths = snake.link_lengths;
  for (std::size_t k = 0; k < snake.link_lengths.size(); ++k) {
    const int body =
        k == 0 ? 0 : mechanism.joints[static_cast<std::size_t>(joints_[k - 1].joint)].body;
    // Two joints of a universal joint move one link; a base that stands has no weight.
    const RigidPart part = rigid_part(mechanism, body);
    parameters.link_masses.push_back(snake.link_lengths[k] > 0.0 ? part.mass : 0.0);
    parameters.link_centers.push_back(part.center);
  }
  parameters.radius = snake.radius;
  parameters.joint_limit = snake.joint_limit;
  parameters.friction_along = snake.scales ? snake.scales->along : snake.friction;
  parameters.friction_across = snake.scales ? snake.scales->across : snake.friction;
  parameters.gravity = gravity_;
  parameters.timestep = timestep_;
  parameters.observations = observations(snake, timestep_);
  sensed_.emplace(std::move(parameters));
}

std::vector<std::string> SnakeLoop::drive_readings() const {
  if (!joints_.back().is_slide) return {};
  return {names::kFeed, std::string(names::kFeed) + "_rate"};
}

void SnakeLoop::measure_gravity(std::span<const JointState> states,
                                SnakeMeasurement& out) const noexcept {
  for (Eigen::Index j = 0; j < out.q.size(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    out.gravity_torque[j] = gravity_load(states[i], 1.0, joints_[i].mass * gravity_, false);
  }
}

void SnakeLoop::measure(std::span<const JointState> states, std::span<const double> own,
                        SnakeMeasurement& out) const noexcept {
  for (Eigen::Index j = 0; j < out.q.size(); ++j) {
    out.q[j] = states[static_cast<std::size_t>(j)].position;
    out.q_rate[j] = states[static_cast<std::size_t>(j)].velocity;
  }
  measure_gravity(states, out);
  out.torque = memory_.torque(own);
  if (joints_.back().is_slide) out.feed = states.back().position;
}

void SnakeLoop::sense(std::span<const double> readings, std::span<const bool> arrived,
                      std::span<double> next_own, SnakeMeasurement& seen,
                      std::span<JointState> states) noexcept {
  sensed_->sense(readings, arrived, memory_.sensed(next_own), seen,
                 states.first(static_cast<std::size_t>(seen.q.size())));
  measure_gravity(states, seen);
}

void SnakeLoop::place(const Eigen::Isometry3d& X_WT, SnakeMeasurement& seen,
                      std::span<JointState> states) noexcept {
  sensed_->place(X_WT, seen, states.first(static_cast<std::size_t>(seen.q.size())));
}

void SnakeLoop::setpoints(std::span<const JointState> states, const SnakeCommand& command,
                          std::span<double> next_own, std::span<double> setpoints) const noexcept {
  const bool torques = commands_ != CommandKind::Setpoints;
  const auto hinges = static_cast<std::size_t>(command.q.size());
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const DrivenJoint& joint = joints_[j];
    const auto row = static_cast<Eigen::Index>(j);
    const bool is_feed = j == hinges;
    const double desired = is_feed ? command.feed : command.q[row];
    const double rate = is_feed ? command.feed_rate : command.q_rate[row];
    const double load = gravity_load(states[j], 1.0, joint.mass * gravity_, joint.is_slide);
    setpoints[j] =
        torques && !is_feed
            ? std::clamp(command.torque[row], joint.servo.min_force, joint.servo.max_force)
            : joint.servo.setpoint(desired, rate, command.gravity_factor * load);
  }
  keep(states, setpoints, next_own);
}

void SnakeLoop::keep(std::span<const JointState> states, std::span<const double> setpoints,
                     std::span<double> next_own) const noexcept {
  auto torques = memory_.torque(next_own);
  for (Eigen::Index row = 0; row < torques.size(); ++row) {
    const auto j = static_cast<std::size_t>(row);
    const double torque =
        joints_[j].servo.force(setpoints[j], states[j].position, states[j].velocity);
    torques[row] = std::isfinite(torque) ? torque : 0.0;
  }
}

bool is_finite(const SnakeCommand& command) noexcept {
  return command.q.allFinite() && command.q_rate.allFinite() && command.torque.allFinite() &&
         std::isfinite(command.feed) && std::isfinite(command.feed_rate) &&
         std::isfinite(command.gravity_factor);
}

void forget(SnakeCommand& command, CommandKind kind, const SnakeMeasurement& measured) noexcept {
  if (kind == CommandKind::Setpoints)
    command.q.setZero();
  else
    command.q = measured.q;
  command.torque.setZero();
  command.q_rate.setZero();
  command.feed = command.feed_rate = command.gravity_factor = 0.0;
}

}  // namespace tendril
