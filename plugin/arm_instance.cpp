#include "plugin/arm_instance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_model.hpp"
#include "tendril/robot_file/robot_file.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

Settings read_settings(const mjModel* m, int instance, const ControllerKind& kind) {
  return read_settings(m, instance, kind.settings, kCommonArmSettings);
}

RobotDescription read_robot(const Settings& settings) {
  const std::string_view text = settings.text("robot");
  if (text.empty()) throw ModelError("robot: missing: must be the text of a robot file");
  return parse_robot(text, "robot");
}

double largest_radius(const RobotDescription& description) {
  double radius = 0.0;
  for (const SectionPhysics& section : description.physics)
    radius = std::max(radius, section.radius);
  return radius;
}

ControllerContext controller_context(const RobotDescription& description,
                                     const ContinuumRobot& robot, const Settings& settings,
                                     double timestep, double feed_force_limit,
                                     const std::optional<SceneObstacles>& obstacles) {
  ControllerContext context{robot, settings, timestep, feed_force_limit};
  context.guide_length = description.base_physics.guide_length;
  context.guide_clearance = description.base_physics.guide_clearance;
  context.bending_stiffness = description.physics.back().bending_stiffness;
  context.body_radius = largest_radius(description);
  if (obstacles) {
    context.obstacles = &obstacles->obstacles();
    context.moving_obstacles = obstacles->moving_count();
  }
  return context;
}

/// The scene's obstacles, if the controller has the setting `avoidance` and it is on.
std::optional<SceneObstacles> read_obstacles(const mjModel* m, const std::string& prefix,
                                             const Settings& settings,
                                             const RobotDescription& description) {
  if (!settings.boolean("avoidance", false)) return std::nullopt;
  const int base = mj_name2id(m, mjOBJ_BODY, (prefix + names::kBase).c_str());
  if (base < 0) return std::nullopt;  // told where the bodies are bound
  return SceneObstacles(m, base, settings.text("obstacles"), largest_radius(description));
}

}  // namespace

ArmInstance::ArmInstance(const mjModel* m, int instance, const ControllerKind& kind)
    : prefix_(instance_prefix(m, instance)),
      instance_(instance),
      state_address_(m->plugin_stateadr[instance]),
      measurement_(0),
      command_(0) {
  const Settings settings = read_settings(m, instance, kind);
  const RobotDescription description = read_robot(settings);
  robot_ = std::make_unique<ContinuumRobot>(description.kinematics());
  gravity_compensation_ = settings.boolean("gravity_compensation", true);
  velocity_feed_forward_ = settings.boolean("velocity_feed_forward", true);

  base_body_ = require(m, mjOBJ_BODY, names::kBase);
  tip_site_ = require(m, mjOBJ_SITE, names::kTip);
  double root_distance = 0.0;
  for (int i = 0; i < robot_->section_count(); ++i) {
    bind_section(m, description, i, root_distance);
    root_distance += robot_->section(i).length() + robot_->section(i).variable_length() / 2.0;
  }
  guide_length_ = description.base_physics.guide_length;
  if (robot_->base().feed_limit > 0.0) feed_ = bind_base(m, names::kFeed);
  if (robot_->base().spin) spin_ = bind_base(m, names::kSpin);

  const std::string_view target = target_name(settings, kind.settings);
  if (!target.empty()) target_mocap_ = target_mocap(m, target);

  const double infinity = std::numeric_limits<double>::infinity();
  double feed_force_limit = infinity;
  if (feed_.actuator >= 0 && m->actuator_forcelimited[feed_.actuator]) {
    feed_force_limit = m->actuator_forcerange[2 * feed_.actuator + 1];
  }
  obstacles_ = read_obstacles(m, prefix_, settings, description);
  controller_ = kind.make(controller_context(description, *robot_, settings, m->opt.timestep,
                                             feed_force_limit, obstacles_));

  const int n = robot_->coordinate_count();
  measurement_ = ArmMeasurement(n);
  command_ = ArmCommand(n);
  next_state_.assign(static_cast<std::size_t>(controller_->memory_size()) + own_size(*robot_), 0.0);
  if (m->plugin_statenum[instance] != static_cast<int>(next_state_.size())) {
    throw ModelError(
        "the model was compiled with another configuration of this controller: compile it again");
  }
  controller_->reset(next_memory());
  if (controller_->senses_contacts()) bind_contacts(m);
  joint_gravity_.assign(static_cast<std::size_t>(m->njnt), 0.0);
  load_ = Eigen::VectorXd::Zero(n);

  for (int i = 0; i < m->nsensor; ++i) {
    if (m->sensor_type[i] != mjSENS_PLUGIN || m->sensor_plugin[i] != instance) continue;
    sensors_.push_back({quantity_of(sensor_quantity_name(m, instance, i)), m->sensor_adr[i]});
  }
}

int ArmInstance::state_size(const mjModel* m, int instance, const ControllerKind& kind) {
  const Settings settings = read_settings(m, instance, kind);
  const RobotDescription description = read_robot(settings);
  const ContinuumRobot robot = description.kinematics();
  const auto obstacles = read_obstacles(m, instance_prefix(m, instance), settings, description);
  const auto controller =
      kind.make(controller_context(description, robot, settings, m->opt.timestep,
                                   std::numeric_limits<double>::infinity(), obstacles));
  return controller->memory_size() + static_cast<int>(own_size(robot));
}

int ArmInstance::sensor_dimension(const mjModel* m, int instance, int sensor,
                                  const ControllerKind& kind) {
  switch (quantity_of(sensor_quantity_name(m, instance, sensor))) {
    case Quantity::Target:
      return 3;
    case Quantity::Command:
    case Quantity::Measured:
      return read_robot(read_settings(m, instance, kind)).kinematics().coordinate_count();
    default:
      return 1;
  }
}

int ArmInstance::require(const mjModel* m, mjtObj type, const std::string& name) const {
  return require_element(m, type, prefix_ + name);
}

void ArmInstance::bind_section(const mjModel* m, const RobotDescription& description, int i,
                               double start) {
  const Section& section = robot_->section(i);
  const int links = description.physics[static_cast<std::size_t>(i)].links;
  const LinkLayout layout = link_layout(section, links);
  coordinates_.push_back(bind_coordinate(m, i + 1, links, 'y', layout.bend_fraction, 1.0));  // u
  coordinates_.push_back(description.planar
                             ? Coordinate{}  // v: a planar arm has no joints for it
                             : bind_coordinate(m, i + 1, links, 'x', layout.bend_fraction, -1.0));
  if (section.is_extensible()) {
    Coordinate extension = bind_coordinate(m, i + 1, links, 'z', layout.length, 1.0);
    extension.offset = section.variable_length() / 2;
    coordinates_.push_back(std::move(extension));
  }
  const double rest_length = section.length() + section.variable_length() / 2.0;
  for (auto k = static_cast<std::size_t>(robot_->coordinate_index(i)); k < coordinates_.size();
       ++k) {
    std::size_t next = 0;
    for (int j = 0; j < links; ++j) {
      const double length = layout.length[static_cast<std::size_t>(j)] * rest_length;
      auto& joints = coordinates_[k].joints;
      if (next < joints.size() && joints[next].link == j) {
        joints[next].start = start;
        joints[next++].length = length;
      }
      start += length;
    }
    start -= rest_length;
  }
}

ArmInstance::Coordinate ArmInstance::bind_coordinate(const mjModel* m, int section, int links,
                                                     char axis, const std::vector<double>& shares,
                                                     double sign) {
  Coordinate coordinate;
  coordinate.sign = sign;
  coordinate.is_slide = axis == 'z';
  const std::string servo =
      coordinate.is_slide ? names::length(section) : names::bend(section, axis);
  coordinate.actuator = mj_name2id(m, mjOBJ_ACTUATOR, (prefix_ + servo).c_str());
  double compliance = 0.0;
  for (int j = 1; j <= links; ++j) {
    const double share = shares[static_cast<std::size_t>(j - 1)];
    if (share == 0.0) continue;  // a rigid link has no hinges
    const std::string name =
        coordinate.is_slide ? names::slide(section, j) : names::hinge(section, j, axis);
    const int joint = require(m, mjOBJ_JOINT, name);
    const int actuator = coordinate.actuator >= 0 ? -1 : require(m, mjOBJ_ACTUATOR, name);
    coordinate.joints.push_back({joint, m->jnt_qposadr[joint], m->jnt_dofadr[joint],
                                 m->jnt_bodyid[joint], j - 1, share, actuator, 0.0, 0.0});
    compliance += 1.0 / m->jnt_stiffness[joint];
  }
  coordinate.stiffness = compliance > 0.0 ? 1.0 / compliance : 0.0;
  return coordinate;
}

ArmInstance::BaseJoint ArmInstance::bind_base(const mjModel* m, const char* name) const {
  const int joint = require(m, mjOBJ_JOINT, name);
  return {joint, m->jnt_qposadr[joint], m->jnt_dofadr[joint], require(m, mjOBJ_ACTUATOR, name)};
}

/// The joints in the order of the chain, with what drives them.
void ArmInstance::bind_contacts(const mjModel* m) {
  std::vector<DrivenJoint> joints;
  for (int k = 0; k < static_cast<int>(coordinates_.size()); ++k) {
    const Coordinate& coordinate = coordinates_[static_cast<std::size_t>(k)];
    for (const LinkJoint& link : coordinate.joints) {
      const double joint_stiffness = m->jnt_stiffness[link.joint];
      const double own_servo =
          link.actuator >= 0 ? -m->actuator_biasprm[link.actuator * mjNBIAS + 1] : 0.0;
      const double gain =
          link.actuator >= 0
              ? coordinate.sign * link.share * m->actuator_gainprm[link.actuator * mjNGAIN]
              : coordinate.sign * m->actuator_gainprm[coordinate.actuator * mjNGAIN];
      joints.push_back({link.joint, link.dof, link.body, k, link.start, link.length, gain,
                        joint_stiffness + own_servo});
    }
  }
  std::sort(joints.begin(), joints.end(),
            [](const DrivenJoint& a, const DrivenJoint& b) { return a.dof < b.dof; });
  std::vector<DrivenTendon> tendons;
  for (int k = 0; k < static_cast<int>(coordinates_.size()); ++k) {
    const int actuator = coordinates_[static_cast<std::size_t>(k)].actuator;
    if (actuator < 0) continue;
    DrivenTendon tendon{{}, -m->actuator_biasprm[actuator * mjNBIAS + 1]};
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (joints[i].coordinate == k) tendon.joints.push_back(static_cast<int>(i));
    }
    if (tendon.servo_gain > 0.0) tendons.push_back(std::move(tendon));
  }
  contacts_.emplace(m, std::move(joints), std::move(tendons), base_body_, feed_.joint,
                    robot_->coordinate_count(), guide_length_);
}

void ArmInstance::reset(mjtNum* plugin_state) noexcept {
  fault_told_ = false;
  report_ = {};
  std::fill(next_state_.begin(), next_state_.end(), 0.0);
  controller_->reset(next_memory());
  std::copy(next_state_.begin(), next_state_.end(), plugin_state);
}

void ArmInstance::copy_scratch(const PluginInstance& other) noexcept {
  const auto& source = static_cast<const ArmInstance&>(other);
  fault_told_ = source.fault_told_;
  measurement_ = source.measurement_;
  if (obstacles_) measurement_.obstacles = &obstacles_->obstacles();
  command_ = source.command_;
  report_ = source.report_;
  std::copy(source.next_state_.begin(), source.next_state_.end(), next_state_.begin());
}

void ArmInstance::keep_state(const mjData* d) noexcept {
  std::copy_n(d->plugin_state + state_address_, next_state_.size(), next_state_.begin());
}

bool ArmInstance::set_fault(const mjData* d) noexcept {
  keep_state(d);
  next_own(kFault) = 1.0;
  command_.q.setZero();  // may hold the NaN that was the fault
  command_.plan.setZero();
  report_ = {};
  report_.status = ControllerStatus::Fault;
  return !std::exchange(fault_told_, true);
}

void ArmInstance::measure(const mjModel* m, const mjData* d) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  const ConstVector3 p_WE(d->site_xpos + 3 * tip_site_);
  const ConstMatrix3 R_WE(d->site_xmat + 9 * tip_site_);
  const bool has_gravity = gravity_compensation_ && !(m->opt.disableflags & mjDSBL_GRAVITY);
  const Vector3d gravity = has_gravity
                               ? Vector3d(m->opt.gravity[0], m->opt.gravity[1], m->opt.gravity[2])
                               : Vector3d::Zero();

  ArmMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  out.X_BE.translation().noalias() = R_WB.transpose() * (p_WE - p_WB);
  out.X_BE.linear().noalias() = R_WB.transpose() * R_WE;

  // One pass over the joints: coordinate, its tip Jacobian column, gravity load, and the sag that
  // an uneven load causes.
  Vector3d sag = Vector3d::Zero();
  for (int k = 0; k < static_cast<int>(coordinates_.size()); ++k) {
    const Coordinate& coordinate = coordinates_[static_cast<std::size_t>(k)];
    double sum = 0.0, load = 0.0;
    Vector3d move = Vector3d::Zero(), turn = Vector3d::Zero(), loaded_move = Vector3d::Zero();
    for (const LinkJoint& link : coordinate.joints) {
      const ConstVector3 axis(d->xaxis + 3 * link.joint);
      const ConstVector3 anchor(d->xanchor + 3 * link.joint);
      const ConstVector3 com(d->subtree_com + 3 * link.body);
      const double mass = m->body_subtreemass[link.body];
      sum += d->qpos[link.qpos];
      Vector3d tip_rate;
      double g;
      if (coordinate.is_slide) {
        tip_rate = axis;
        g = mass * axis.dot(gravity);
      } else {
        tip_rate = axis.cross(p_WE - anchor);
        turn += link.share * axis;
        g = mass * axis.dot((com - anchor).cross(gravity));
      }
      joint_gravity_[static_cast<std::size_t>(link.joint)] = g;
      load += link.share * g;
      move += link.share * tip_rate;
      loaded_move += (link.share * g) * tip_rate;
    }
    // Deflection of joint i beyond its share: share_i (g_i - mean g) / stiffness. Servos on every
    // joint leave none.
    if (coordinate.actuator >= 0) sag += (loaded_move - load * move) / coordinate.stiffness;
    load_[k] = load;
    out.q[k] = coordinate.sign * sum + coordinate.offset;
    out.tip_jacobian.col(k).head<3>().noalias() = R_WB.transpose() * (coordinate.sign * move);
    out.tip_jacobian.col(k).tail<3>().noalias() = R_WB.transpose() * (coordinate.sign * turn);
  }
  out.sag.noalias() = R_WB.transpose() * sag;

  const int n = robot_->coordinate_count();
  out.base = {};
  if (feed_.joint >= 0) {
    const ConstVector3 axis(d->xaxis + 3 * feed_.joint);
    out.base.feed = d->qpos[feed_.qpos];
    out.tip_jacobian.col(n).head<3>().noalias() = R_WB.transpose() * axis;
    const int a = feed_.actuator;
    const double force = m->actuator_gainprm[a * mjNGAIN] * own(d, kFeedSetpoint) +
                         m->actuator_biasprm[a * mjNBIAS + 1] * d->qpos[feed_.qpos] +
                         m->actuator_biasprm[a * mjNBIAS + 2] * d->qvel[feed_.dof];
    out.feed_force = m->actuator_forcelimited[a] ? std::clamp(force, m->actuator_forcerange[2 * a],
                                                              m->actuator_forcerange[2 * a + 1])
                                                 : force;
  }
  if (spin_.joint >= 0) {
    const ConstVector3 axis(d->xaxis + 3 * spin_.joint);
    const ConstVector3 anchor(d->xanchor + 3 * spin_.joint);
    out.base.spin = d->qpos[spin_.qpos];
    out.tip_jacobian.col(n + 1).head<3>().noalias() = R_WB.transpose() * axis.cross(p_WE - anchor);
    out.tip_jacobian.col(n + 1).tail<3>().noalias() = R_WB.transpose() * axis;
  }
  if (contacts_) {
    contacts_->measure(m, d, tip_site_,
                       std::span(d->plugin_state + state_address_, next_state_.size())
                           .subspan(memory_size() + kCommand),
                       out);
  }
  if (obstacles_) {
    obstacles_->refresh(d);
    out.obstacles = &obstacles_->obstacles();
  }
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) {
    const ConstVector3 p_WG(d->mocap_pos + 3 * target_mocap_);
    const mjtNum* q = d->mocap_quat + 4 * target_mocap_;
    out.X_BG.translation().noalias() = R_WB.transpose() * (p_WG - p_WB);
    out.X_BG.linear().noalias() =
        R_WB.transpose() *
        Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  }
}

ArmInstance::ServoGains ArmInstance::gains(const mjModel* m, int actuator,
                                           double joint_damping) noexcept {
  const double gain = m->actuator_gainprm[actuator * mjNGAIN];
  return {gain, (joint_damping - m->actuator_biasprm[actuator * mjNBIAS + 2]) / gain};
}

double ArmInstance::unsaturated(const mjModel* m, int actuator, double desired, double position,
                                double velocity) noexcept {
  constexpr double kPartOfLimit = 0.98;
  if (!m->actuator_forcelimited[actuator]) return desired;
  const double gain = m->actuator_gainprm[actuator * mjNGAIN];
  const mjtNum* bias = m->actuator_biasprm + actuator * mjNBIAS;
  const double passive = bias[1] * position + bias[2] * velocity;
  const double low = (kPartOfLimit * m->actuator_forcerange[2 * actuator] - passive) / gain;
  const double high = (kPartOfLimit * m->actuator_forcerange[2 * actuator + 1] - passive) / gain;
  return std::clamp(desired, low, high);
}

void ArmInstance::write_controls(const mjModel* m, mjData* d) noexcept {
  const auto set = [&](int actuator, double value) {
    d->ctrl[m->actuator_ctrladr[actuator]] = value;
  };
  const double lead = velocity_feed_forward_ ? 1.0 : 0.0;
  for (int k = 0; k < static_cast<int>(coordinates_.size()); ++k) {
    const Coordinate& coordinate = coordinates_[static_cast<std::size_t>(k)];
    const double desired = command_.q[k] - coordinate.offset;
    if (coordinate.actuator >= 0) {
      double compliance = 0.0, position = 0.0, velocity = 0.0;
      for (const LinkJoint& link : coordinate.joints) {
        compliance += 1.0 / m->dof_damping[link.dof];
        position += d->qpos[link.qpos];
        velocity += d->qvel[link.dof];
      }
      const int tendon = m->actuator_trnid[2 * coordinate.actuator];
      const ServoGains servo =
          gains(m, coordinate.actuator, 1.0 / compliance + m->tendon_damping[tendon]);
      const double setpoint = coordinate.sign * (desired + lead * servo.lag * command_.q_rate[k]) -
                              load_[k] / servo.gain;
      set(coordinate.actuator, unsaturated(m, coordinate.actuator, setpoint, position, velocity));
    } else {
      for (const LinkJoint& link : coordinate.joints) {
        const ServoGains servo = gains(m, link.actuator, m->dof_damping[link.dof]);
        const double part =
            guide_exposure(guide_length_, measurement_.base.feed, link.start, link.length).part;
        const double setpoint = coordinate.sign * part * link.share *
                                    (desired + lead * servo.lag * command_.q_rate[k]) -
                                joint_gravity_[static_cast<std::size_t>(link.joint)] / servo.gain;
        set(link.actuator,
            unsaturated(m, link.actuator, setpoint, d->qpos[link.qpos], d->qvel[link.dof]));
      }
    }
  }
  if (feed_.actuator >= 0) {
    const ServoGains servo = gains(m, feed_.actuator, 0.0);
    const ConstVector3 axis(d->xaxis + 3 * feed_.joint);
    const ConstVector3 gravity(m->opt.gravity);
    const bool has_gravity = gravity_compensation_ && !(m->opt.disableflags & mjDSBL_GRAVITY);
    const double load =
        has_gravity ? m->body_subtreemass[m->jnt_bodyid[feed_.joint]] * axis.dot(gravity) : 0.0;
    next_own(kFeedSetpoint) =
        command_.base.feed + lead * servo.lag * command_.feed_rate - load / servo.gain;
    set(feed_.actuator, next_own(kFeedSetpoint));
  }
  if (spin_.actuator >= 0) set(spin_.actuator, command_.base.spin);
}

void ArmInstance::compute(const mjModel* m, mjData* d) {
  keep_state(d);
  report_ = {};
  if (own(d, kFault) != 0.0) {
    report_.status = ControllerStatus::Fault;
    return;
  }
  measure(m, d);
  if (!measurement_.q.allFinite() || !measurement_.X_BE.matrix().allFinite())
    return;  // diverged: the engine's own checks say so
  command_.q.setZero();
  command_.q_rate.setZero();
  command_.plan.setZero();
  command_.base = {};
  command_.feed_rate = 0.0;
  command_.has_plan = true;
  controller_->update(measurement_, memory(d), next_memory(), command_, report_);
  const bool finite = command_.q.allFinite() && command_.q_rate.allFinite() &&
                      std::isfinite(command_.base.feed) && std::isfinite(command_.base.spin) &&
                      std::isfinite(command_.feed_rate);
  if (!finite) throw std::runtime_error("the controller's command is not finite");
  for (Eigen::Index k = 0; k < command_.q.size(); ++k)
    next_own(kCommand + static_cast<std::size_t>(k)) = command_.q[k];
  write_controls(m, d);
}

void ArmInstance::advance(const mjModel*, mjData* d) noexcept {
  std::copy(next_state_.begin(), next_state_.end(), d->plugin_state + state_address_);
}

ArmInstance::Quantity ArmInstance::quantity_of(std::string_view name) noexcept {
  if (name == "status") return Quantity::Status;
  if (name == "iterations") return Quantity::Iterations;
  if (name == "tip_error") return Quantity::TipError;
  if (name == "angle_error") return Quantity::AngleError;
  if (name == "progress") return Quantity::Progress;
  if (name == "contacts_expected") return Quantity::ContactsExpected;
  if (name == "contacts_made") return Quantity::ContactsMade;
  if (name == "contacts_lost") return Quantity::ContactsLost;
  if (name == "waypoint_error") return Quantity::WaypointError;
  if (name == "target") return Quantity::Target;
  if (name == "command") return Quantity::Command;
  if (name == "measured") return Quantity::Measured;
  return Quantity::Unknown;
}

void ArmInstance::write_sensors(const mjModel*, mjData* d) const noexcept {
  for (const Sensor& sensor : sensors_) {
    mjtNum* out = d->sensordata + sensor.address;
    switch (sensor.quantity) {
      case Quantity::Status:
        *out = static_cast<double>(report_.status);
        break;
      case Quantity::Iterations:
        *out = report_.iterations;
        break;
      case Quantity::TipError:
        *out = report_.tip_error;
        break;
      case Quantity::AngleError:
        *out = report_.angle_error;
        break;
      case Quantity::Progress:
        *out = report_.progress;
        break;
      case Quantity::ContactsExpected:
        *out = report_.contacts_expected;
        break;
      case Quantity::ContactsMade:
        *out = report_.contacts_made;
        break;
      case Quantity::ContactsLost:
        *out = report_.contacts_lost;
        break;
      case Quantity::WaypointError:
        *out = report_.waypoint_error;
        break;
      case Quantity::Target:
        std::copy_n(report_.target.data(), 3, out);
        break;
      case Quantity::Command:
        std::copy_n(command_.q.data(), command_.q.size(), out);
        break;
      case Quantity::Measured:
        std::copy_n(measurement_.q.data(), measurement_.q.size(), out);
        break;
      case Quantity::Unknown:
        *out = 0.0;
        break;
    }
  }
}

namespace {

constexpr float kTargetColour[4] = {0.95f, 0.35f, 0.15f, 0.9f};
constexpr float kPathColour[4] = {0.95f, 0.75f, 0.1f, 0.8f};
constexpr float kPlanColour[4] = {0.1f, 0.45f, 0.95f, 0.9f};

}  // namespace

void ArmInstance::visualize(const mjModel*, mjData* d, mjvScene* scene) const {
  constexpr int kPathPoints = 60, kPointsPerSection = 8;
  constexpr double kLineRadius = 0.0012, kTargetRadius = 0.004;
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  const auto to_world = [&](const Vector3d& p_B) -> Vector3d { return p_WB + R_WB * p_B; };

  std::vector<Vector3d> line(kPathPoints);
  line.resize(static_cast<std::size_t>(controller_->path(memory(d), line)));
  for (Vector3d& p : line) p = to_world(p);
  draw_line(scene, line, kLineRadius, kPathColour);
  draw_sphere(scene, to_world(report_.target), kTargetRadius, kTargetColour);
  if (!command_.has_plan) return;

  std::vector<SectionState> states(static_cast<std::size_t>(robot_->section_count()));
  for (int i = 0; i < robot_->section_count(); ++i) {
    const int k = robot_->coordinate_index(i);
    const double extension = robot_->section(i).is_extensible() ? command_.plan[k + 2] : 0.0;
    states[static_cast<std::size_t>(i)] =
        state_from_bend_vector(command_.plan[k], command_.plan[k + 1], extension);
  }
  line.clear();
  for (int i = 0; i < robot_->section_count(); ++i) {
    for (int j = i == 0 ? 0 : 1; j <= kPointsPerSection; ++j) {
      line.push_back(to_world(backbone_pose(*robot_, states, measurement_.base, i,
                                            static_cast<double>(j) / kPointsPerSection)
                                  .translation()));
    }
  }
  draw_line(scene, line, kLineRadius, kPlanColour);
}

}  // namespace tendril
