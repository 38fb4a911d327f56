#include "plugin/snake_binding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "plugin/bind_robot.hpp"
#include "plugin/drawing.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/snake/observations.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

struct SnakeStartPlace {
  Eigen::Vector2d center;  // of the snake
  double height;           // of the ground
};

/// Where the snake starts in the world.
SnakeStartPlace start_of(const InstanceContext& context, const SnakeDescription& snake) {
  if (snake.start) return {snake.start->position.head<2>(), snake.start->position.z()};
  const mjModel* m = context.model;
  const int base = context.require(mjOBJ_BODY, names::kBase);
  const ConstVector3 tail(m->body_pos + 3 * base);
  const double half =
      0.5 * std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), 0.0);
  const mjtNum* q = m->body_quat + 4 * base;
  return {(tail + Eigen::Quaterniond(q[0], q[1], q[2], q[3]) * Eigen::Vector3d(half, 0.0, 0.0))
              .head<2>(),
          tail.z() - snake.radius};
}

struct RigidPart {
  double mass;
  Eigen::Vector3d center;  // of mass, in the frame of the body
};

/// A body with all that hangs on it without a joint, as a payload.
RigidPart rigid_part(const mjModel* m, int body) {
  RigidPart part{0.0, Eigen::Vector3d::Zero()};
  for (int b = body; b < m->nbody; ++b) {
    Eigen::Vector3d center = ConstVector3(m->body_ipos + 3 * b);
    int at = b;
    for (; at > body && m->body_jntnum[at] == 0; at = m->body_parentid[at]) {
      const mjtNum* q = m->body_quat + 4 * at;
      center = Eigen::Quaterniond(q[0], q[1], q[2], q[3]) * center;
      center += ConstVector3(m->body_pos + 3 * at);
    }
    if (at != body || !(m->body_mass[b] > 0.0)) continue;
    part.mass += m->body_mass[b];
    part.center += (m->body_mass[b] / part.mass) * (center - part.center);
  }
  return part;
}

SensedSnake::Base base_of(const SnakeDescription& snake, const SnakeController& controller) {
  if (snake.base != SnakeBase::Free) return SensedSnake::Base::Known;
  return controller.pose_need() == PoseNeed::None ? SensedSnake::Base::Unknown
                                                  : SensedSnake::Base::Measured;
}

}  // namespace

SnakeBinding::Memory::Memory(const InstanceContext& context, const SnakeDescription& snake,
                             const SnakeController& controller)
    : torque(layout.vector(snake.joints)) {
  if (!sees_sensors(context)) return;
  sensed = layout.part(SensedSnake::Memory(snake.joints, base_of(snake, controller)).layout);
  truth = layout.part(controller.memory_layout());
}

std::unique_ptr<SnakeController> SnakeBinding::make_controller(const InstanceContext& context,
                                                               const SnakeDescription& snake,
                                                               SceneQuery& scene) {
  const auto* const make = context.kind.make.of<SnakeContext>();
  if (make == nullptr) return nullptr;
  const auto [center, height] = start_of(context, snake);
  auto controller = (*make)({.link_lengths = snake.link_lengths,
                             .joint_limit = snake.joint_limit,
                             .radius = snake.radius,
                             .is_free = snake.base == SnakeBase::Free,
                             .settings = context.settings,
                             .timestep = context.model->opt.timestep,
                             .feed_limit = snake.feed_limit,
                             .name = snake.name,
                             .start_center = center,
                             .ground_height = height,
                             .scene = scene});
  require_joint_commands(context, "joint_command", snake.joint_motors, controller->commands());
  return controller;
}

SnakeBinding::SnakeBinding(const InstanceContext& context, const SnakeDescription& snake,
                           std::unique_ptr<SnakeController> controller, const ModelScene& scene)
    : BindingOf(context, std::move(controller), SnakeMeasurement(snake.joints),
                sees_sensors(context)),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      tail_site_(context.require(mjOBJ_SITE, names::kTail)),
      tip_site_(context.require(mjOBJ_SITE, names::kTip)),
      target_mocap_(-1),
      joint_limit_(snake.joint_limit),
      length_(std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), 0.0)),
      base_links_(snake.base != SnakeBase::Free ? 0.0 : snake.joints / snake.link_count()),
      has_carriage_(snake.base == SnakeBase::Carriage),
      gravity_(compensated_gravity(context.model, true)),
      memory_(context, snake, *controller_) {
  layout_ = memory_.layout;
  for (int j = 1; j <= snake.joints; ++j)
    joints_.push_back(bind_joint(context, names::snake_joint(j), actuators_));
  if (has_carriage_) joints_.push_back(bind_joint(context, names::kFeed, actuators_));
  require_no_more_joints(context, joints_);
  states_.resize(joints_.size());
  seen_states_ = states_;
  target_mocap_ = scene.target_mocap();
  if (sees_sensors(context)) bind_sensors(context, snake);
}

void SnakeBinding::bind_sensors(const InstanceContext& context, const SnakeDescription& snake) {
  const mjModel* m = context.model;
  const auto refuse = [](const std::string& what) {
    throw ModelError("measured = sensors: " + what + ": must be \"truth\"");
  };
  SensedSnake::Parameters parameters;
  parameters.base = base_of(snake, *controller_);
  if (parameters.base == SensedSnake::Base::Measured) {
    if (controller_->pose_need() == PoseNeed::OnPole)
      refuse(context.kind.name + " works by the height on a pole, of which no sensor tells");
    if (snake.medium) refuse("the snake swims: it has no ground that tells how it moves");
  } else if (parameters.base == SensedSnake::Base::Known && !standing_orientation(m, base_body_)) {
    refuse("its base moves");
  }
  parameters.link_lengths = snake.link_lengths;
  for (std::size_t k = 0; k < snake.link_lengths.size(); ++k) {
    const int body = k == 0 ? base_body_ : joints_[k - 1].body;
    // Two joints of a universal joint move one link; a base that stands has no weight.
    const RigidPart part = rigid_part(m, body);
    parameters.link_masses.push_back(snake.link_lengths[k] > 0.0 ? part.mass : 0.0);
    parameters.link_centers.push_back(part.center);
  }
  parameters.radius = snake.radius;
  parameters.joint_limit = snake.joint_limit;
  parameters.friction_along = snake.scales ? snake.scales->along : snake.friction;
  parameters.friction_across = snake.scales ? snake.scales->across : snake.friction;
  parameters.gravity = gravity_;
  parameters.timestep = m->opt.timestep;
  parameters.observations = observations(snake, m->opt.timestep);
  sensed_.emplace(std::move(parameters));
}

void SnakeBinding::measure_gravity(std::span<const JointState> states,
                                   SnakeMeasurement& out) const noexcept {
  for (Eigen::Index j = 0; j < out.q.size(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    out.gravity_torque[j] = gravity_load(states[i], 1.0, joints_[i].mass * gravity_, false);
  }
}

bool SnakeBinding::sense(const Sensed& sensed, SnakeMeasurement& seen) noexcept {
  if (!sensed_) return false;
  if (has_carriage_) seen_states_.back() = states_.back();  // its motor has an encoder
  sensed_->sense(sensed.readings, sensed.arrived, memory_.sensed(sensed.next_own), seen,
                 std::span(seen_states_).first(static_cast<std::size_t>(seen.q.size())));
  measure_gravity(seen_states_, seen);
  return true;
}

bool SnakeBinding::measure(const mjModel* m, const mjData* d,
                           std::span<const double> own) noexcept {
  SnakeMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t j = 0; j < joints_.size(); ++j) joints_[j].read(d, states_[j]);
  joint_margin_ = joint_limit_;
  double upright = base_links_ * d->xmat[9 * base_body_ + 8];
  for (Eigen::Index j = 0; j < out.q.size(); ++j) {
    const double q = states_[static_cast<std::size_t>(j)].position;
    out.q[j] = q;
    out.q_rate[j] = states_[static_cast<std::size_t>(j)].velocity;
    joint_margin_ = std::min(joint_margin_, joint_limit_ - std::abs(q));
    upright += d->xmat[9 * joints_[static_cast<std::size_t>(j)].body + 8];
  }
  measure_gravity(states_, out);
  out.torque = memory_.torque(own);
  out.upright = upright / (static_cast<double>(out.q.size()) + base_links_);
  if (has_carriage_) out.feed = states_.back().position;
  const auto site = [&](int id, Eigen::Isometry3d& X) {
    X.translation() = ConstVector3(d->site_xpos + 3 * id);
    X.linear() = ConstMatrix3(d->site_xmat + 9 * id);
  };
  site(tail_site_, out.X_WT);
  site(tip_site_, out.X_WE);
  out.center_of_mass = ConstVector3(d->subtree_com + 3 * base_body_);
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) out.p_WG = ConstVector3(d->mocap_pos + 3 * target_mocap_);
  return out.q.allFinite() && out.X_WE.matrix().allFinite();
}

void SnakeBinding::forget_command() noexcept {
  if (controller_->commands() == CommandKind::Setpoints)
    command_.q.setZero();
  else
    command_.q = sensed_ ? seen().q : measurement_.q;
  command_.torque.setZero();
  command_.q_rate.setZero();
  command_.feed = command_.feed_rate = command_.gravity_factor = 0.0;
}

bool SnakeBinding::command_is_finite() const noexcept {
  return command_.q.allFinite() && command_.q_rate.allFinite() && command_.torque.allFinite() &&
         std::isfinite(command_.feed) && std::isfinite(command_.feed_rate) &&
         std::isfinite(command_.gravity_factor);
}

void SnakeBinding::setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept {
  const bool torques = controller_->commands() != CommandKind::Setpoints;
  const auto hinges = static_cast<std::size_t>(command_.q.size());
  const std::vector<JointState>& states = sensed_ ? seen_states_ : states_;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const BoundJoint& joint = joints_[j];
    const bool is_feed = j == hinges;
    const double desired = is_feed ? command_.feed : command_.q[static_cast<Eigen::Index>(j)];
    const double rate =
        is_feed ? command_.feed_rate : command_.q_rate[static_cast<Eigen::Index>(j)];
    const double load = gravity_load(states[j], 1.0, joint.mass * gravity_, joint.is_slide);
    setpoints[j] = torques && !is_feed
                       ? std::clamp(command_.torque[static_cast<Eigen::Index>(j)],
                                    joint.servo.min_force, joint.servo.max_force)
                       : joint.servo.setpoint(desired, rate, command_.gravity_factor * load);
    if (is_feed) continue;
    const double torque = joint.servo.force(setpoints[j], states[j].position, states[j].velocity);
    memory_.torque(next_own)[static_cast<Eigen::Index>(j)] = std::isfinite(torque) ? torque : 0.0;
  }
}

FollowingError SnakeBinding::following_error(int last_touched) const noexcept {
  const auto hinges = static_cast<std::size_t>(command_.q.size());
  FollowingError error;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double desired = j == hinges ? command_.feed
                                       : std::clamp(command_.q[static_cast<Eigen::Index>(j)],
                                                    -joint_limit_, joint_limit_);
    add_joint(error, joints_[j], states_[j], desired, last_touched);
  }
  return error;
}

void SnakeBinding::common_values(const ControllerReport& report, double* out) const noexcept {
  out = std::copy_n(report.target.data(), 3, out);
  out = std::copy_n(command_.q.data(), command_.q.size(), out);
  out = std::copy_n(seen().q.data(), seen().q.size(), out);
  out = std::copy_n(seen().X_WE.translation().data(), 3, out);
  *out++ = joint_margin_;
  *out = measurement_.upright;
}

void SnakeBinding::copy_scratch(const RobotBinding& other) noexcept {
  const auto& source = static_cast<const SnakeBinding&>(other);
  measurement_ = source.measurement_;
  copy_seen(source);
  command_ = source.command_;
  joint_margin_ = source.joint_margin_;
}

void SnakeBinding::draw(const mjData* /*d*/, std::span<const double> memory,
                        const ControllerReport& report, mjvScene* scene) const {
  constexpr float kGoalColor[4] = {0.95f, 0.35f, 0.15f, 0.9f};
  constexpr double kGoalRadius = 0.03;
  constexpr float kPathColor[4] = {0.95f, 0.55f, 0.15f, 0.8f};
  constexpr double kPathRadius = 0.003;
  std::array<Eigen::Vector3d, 64> points;
  const int count = controller_->path(measurement_, memory, points);
  if (count > 1) {
    draw_line(scene, std::span(points).first(static_cast<std::size_t>(count)), kPathRadius,
              kPathColor);
  } else if (report.status == ControllerStatus::Working && !report.target.isZero()) {
    draw_sphere(scene, report.target, kGoalRadius, kGoalColor);
  }
}

const RobotBinder& snake_binder() noexcept { return kBinder<SnakeBinding>; }

}  // namespace tendril
