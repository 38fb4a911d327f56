#include "plugin/joint_binding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "plugin/drawing.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

BoundJoint bind_joint(const InstanceContext& context, const std::string& name,
                      std::vector<int>& actuators) {
  const mjModel* m = context.model;
  const JointAddress address = joint_address(context, name);
  const int actuator = context.require(mjOBJ_ACTUATOR, name);
  actuators.push_back(actuator);
  return {address, servo_of(m, actuator, m->dof_damping[address.dof]),
          weighing_mass(m, address.body), m->jnt_type[address.joint] == mjJNT_SLIDE};
}

void add_joint(FollowingError& error, const BoundJoint& joint, const JointState& state,
               double desired, int last_touched) noexcept {
  error.add(std::abs(desired - state.position), joint.is_slide, joint.body > last_touched);
}

}  // namespace

// ---- snakes

SnakeBinding::SnakeBinding(const InstanceContext& context, const SnakeDescription& snake,
                           std::unique_ptr<SnakeController> controller, const ModelScene& scene)
    : BindingOf(context, std::move(controller), SnakeMeasurement(snake.joints)),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      tail_site_(context.require(mjOBJ_SITE, names::kTail)),
      tip_site_(context.require(mjOBJ_SITE, names::kTip)),
      target_mocap_(-1),
      joint_limit_(snake.joint_limit),
      length_(std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), 0.0)),
      is_free_(snake.base == SnakeBase::Free),
      gravity_(compensated_gravity(context.model, true)),
      memory_(snake) {
  layout_ = memory_.layout;
  for (int j = 1; j <= snake.joints; ++j)
    joints_.push_back(bind_joint(context, names::snake_joint(j), actuators_));
  if (!is_free_) joints_.push_back(bind_joint(context, names::kFeed, actuators_));
  states_.resize(joints_.size());
  target_mocap_ = scene.target_mocap();
}

bool SnakeBinding::measure(const mjModel* m, const mjData* d,
                           std::span<const double> own) noexcept {
  SnakeMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t j = 0; j < joints_.size(); ++j) joints_[j].read(d, states_[j]);
  joint_margin_ = joint_limit_;
  double upright = is_free_ ? d->xmat[9 * base_body_ + 8] : 0.0;
  for (Eigen::Index j = 0; j < out.q.size(); ++j) {
    const double q = states_[static_cast<std::size_t>(j)].position;
    out.q[j] = q;
    out.q_rate[j] = states_[static_cast<std::size_t>(j)].velocity;
    out.gravity_torque[j] =
        gravity_load(states_[static_cast<std::size_t>(j)], 1.0,
                     joints_[static_cast<std::size_t>(j)].mass * gravity_, false);
    joint_margin_ = std::min(joint_margin_, joint_limit_ - std::abs(q));
    upright += d->xmat[9 * joints_[static_cast<std::size_t>(j)].body + 8];
  }
  out.torque = memory_.torque(own);
  out.upright = upright / static_cast<double>(out.q.size() + (is_free_ ? 1 : 0));
  if (!is_free_) out.feed = states_.back().position;
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
    command_.q = measurement_.q;
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
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const BoundJoint& joint = joints_[j];
    const bool is_feed = j == hinges;
    const double desired = is_feed ? command_.feed : command_.q[static_cast<Eigen::Index>(j)];
    const double rate =
        is_feed ? command_.feed_rate : command_.q_rate[static_cast<Eigen::Index>(j)];
    const double load = gravity_load(states_[j], 1.0, joint.mass * gravity_, joint.is_slide);
    setpoints[j] = torques && !is_feed
                       ? std::clamp(command_.torque[static_cast<Eigen::Index>(j)],
                                    joint.servo.min_force, joint.servo.max_force)
                       : joint.servo.setpoint(desired, rate, command_.gravity_factor * load);
    if (is_feed) continue;
    const double torque = joint.servo.force(setpoints[j], states_[j].position, states_[j].velocity);
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

// ---- mobile robots

MobileBinding::MobileBinding(const InstanceContext& context, const MobileDescription& description,
                             std::unique_ptr<MobileController> controller, ModelScene& scene)
    : BindingOf(context, std::move(controller), MobileMeasurement(sizes(description))),
      speeds_(description.speeds),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      tip_site_(context.require(mjOBJ_SITE, description.mounted
                                                ? std::string(names::kArm) + "_" + names::kTip
                                                : std::string(names::kTip))),
      target_mocap_(-1),
      obstacles_(scene.release_obstacles()),
      velocity_feed_forward_(context.settings.flag("velocity_feed_forward")),
      gravity_(compensated_gravity(context.model, context.settings.flag("gravity_compensation"))) {
  const int joints = sizes(description).n;
  for (int j = 0; j < joints; ++j) limits_.push_back(description.kinematics().joint_limits(j));
  for (const char* name : {names::kPlatformX, names::kPlatformY, names::kHeading})
    joints_.push_back(bind_joint(context, name, actuators_));
  for (int j = 1; j <= joints; ++j)
    joints_.push_back(bind_joint(context, names::arm_joint(j), actuators_));
  states_.resize(joints_.size());
  target_mocap_ = scene.target_mocap();
}

bool MobileBinding::measure(const mjModel* m, const mjData* d,
                            std::span<const double> /*own*/) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  MobileMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t j = 0; j < joints_.size(); ++j) joints_[j].read(d, states_[j]);
  out.base = {states_[0].position, states_[1].position, states_[2].position};
  out.base_velocity = {states_[0].velocity, states_[1].velocity, states_[2].velocity};
  joint_margin_ = limits_.empty() ? 0.0 : std::numeric_limits<double>::infinity();
  double joint_speed = 0.0;
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const JointState& state = states_[kPlatform + j];
    out.q[static_cast<Eigen::Index>(j)] = state.position;
    out.q_velocity[static_cast<Eigen::Index>(j)] = state.velocity;
    const BoundJoint& joint = joints_[kPlatform + j];
    out.gravity_torque[static_cast<Eigen::Index>(j)] =
        gravity_load(state, joint.mass, gravity_, joint.is_slide);
    joint_margin_ =
        std::min({joint_margin_, state.position - limits_[j].min, limits_[j].max - state.position});
    joint_speed = std::max(joint_speed, std::abs(state.velocity));
  }
  speed_use_ =
      std::max({std::hypot(out.base_velocity.x, out.base_velocity.y) / speeds_.platform_speed,
                std::abs(out.base_velocity.heading) / speeds_.turn_speed,
                joint_speed / speeds_.joint_speed});

  const ConstVector3 p_WE(d->site_xpos + 3 * tip_site_);
  const ConstMatrix3 R_WE(d->site_xmat + 9 * tip_site_);
  out.X_WE.translation().noalias() = R_WB.transpose() * (p_WE - p_WB);
  out.X_WE.linear().noalias() = R_WB.transpose() * R_WE;
  if (obstacles_) {
    obstacles_->refresh(d);
    out.obstacles = &obstacles_->obstacles();
  }
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) read_mocap_pose(d, target_mocap_, base_body_, out.X_WG);
  return out.q.allFinite() && out.X_WE.matrix().allFinite();
}

bool MobileBinding::command_is_finite() const noexcept {
  const auto finite = [](const PlatformPose& pose) {
    return std::isfinite(pose.x) && std::isfinite(pose.y) && std::isfinite(pose.heading);
  };
  return finite(command_.base) && finite(command_.base_rate) && command_.q.allFinite() &&
         command_.q_rate.allFinite() && command_.torque.allFinite();
}

void MobileBinding::setpoints(std::span<double> /*next_own*/,
                              std::span<double> setpoints) noexcept {
  const PlatformPose &base = command_.base, &rate = command_.base_rate;
  const std::array<double, kPlatform> positions{base.x, base.y, base.heading},
      rates{rate.x, rate.y, rate.heading};
  const double feed_forward = velocity_feed_forward_ ? 1.0 : 0.0;
  const bool torques = controller_->commands() != CommandKind::Setpoints;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const BoundJoint& joint = joints_[j];
    if (j < kPlatform) {
      setpoints[j] = joint.servo.setpoint(positions[j], feed_forward * rates[j], 0.0);
      continue;
    }
    const auto k = static_cast<Eigen::Index>(j - kPlatform);
    setpoints[j] =
        torques ? std::clamp(command_.torque[k], joint.servo.min_force, joint.servo.max_force)
                : joint.servo.setpoint(command_.q[k], feed_forward * command_.q_rate[k],
                                       measurement_.gravity_torque[k]);
  }
}

FollowingError MobileBinding::following_error(int last_touched) const noexcept {
  const std::array<double, kPlatform> positions{command_.base.x, command_.base.y,
                                                command_.base.heading};
  FollowingError error;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double desired =
        j < kPlatform ? positions[j] : command_.q[static_cast<Eigen::Index>(j - kPlatform)];
    add_joint(error, joints_[j], states_[j], desired, last_touched);
  }
  return error;
}

void MobileBinding::forget_command() noexcept {
  command_.base = measurement_.base;
  command_.base_rate = {};
  command_.q = measurement_.q;
  command_.q_rate.setZero();
  command_.torque.setZero();
}

void MobileBinding::common_values(const ControllerReport& /*report*/, double* out) const noexcept {
  const auto configuration = [&out](const PlatformPose& base, const Eigen::VectorXd& q) {
    *out++ = base.x;
    *out++ = base.y;
    *out++ = base.heading;
    out = std::copy_n(q.data(), q.size(), out);
  };
  configuration(command_.base, command_.q);
  configuration(seen().base, seen().q);
  out = std::copy_n(seen().X_WE.translation().data(), 3, out);
  *out++ = joint_margin_;
  *out = speed_use_;
}

void MobileBinding::copy_scratch(const RobotBinding& other) noexcept {
  const auto& source = static_cast<const MobileBinding&>(other);
  measurement_ = source.measurement_;
  if (obstacles_) measurement_.obstacles = &obstacles_->obstacles();
  copy_seen(source);
  command_ = source.command_;
  joint_margin_ = source.joint_margin_;
  speed_use_ = source.speed_use_;
}

void MobileBinding::draw(const mjData* d, std::span<const double> /*memory*/,
                         const ControllerReport& /*report*/, mjvScene* scene) const {
  constexpr float kColor[4] = {0.95f, 0.35f, 0.15f, 0.7f};
  constexpr double kRadius = 0.004, kShortest = 0.01;  // [m]
  if (target_mocap_ < 0) return;
  const Eigen::Vector3d ends[2] = {ConstVector3(d->site_xpos + 3 * tip_site_),
                                   ConstVector3(d->mocap_pos + 3 * target_mocap_)};
  if ((ends[1] - ends[0]).norm() > kShortest) draw_line(scene, ends, kRadius, kColor);
}

}  // namespace tendril
