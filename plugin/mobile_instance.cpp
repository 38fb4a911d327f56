#include "plugin/mobile_instance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_model.hpp"
#include "tendril/robot_file/mobile_model.hpp"

namespace tendril {
namespace {

Settings read_settings(const mjModel* m, int instance, const MobileControllerKind& kind) {
  return read_settings(m, instance, kind.settings, kCommonMobileSettings);
}

MobileDescription read_mobile(const Settings& settings) {
  const std::string_view text = settings.text("robot");
  if (text.empty()) throw ModelError("robot: missing: must be the text of a robot file");
  MobileDescription robot = parse_mobile(text, "robot");
  if (robot.mounted) robot.mounted->text = settings.text("arm");
  return robot;
}

int joint_count(const MobileDescription& robot) {
  return robot.mounted ? 0 : robot.kinematics().joint_count();
}

/// The scene's obstacles, if the controller has the setting `avoidance` and it is on.
std::optional<SceneObstacles> read_obstacles(const mjModel* m, const std::string& prefix,
                                             const Settings& settings) {
  if (!settings.boolean("avoidance", false)) return std::nullopt;
  const int base = mj_name2id(m, mjOBJ_BODY, (prefix + names::kBase).c_str());
  if (base < 0) return std::nullopt;  // told where the bodies are bound
  // The base is only a frame on the floor: it may stand in anything.
  constexpr double kNoBody = -std::numeric_limits<double>::infinity();
  return SceneObstacles(m, base, settings.text("obstacles"), kNoBody);
}

/// The robot with joint ranges that are smaller by the setting `limit_margin` at either end.
MobileRobot robot_with_margin(const MobileDescription& description, const Settings& settings) {
  constexpr double kDefault = 0.002, kLargest = 0.5;  // [rad]
  const double margin = settings.number("limit_margin", kDefault, {.low = 0.0, .high = kLargest});
  MobileRobotParameters parameters = description.parameters;
  const auto shrink = [margin](JointLimits& limits) {
    if (limits.max - limits.min <= 2.0 * margin)
      throw ModelError("limit_margin: must leave something of every joint's range");
    limits.min += margin;
    limits.max -= margin;
  };
  shrink(parameters.yaw);
  for (ArmLink& link : parameters.links) shrink(link.limits);
  shrink(parameters.roll);
  return MobileRobot(parameters);
}

std::unique_ptr<MobileController> make_controller(const MobileControllerKind& kind,
                                                  const MobileDescription& description,
                                                  const Settings& settings, double timestep,
                                                  const std::optional<SceneObstacles>& obstacles) {
  if (description.mounted) {
    if (kind.carry == nullptr)
      throw ModelError(
          "robot: its arm is a continuum arm: use a controller such as tendril.base_placement");
    const MobileContinuum robot = description.continuum();
    return kind.carry({.robot = robot,
                       .limits = description.speeds,
                       .platform_length = description.parameters.platform_length,
                       .platform_width = description.parameters.platform_width,
                       .settings = settings,
                       .timestep = timestep});
  }
  if (kind.make == nullptr)
    throw ModelError("robot: its arm is one of joints: use a controller such as tendril.mobile");
  const MobileRobot robot = robot_with_margin(description, settings);
  const std::vector<BodyCapsule> capsules = description.capsules();
  return kind.make({.robot = robot,
                    .limits = description.speeds,
                    .capsules = capsules,
                    .settings = settings,
                    .timestep = timestep,
                    .obstacles = obstacles ? &obstacles->obstacles() : nullptr});
}

}  // namespace

int MobileInstance::state_size(const mjModel* m, int instance, const MobileControllerKind& kind) {
  const Settings settings = read_settings(m, instance, kind);
  const auto obstacles = read_obstacles(m, instance_prefix(m, instance), settings);
  const auto controller =
      make_controller(kind, read_mobile(settings), settings, m->opt.timestep, obstacles);
  return controller->memory_size() + 1;
}

int MobileInstance::sensor_dimension(const mjModel* m, int instance, int sensor,
                                     const MobileControllerKind& kind) {
  switch (quantity_of(sensor_quantity_name(m, instance, sensor))) {
    case Quantity::Command:
    case Quantity::Measured:
      return joint_count(read_mobile(read_settings(m, instance, kind))) + 3;
    default:
      return 1;
  }
}

MobileInstance::MobileInstance(const mjModel* m, int instance, const MobileControllerKind& kind)
    : state_address_(m->plugin_stateadr[instance]), measurement_(0), command_(0) {
  const Settings settings = read_settings(m, instance, kind);
  const MobileDescription description = read_mobile(settings);
  const int joints = joint_count(description);
  for (int j = 0; j < joints; ++j) limits_.push_back(description.kinematics().joint_limits(j));
  speeds_ = description.speeds;
  gravity_compensation_ = settings.boolean("gravity_compensation", true);
  velocity_feed_forward_ = settings.boolean("velocity_feed_forward", true);

  const std::string prefix = instance_prefix(m, instance);
  const auto require = [&](mjtObj type, const std::string& name) {
    return require_element(m, type, prefix + name);
  };
  const auto bind = [&](const std::string& name) -> Joint {
    const int joint = require(mjOBJ_JOINT, name);
    return {joint, m->jnt_qposadr[joint], m->jnt_dofadr[joint], m->jnt_bodyid[joint],
            require(mjOBJ_ACTUATOR, name)};
  };
  base_body_ = require(mjOBJ_BODY, names::kBase);
  tip_site_ = require(mjOBJ_SITE, description.mounted ? std::string(names::kArm) + "_" + names::kTip
                                                      : std::string(names::kTip));
  x_ = bind(names::kPlatformX);
  y_ = bind(names::kPlatformY);
  heading_ = bind(names::kHeading);
  for (int j = 1; j <= joints; ++j) joints_.push_back(bind(names::arm_joint(j)));
  const std::string_view target = target_name(settings, kind.settings);
  if (!target.empty()) target_mocap_ = target_mocap(m, target);

  obstacles_ = read_obstacles(m, prefix, settings);
  controller_ = make_controller(kind, description, settings, m->opt.timestep, obstacles_);
  measurement_ = MobileMeasurement(joints);
  command_ = MobileCommand(joints);
  next_state_.assign(static_cast<std::size_t>(controller_->memory_size()) + 1, 0.0);
  if (m->plugin_statenum[instance] != static_cast<int>(next_state_.size())) {
    throw ModelError(
        "the model was compiled with another configuration of this controller: compile it again");
  }
  for (int i = 0; i < m->nsensor; ++i) {
    if (m->sensor_type[i] != mjSENS_PLUGIN || m->sensor_plugin[i] != instance) continue;
    sensors_.push_back({quantity_of(sensor_quantity_name(m, instance, i)), m->sensor_adr[i]});
  }
}

void MobileInstance::reset(mjtNum* plugin_state) noexcept {
  fault_told_ = false;
  report_ = {};
  std::fill(next_state_.begin(), next_state_.end(), 0.0);
  controller_->reset(std::span(next_state_).first(memory_size()));
  std::copy(next_state_.begin(), next_state_.end(), plugin_state);
}

void MobileInstance::copy_scratch(const PluginInstance& other) noexcept {
  const auto& source = static_cast<const MobileInstance&>(other);
  fault_told_ = source.fault_told_;
  measurement_ = source.measurement_;
  if (obstacles_) measurement_.obstacles = &obstacles_->obstacles();
  command_ = source.command_;
  report_ = source.report_;
  joint_margin_ = source.joint_margin_;
  speed_use_ = source.speed_use_;
  std::copy(source.next_state_.begin(), source.next_state_.end(), next_state_.begin());
}

void MobileInstance::keep_state(const mjData* d) noexcept {
  std::copy_n(d->plugin_state + state_address_, next_state_.size(), next_state_.begin());
}

bool MobileInstance::set_fault(const mjData* d) noexcept {
  keep_state(d);
  next_state_.back() = 1.0;
  command_.base = command_.base_rate = {};  // may hold the NaN that was the fault
  command_.q.setZero();
  command_.q_rate.setZero();
  report_ = {};
  report_.status = ControllerStatus::Fault;
  return !std::exchange(fault_told_, true);
}

void MobileInstance::measure(const mjModel* m, const mjData* d) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  MobileMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  out.base = {d->qpos[x_.qpos], d->qpos[y_.qpos], d->qpos[heading_.qpos]};
  out.base_velocity = {d->qvel[x_.dof], d->qvel[y_.dof], d->qvel[heading_.dof]};
  joint_margin_ = joints_.empty() ? 0.0 : std::numeric_limits<double>::infinity();
  double joint_speed = 0.0;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double q = d->qpos[joints_[j].qpos], speed = d->qvel[joints_[j].dof];
    const JointLimits& limits = limits_[j];
    out.q[static_cast<Eigen::Index>(j)] = q;
    out.q_velocity[static_cast<Eigen::Index>(j)] = speed;
    joint_margin_ = std::min({joint_margin_, q - limits.min, limits.max - q});
    joint_speed = std::max(joint_speed, std::abs(speed));
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
  if (out.has_target) {
    const ConstVector3 p_WG(d->mocap_pos + 3 * target_mocap_);
    const mjtNum* q = d->mocap_quat + 4 * target_mocap_;
    out.X_WG.translation().noalias() = R_WB.transpose() * (p_WG - p_WB);
    out.X_WG.linear().noalias() =
        R_WB.transpose() *
        Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  }
}

/// Setpoint of a position servo: `desired`, the lead by its lag times the rate, and the angle at
/// which it carries the weight of what the joint moves.
void MobileInstance::drive(const mjModel* m, mjData* d, const Joint& joint, double desired,
                           double rate, bool carries_weight) const noexcept {
  const double gain = m->actuator_gainprm[joint.actuator * mjNGAIN];
  const double damping =
      m->dof_damping[joint.dof] - m->actuator_biasprm[joint.actuator * mjNBIAS + 2];
  double setpoint = desired;
  if (velocity_feed_forward_) setpoint += damping / gain * rate;
  if (carries_weight && gravity_compensation_ && !(m->opt.disableflags & mjDSBL_GRAVITY)) {
    const ConstVector3 axis(d->xaxis + 3 * joint.joint);
    const ConstVector3 anchor(d->xanchor + 3 * joint.joint);
    const ConstVector3 com(d->subtree_com + 3 * joint.body);
    const ConstVector3 gravity(m->opt.gravity);
    const double torque = m->body_subtreemass[joint.body] * axis.dot((com - anchor).cross(gravity));
    setpoint -= torque / gain;
  }
  d->ctrl[m->actuator_ctrladr[joint.actuator]] = setpoint;
}

void MobileInstance::compute(const mjModel* m, mjData* d) {
  keep_state(d);
  report_ = {};
  if (next_state_.back() != 0.0) {
    report_.status = ControllerStatus::Fault;
    return;
  }
  measure(m, d);
  if (!measurement_.q.allFinite() || !measurement_.X_WE.matrix().allFinite())
    return;  // diverged: the engine's own checks say so
  command_.base = measurement_.base;
  command_.base_rate = {};
  command_.q = measurement_.q;
  command_.q_rate.setZero();
  controller_->update(measurement_, memory(d), std::span(next_state_).first(memory_size()),
                      command_, report_);
  const PlatformPose &base = command_.base, &rate = command_.base_rate;
  for (const double value : {base.x, base.y, base.heading, rate.x, rate.y, rate.heading,
                             command_.q.sum(), command_.q_rate.sum()}) {
    if (!std::isfinite(value)) throw std::runtime_error("the controller's command is not finite");
  }
  drive(m, d, x_, base.x, rate.x, false);
  drive(m, d, y_, base.y, rate.y, false);
  drive(m, d, heading_, base.heading, rate.heading, false);
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const auto k = static_cast<Eigen::Index>(j);
    drive(m, d, joints_[j], command_.q[k], command_.q_rate[k], true);
  }
}

void MobileInstance::advance(const mjModel*, mjData* d) noexcept {
  std::copy(next_state_.begin(), next_state_.end(), d->plugin_state + state_address_);
}

MobileInstance::Quantity MobileInstance::quantity_of(std::string_view name) noexcept {
  if (name == "status") return Quantity::Status;
  if (name == "reason") return Quantity::Reason;
  if (name == "iterations") return Quantity::Iterations;
  if (name == "tip_error") return Quantity::TipError;
  if (name == "angle_error") return Quantity::AngleError;
  if (name == "arrivals") return Quantity::Arrivals;
  if (name == "settled_error") return Quantity::SettledError;
  if (name == "settled_angle") return Quantity::SettledAngleError;
  if (name == "joint_margin") return Quantity::JointMargin;
  if (name == "speed_use") return Quantity::SpeedUse;
  if (name == "base_travel") return Quantity::BaseTravel;
  if (name == "branch_switches") return Quantity::BranchSwitches;
  if (name == "searches") return Quantity::Searches;
  if (name == "clearance") return Quantity::Clearance;
  if (name == "command") return Quantity::Command;
  if (name == "measured") return Quantity::Measured;
  return Quantity::Unknown;
}

double MobileInstance::quantity(Quantity quantity) const noexcept {
  switch (quantity) {
    case Quantity::Status:
      return static_cast<double>(report_.status);
    case Quantity::Reason:
      return static_cast<double>(report_.reason);
    case Quantity::Iterations:
      return report_.iterations;
    case Quantity::TipError:
      return report_.tip_error;
    case Quantity::AngleError:
      return report_.angle_error;
    case Quantity::Arrivals:
      return report_.arrivals;
    case Quantity::SettledError:
      return report_.settled_error;
    case Quantity::SettledAngleError:
      return report_.settled_angle_error;
    case Quantity::JointMargin:
      return joint_margin_;
    case Quantity::SpeedUse:
      return speed_use_;
    case Quantity::BaseTravel:
      return report_.base_travel;
    case Quantity::BranchSwitches:
      return report_.branch_switches;
    case Quantity::Searches:
      return report_.searches;
    case Quantity::Clearance:
      return report_.clearance;
    case Quantity::Command:
    case Quantity::Measured:
    case Quantity::Unknown:
      break;
  }
  return 0.0;
}

void MobileInstance::write_sensors(const mjModel*, mjData* d) const noexcept {
  for (const Sensor& sensor : sensors_) {
    mjtNum* out = d->sensordata + sensor.address;
    const bool command = sensor.quantity == Quantity::Command;
    if (!command && sensor.quantity != Quantity::Measured) {
      *out = quantity(sensor.quantity);
      continue;
    }
    const PlatformPose& base = command ? command_.base : measurement_.base;
    const Eigen::VectorXd& q = command ? command_.q : measurement_.q;
    out[0] = base.x;
    out[1] = base.y;
    out[2] = base.heading;
    std::copy_n(q.data(), q.size(), out + 3);
  }
}

void MobileInstance::visualize(const mjModel*, mjData* d, mjvScene* scene) const {
  constexpr float kColour[4] = {0.95f, 0.35f, 0.15f, 0.7f};
  constexpr double kRadius = 0.004, kShortest = 0.01;  // [m]
  if (target_mocap_ < 0) return;
  const Eigen::Vector3d ends[2] = {ConstVector3(d->site_xpos + 3 * tip_site_),
                                   ConstVector3(d->mocap_pos + 3 * target_mocap_)};
  if ((ends[1] - ends[0]).norm() > kShortest) draw_line(scene, ends, kRadius, kColour);
}

}  // namespace tendril
