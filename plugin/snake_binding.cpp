#include "plugin/snake_binding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "binding/snake_controllers.hpp"
#include "plugin/bind_robot.hpp"
#include "plugin/bound_mechanism.hpp"
#include "plugin/drawing.hpp"
#include "plugin/joint_binding.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// What the sensors tell of the pose; nothing: the controller sees the truth.
std::optional<SensedSnake::Base> sensed_base(const InstanceContext& context,
                                             const SnakeDescription& snake,
                                             const SnakeController& controller) {
  if (!sees_sensors(context)) return std::nullopt;
  return SnakeLoop::base_of(snake, controller);
}

}  // namespace

SnakeBinding::Memory::Memory(const InstanceContext& context, const SnakeDescription& snake,
                             const SnakeController& controller)
    : loop(layout.part(
          SnakeLoop::Memory(snake.joints, sensed_base(context, snake, controller)).layout)) {
  if (sees_sensors(context)) truth = layout.part(controller.memory_layout());
}

std::unique_ptr<SnakeController> SnakeBinding::make_controller(const InstanceContext& context,
                                                               const SnakeDescription& snake,
                                                               SceneQuery& scene) {
  const mjModel* m = context.model;
  const int base = context.require(mjOBJ_BODY, names::kBase);
  const mjtNum* q = m->body_quat + 4 * base;
  const Eigen::Isometry3d X_WB = Eigen::Translation3d(ConstVector3(m->body_pos + 3 * base)) *
                                 Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
  return make_snake_controller(context.kind, context.settings, snake, m->opt.timestep, X_WB, scene);
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
      gravity_(compensated_gravity(context.model, true)),
      memory_(context, snake, *controller_) {
  layout_ = memory_.layout;
  const mjModel* m = context.model;
  const Mechanism mechanism = bound_mechanism(m, context.names);
  loop_ = std::make_unique<SnakeLoop>(mechanism, snake, controller_->commands(), gravity_,
                                      sensed_base(context, snake, *controller_));
  joints_ = addresses_of(m, mechanism, loop_->joints(), actuators_);
  require_no_more_joints(context, joints_);
  states_.resize(joints_.size());
  seen_states_ = states_;
  target_mocap_ = scene.target_mocap();
  if (!sees_sensors(context)) return;
  if (snake.base != SnakeBase::Free && !standing_orientation(m, base_body_))
    throw ModelError("measured = sensors: its base moves: must be \"truth\"");
  loop_->use_sensors(mechanism, snake, *controller_, context.kind.name);
}

bool SnakeBinding::sense(const Sensed& sensed, SnakeMeasurement& seen) noexcept {
  if (!loop_->is_sensed()) return false;
  seen_states_.back() = states_.back();  // the motor of a carriage has an encoder
  loop_->sense(sensed.readings, sensed.arrived, memory_.loop(sensed.next_own), seen, seen_states_);
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
    joint_margin_ = std::min(joint_margin_, joint_limit_ - std::abs(q));
    upright += d->xmat[9 * joints_[static_cast<std::size_t>(j)].body + 8];
  }
  loop_->measure(states_, memory_.loop(own), out);
  out.upright = upright / (static_cast<double>(out.q.size()) + base_links_);
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
  forget(command_, controller_->commands(), loop_->is_sensed() ? seen() : measurement_);
}

bool SnakeBinding::command_is_finite() const noexcept { return is_finite(command_); }

void SnakeBinding::setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept {
  loop_->setpoints(loop_->is_sensed() ? seen_states_ : states_, command_, memory_.loop(next_own),
                   setpoints);
}

int SnakeBinding::drive_reading_count() const noexcept {
  return static_cast<int>(loop_->drive_readings().size());
}

void SnakeBinding::exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                            std::span<double> drives, std::span<double> setpoints,
                            ControllerReport& report) noexcept {
  if (!drives.empty()) {
    drives[0] = states_.back().position;
    drives[1] = states_.back().velocity;
  }
  Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();
  if (target_mocap_ >= 0) {
    X_BG.translation() = measurement_.p_WG;
    if (base_links_ == 0.0) read_mocap_pose(d, target_mocap_, base_body_, X_BG);
  }
  remote.exchange({.time = d->time,
                   .readings = sensed.readings,
                   .arrived = sensed.arrived,
                   .drives = drives,
                   .target = target_mocap_ >= 0 ? &X_BG : nullptr},
                  setpoints);
  const RemoteControl::Known known = remote.known();
  if (!take_known(known, report)) {
    forget(command_, CommandKind::Moments, measurement_);  // where it is
    command_.feed = measurement_.feed;
  }
  if (!known.model_is_seen) judge(sensed, report);
  loop_->keep(states_, setpoints, memory_.loop(sensed.next_own));
}

FollowingError SnakeBinding::following_error(int last_touched) const noexcept {
  const auto hinges = static_cast<std::size_t>(command_.q.size());
  FollowingError error;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double desired = j == hinges ? command_.feed
                                       : std::clamp(command_.q[static_cast<Eigen::Index>(j)],
                                                    -joint_limit_, joint_limit_);
    add_joint(error, joints_[j], loop_->joints()[j].is_slide, states_[j], desired, last_touched);
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
