#include "plugin/snake_instance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_model.hpp"
#include "tendril/robot_file/snake_model.hpp"

namespace tendril {
namespace {

Settings read_settings(const mjModel* m, int instance, const SnakeControllerKind& kind) {
  return read_settings(m, instance, kind.settings, kCommonSnakeSettings);
}

SnakeDescription read_snake(const Settings& settings) {
  const std::string_view text = settings.text("robot");
  if (text.empty()) throw ModelError("robot: missing: must be the text of a robot file");
  return parse_snake(text, "robot");
}

std::unique_ptr<SnakeController> make_controller(const SnakeControllerKind& kind,
                                                 const SnakeDescription& snake,
                                                 const Settings& settings, double timestep) {
  return kind.make({.link_lengths = snake.link_lengths,
                    .joint_limit = snake.joint_limit,
                    .radius = snake.radius,
                    .is_free = snake.base == SnakeBase::Free,
                    .settings = settings,
                    .timestep = timestep,
                    .feed_limit = snake.feed_limit});
}

}  // namespace

int SnakeInstance::state_size(const mjModel* m, int instance, const SnakeControllerKind& kind) {
  const Settings settings = read_settings(m, instance, kind);
  const auto controller = make_controller(kind, read_snake(settings), settings, m->opt.timestep);
  return controller->memory_size() + 1;
}

int SnakeInstance::sensor_dimension(const mjModel* m, int instance, int sensor,
                                    const SnakeControllerKind& kind) {
  switch (quantity_of(sensor_quantity_name(m, instance, sensor))) {
    case Quantity::Target:
      return 3;
    case Quantity::Command:
    case Quantity::Measured:
      return read_snake(read_settings(m, instance, kind)).joints;
    default:
      return 1;
  }
}

SnakeInstance::SnakeInstance(const mjModel* m, int instance, const SnakeControllerKind& kind)
    : state_address_(m->plugin_stateadr[instance]), measurement_(0), command_(0) {
  const Settings settings = read_settings(m, instance, kind);
  const SnakeDescription snake = read_snake(settings);
  joint_limit_ = snake.joint_limit;
  is_free_ = snake.base == SnakeBase::Free;
  controller_ = make_controller(kind, snake, settings, m->opt.timestep);

  const std::string prefix = instance_prefix(m, instance);
  const auto require = [&](mjtObj type, const std::string& name) {
    return require_element(m, type, prefix + name);
  };
  base_body_ = require(mjOBJ_BODY, names::kBase);
  tail_site_ = require(mjOBJ_SITE, names::kTail);
  tip_site_ = require(mjOBJ_SITE, names::kTip);
  const auto servo = [&](const std::string& name) {
    const int joint = require(mjOBJ_JOINT, name), actuator = require(mjOBJ_ACTUATOR, name);
    return Joint{joint,    m->jnt_qposadr[joint],        m->jnt_dofadr[joint], m->jnt_bodyid[joint],
                 actuator, m->actuator_ctrladr[actuator]};
  };
  for (int j = 1; j <= snake.joints; ++j) joints_.push_back(servo(names::snake_joint(j)));
  if (!is_free_) feed_ = servo(names::kFeed);
  const std::string_view target = target_name(settings, kind.settings);
  if (!target.empty()) target_mocap_ = target_mocap(m, target);

  measurement_ = SnakeMeasurement(snake.joints);
  command_ = SnakeCommand(snake.joints);
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

void SnakeInstance::reset(mjtNum* plugin_state) noexcept {
  fault_told_ = false;
  report_ = {};
  std::fill(next_state_.begin(), next_state_.end(), 0.0);
  controller_->reset(std::span(next_state_).first(memory_size()));
  std::copy(next_state_.begin(), next_state_.end(), plugin_state);
}

void SnakeInstance::copy_scratch(const PluginInstance& other) noexcept {
  const auto& source = static_cast<const SnakeInstance&>(other);
  fault_told_ = source.fault_told_;
  measurement_ = source.measurement_;
  command_ = source.command_;
  report_ = source.report_;
  joint_margin_ = source.joint_margin_;
  std::copy(source.next_state_.begin(), source.next_state_.end(), next_state_.begin());
}

void SnakeInstance::keep_state(const mjData* d) noexcept {
  std::copy_n(d->plugin_state + state_address_, next_state_.size(), next_state_.begin());
}

bool SnakeInstance::set_fault(const mjData* d) noexcept {
  keep_state(d);
  next_state_.back() = 1.0;
  command_.q.setZero();  // may hold the NaN that was the fault
  report_ = {};
  report_.status = ControllerStatus::Fault;
  return !std::exchange(fault_told_, true);
}

void SnakeInstance::measure(const mjModel* m, const mjData* d) noexcept {
  SnakeMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  joint_margin_ = joint_limit_;
  double upright = is_free_ ? d->xmat[9 * base_body_ + 8] : 0.0;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double q = d->qpos[joints_[j].qpos];
    out.q[static_cast<Eigen::Index>(j)] = q;
    joint_margin_ = std::min(joint_margin_, joint_limit_ - std::abs(q));
    upright += d->xmat[9 * joints_[j].body + 8];
  }
  out.upright = upright / static_cast<double>(joints_.size() + (is_free_ ? 1 : 0));
  if (feed_) out.feed = d->qpos[feed_->qpos];
  const auto site = [&](int id, Eigen::Isometry3d& X) {
    X.translation() = ConstVector3(d->site_xpos + 3 * id);
    X.linear() = ConstMatrix3(d->site_xmat + 9 * id);
  };
  site(tail_site_, out.X_WT);
  site(tip_site_, out.X_WE);
  out.center_of_mass = ConstVector3(d->subtree_com + 3 * base_body_);
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) out.p_WG = ConstVector3(d->mocap_pos + 3 * target_mocap_);
}

void SnakeInstance::compute(const mjModel* m, mjData* d) {
  keep_state(d);
  report_ = {};
  if (next_state_.back() != 0.0) {
    report_.status = ControllerStatus::Fault;
    return;
  }
  measure(m, d);
  if (!measurement_.q.allFinite() || !measurement_.X_WE.matrix().allFinite())
    return;  // diverged: the engine's own checks say so
  command_.q.setZero();
  command_.q_rate.setZero();
  command_.feed = command_.feed_rate = command_.gravity_factor = 0.0;
  controller_->update(measurement_, memory(d), std::span(next_state_).first(memory_size()),
                      command_, report_);
  const double factor = command_.gravity_factor;
  if (!command_.q.allFinite() || !command_.q_rate.allFinite() || !std::isfinite(command_.feed) ||
      !std::isfinite(command_.feed_rate) || !std::isfinite(factor))
    throw std::runtime_error("the controller's command is not finite");
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const auto i = static_cast<Eigen::Index>(j);
    d->ctrl[joints_[j].control] =
        setpoint(m, d, joints_[j], command_.q[i], command_.q_rate[i], factor);
  }
  if (feed_)
    d->ctrl[feed_->control] = setpoint(m, d, *feed_, command_.feed, command_.feed_rate, factor);
}

double SnakeInstance::setpoint(const mjModel* m, const mjData* d, const Joint& joint,
                               double desired, double rate, double factor) noexcept {
  const double gain = m->actuator_gainprm[joint.actuator * mjNGAIN];
  if (rate != 0.0) {
    const double damping =
        m->dof_damping[joint.dof] - m->actuator_biasprm[joint.actuator * mjNBIAS + 2];
    desired += damping / gain * rate;
  }
  if (factor != 0.0 && !(m->opt.disableflags & mjDSBL_GRAVITY)) {
    const ConstVector3 gravity(m->opt.gravity), axis(d->xaxis + 3 * joint.joint);
    const Eigen::Vector3d weight = m->body_subtreemass[joint.body] * gravity;
    double load = 0.0;
    if (m->jnt_type[joint.joint] == mjJNT_SLIDE) {
      load = axis.dot(weight);
    } else {
      const ConstVector3 com(d->subtree_com + 3 * joint.body), anchor(d->xanchor + 3 * joint.joint);
      load = axis.dot((com - anchor).cross(weight));
    }
    desired -= factor * load / gain;
  }
  return desired;
}

void SnakeInstance::advance(const mjModel*, mjData* d) noexcept {
  std::copy(next_state_.begin(), next_state_.end(), d->plugin_state + state_address_);
}

SnakeInstance::Quantity SnakeInstance::quantity_of(std::string_view name) noexcept {
  if (name == "status") return Quantity::Status;
  if (name == "progress") return Quantity::Progress;
  if (name == "path_error") return Quantity::PathError;
  if (name == "joint_margin") return Quantity::JointMargin;
  if (name == "speed") return Quantity::Speed;
  if (name == "heading") return Quantity::Heading;
  if (name == "advance") return Quantity::Advance;
  if (name == "rise") return Quantity::Rise;
  if (name == "slip") return Quantity::Slip;
  if (name == "goals") return Quantity::Goals;
  if (name == "upright") return Quantity::Upright;
  if (name == "target") return Quantity::Target;
  if (name == "command") return Quantity::Command;
  if (name == "measured") return Quantity::Measured;
  return Quantity::Unknown;
}

void SnakeInstance::write_sensors(const mjModel*, mjData* d) const noexcept {
  for (const Sensor& sensor : sensors_) {
    mjtNum* out = d->sensordata + sensor.address;
    switch (sensor.quantity) {
      case Quantity::Status:
        *out = static_cast<double>(report_.status);
        break;
      case Quantity::Progress:
        *out = report_.progress;
        break;
      case Quantity::PathError:
        *out = report_.path_error;
        break;
      case Quantity::JointMargin:
        *out = joint_margin_;
        break;
      case Quantity::Speed:
        *out = report_.speed;
        break;
      case Quantity::Heading:
        *out = report_.heading;
        break;
      case Quantity::Advance:
        *out = report_.advance;
        break;
      case Quantity::Rise:
        *out = report_.rise;
        break;
      case Quantity::Slip:
        *out = report_.slip;
        break;
      case Quantity::Goals:
        *out = report_.goals;
        break;
      case Quantity::Upright:
        *out = measurement_.upright;
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

void SnakeInstance::visualize(const mjModel*, mjData* d, mjvScene* scene) const {
  constexpr float kGoalColour[4] = {0.95f, 0.35f, 0.15f, 0.9f};
  constexpr double kGoalRadius = 0.03;
  constexpr float kPathColour[4] = {0.95f, 0.55f, 0.15f, 0.8f};
  constexpr double kPathRadius = 0.003;
  std::array<Eigen::Vector3d, 64> points;
  const int count = controller_->path(measurement_, memory(d), points);
  if (count > 1) {
    draw_line(scene, std::span(points).first(static_cast<std::size_t>(count)), kPathRadius,
              kPathColour);
  } else if (report_.status == ControllerStatus::Working && !report_.target.isZero()) {
    draw_sphere(scene, report_.target, kGoalRadius, kGoalColour);
  }
}

}  // namespace tendril
