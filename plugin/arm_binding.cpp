#include "plugin/arm_binding.hpp"

#include <algorithm>
#include <cmath>

#include "binding/arm_controllers.hpp"
#include "controllers/arm/tendon_friction.hpp"
#include "plugin/bind_robot.hpp"
#include "plugin/bound_mechanism.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

using Eigen::Vector3d;

namespace {

bool has_friction(const ContinuumDescription& description) {
  return std::any_of(description.tendons.begin(), description.tendons.end(),
                     [](const Tendon& tendon) { return tendon.friction_coefficient > 0.0; });
}

}  // namespace

ArmBinding::Memory::Memory(const InstanceContext& context, const ContinuumDescription& description,
                           const ArmController& controller) {
  const double timestep = context.model->opt.timestep;
  loop = layout.part(
      ArmLoop::Memory(description, sees_sensors(context), controller.needs_contacts(), timestep)
          .layout);
  if (has_friction(description)) {
    const auto tendons = static_cast<std::size_t>(tendon_count(description));
    tension = layout.numbers(tendons);
    friction = layout.numbers(tendons * description.sections.size());
  }
  if (controller.senses_contacts()) {
    std::size_t links = 0;
    for (const SectionPhysics& section : description.physics)
      links += static_cast<std::size_t>(section.links);
    link_force = layout.numbers(links);
  }
}

ArmBinding::ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
                       std::unique_ptr<ArmController> controller, ModelScene& scene)
    : ArmBinding(context, description, std::move(controller), scene,
                 bound_mechanism(context.model, context.names)) {}

ArmBinding::ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
                       std::unique_ptr<ArmController> controller, ModelScene& scene,
                       const Mechanism& mechanism)
    : BindingOf(context, std::move(controller), ArmMeasurement(sizes(description)),
                sees_sensors(context)),
      base_body_(mechanism.bodies.front().id),
      body_radius_(largest_radius(description)),
      obstacles_(scene.release_obstacles()),
      loop_(mechanism, description,
            {.gravity =
                 compensated_gravity(context.model, context.settings.flag("gravity_compensation")),
             .velocity_feed_forward = context.settings.flag("velocity_feed_forward"),
             .commands = controller_->commands()},
            sees_sensors(context), controller_->needs_contacts(), measurement_),
      memory_(context, description, *controller_) {
  const mjModel* m = context.model;
  layout_ = memory_.layout;
  const ArmModel& model = loop_.model();
  const auto address = [&](int joint) {
    return joint < 0 ? JointAddress()
                     : joint_address(m, mechanism.joints[static_cast<std::size_t>(joint)].id);
  };
  for (const int joint : model.joints) joints_.push_back(address(joint));
  require_no_more_joints(context, joints_);
  feed_ = address(model.feed);
  spin_ = address(model.spin);
  for (const int joint : model.turns) turns_.push_back(address(joint));
  for (const int joint : model.twists) twists_.push_back(address(joint));
  for (const int actuator : model.actuators)
    actuators_.push_back(mechanism.actuators[static_cast<std::size_t>(actuator)].id);
  for (const int tendon : model.tendons)
    tendons_.push_back(mechanism.tendons[static_cast<std::size_t>(tendon)].id);
  for (const int actuator : std::span(actuators_).last(tendons_.size()))
    activations_.push_back(m->actuator_actadr[actuator]);
  tip_site_ = mechanism.sites[static_cast<std::size_t>(model.tip)].id;
  tendon_commands_.resize(tendons_.size());
  bind_friction(context, description);
  command_.tension = Eigen::VectorXd::Zero(measurement_.tendon_tension.size());
  state_ = seen_state_ = loop_.mechanics().make_state();
  target_mocap_ = scene.target_mocap();
  if (scene.carrier_joints()) bind_carrier(context, *scene.carrier_joints());
  if (controller_->senses_contacts())
    contacts_.emplace(m, loop_.mechanics(), joints_, base_body_, memory_.link_force.size());
  if (sees_sensors(context)) bind_sensors(context, description, mechanism);
}

void ArmBinding::bind_sensors(const InstanceContext& context,
                              const ContinuumDescription& description, const Mechanism& mechanism) {
  const mjModel* m = context.model;
  require_sensed_contacts(context.kind, controller_->needs_contacts(), description);
  const std::optional<Eigen::Matrix3d> R_WB = standing_orientation(m, base_body_);
  // Joints that carry the base tell how it is turned, and a platform does not turn it against
  // gravity; touch takes it to stand.
  if (!R_WB && ((carrier_.empty() && !stays_upright(m, base_body_)) ||
                controller_->needs_contacts() == ContactNeed::Tip))
    throw ModelError("measured = sensors: its base moves: must be \"truth\"");
  loop_.use_sensors(mechanism, description, compensated_gravity(m, true), R_WB);
}

void ArmBinding::bind_carrier(const InstanceContext& context, const Carrier& carrier) {
  carrier.require_free_servos(context);
  carrier_feed_forward_ = context.settings.flag("velocity_feed_forward") ? 1.0 : 0.0;
  carrier_gravity_ =
      compensated_gravity(context.model, context.settings.flag("gravity_compensation"));
  for (std::size_t j = 0; j < carrier.joints.size(); ++j) {
    actuators_.push_back(carrier.actuators[j]);
    carrier_.push_back(bind_joint(context.model, carrier.joints[j], carrier.actuators[j]));
    measurement_.carrier_lag = std::max(measurement_.carrier_lag, carrier_.back().servo.lag());
  }
  carrier_states_.resize(carrier_.size());
  measurement_.carrier.setZero(static_cast<Eigen::Index>(carrier_.size()));
  command_.carrier = command_.carrier_rate = measurement_.carrier;
}

void ArmBinding::bind_friction(const InstanceContext& context,
                               const ContinuumDescription& description) {
  if (memory_.friction.size() == 0) return;
  friction_offsets_.assign(static_cast<std::size_t>(context.model->ntendon), -1);
  int offset = 0;
  friction_coefficients_.assign(tendons_.size(), 0.0);  // of chambers too
  for (std::size_t t = 0; t < description.tendons.size(); ++t) {
    const Tendon& tendon = description.tendons[t];
    friction_coefficients_[t] = tendon.friction_coefficient;
    for (int i = 0; i < robot().section_count(); ++i, ++offset) {
      if (tendon.friction_coefficient == 0.0 || !tendon.route.runs_through(i)) continue;
      const int id = context.require(mjOBJ_TENDON, names::tendon_friction(tendon.name, i + 1));
      friction_offsets_[static_cast<std::size_t>(id)] = offset;
    }
  }
  section_bends_.resize(static_cast<std::size_t>(robot().section_count()));
  friction_limits_.resize(memory_.friction.size());
}

void ArmBinding::limit_friction(mjData* d, std::span<const double> own) noexcept {
  if (friction_coefficients_.empty()) return;
  const std::size_t sections = section_bends_.size();
  for (std::size_t i = 0; i < sections; ++i)
    section_bends_[i] =
        measurement_.q.segment<2>(robot().coordinate_index(static_cast<int>(i))).norm();
  const std::span<const double> friction = memory_.friction(own);
  for (std::size_t t = 0; t < friction_coefficients_.size(); ++t) {
    tendon_friction_limits(friction_coefficients_[t], memory_.tension(own)[t], section_bends_,
                           friction.subspan(t * sections, sections),
                           std::span(friction_limits_).subspan(t * sections, sections));
  }
  for (int row = d->ne; row < d->ne + d->nf; ++row) {
    const int offset = friction_offset(d, row);
    if (offset < 0) continue;
    // More than 0, as in the model.
    const double limit = std::max(friction_limits_[static_cast<std::size_t>(offset)], mjMINVAL);
    d->efc_frictionloss[row] = limit;
    if (d->nisland > 0) d->iefc_frictionloss[d->map_efc2iefc[row]] = limit;
  }
}

int ArmBinding::friction_offset(const mjData* d, int row) const noexcept {
  return d->efc_type[row] == mjCNSTR_FRICTION_TENDON
             ? friction_offsets_[static_cast<std::size_t>(d->efc_id[row])]
             : -1;
}

void ArmBinding::end_step(const mjModel* m, const mjData* d,
                          std::span<double> next_own) const noexcept {
  if (!friction_coefficients_.empty()) {
    const std::span<const int> actuators =
        std::span(actuators_).first(actuators_.size() - carrier_.size()).last(tendons_.size());
    const std::span<double> tension = memory_.tension(next_own),
                            friction = memory_.friction(next_own);
    for (std::size_t t = 0; t < tension.size(); ++t) {
      const mjtNum force = d->actuator_force[actuators[t]];
      tension[t] = std::isfinite(force) ? force : 0.0;
    }
    for (int row = d->ne; row < d->ne + d->nf; ++row) {
      const int offset = friction_offset(d, row);
      if (offset < 0) continue;
      const mjtNum force = d->efc_force[row];
      friction[static_cast<std::size_t>(offset)] = std::isfinite(force) ? force : 0.0;
    }
  }
  if (contacts_) contacts_->read_forces(m, d, memory_.link_force(next_own));
}

bool ArmBinding::measure(const mjModel* m, const mjData* d, std::span<const double> own) noexcept {
  state_.p_WB = ConstVector3(d->xpos + 3 * base_body_);
  state_.R_WB = ConstMatrix3(d->xmat + 9 * base_body_);
  state_.p_WE = ConstVector3(d->site_xpos + 3 * tip_site_);
  state_.R_WE = ConstMatrix3(d->site_xmat + 9 * tip_site_);
  for (std::size_t i = 0; i < joints_.size(); ++i) joints_[i].read(d, state_.joints[i]);
  if (feed_.joint >= 0) feed_.read(d, state_.feed);
  if (spin_.joint >= 0) spin_.read(d, state_.spin);
  for (std::size_t j = 0; j < turns_.size(); ++j) turns_[j].read(d, state_.turns[j]);
  for (std::size_t j = 0; j < twists_.size(); ++j) {
    twists_[j].read(d, state_.twists.hinges[j]);
    const int dof = twists_[j].dof;
    state_.twists.inertias[j] = d->M[m->M_rowadr[dof] + m->M_rownnz[dof] - 1];
  }

  ArmMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t t = 0; t < tendons_.size(); ++t)
    state_.tendons[t] = {d->ten_length[tendons_[t]] - m->tendon_length0[tendons_[t]],
                         d->ten_velocity[tendons_[t]]};
  const std::span<const double> of_loop = memory_.loop(own);
  const std::span<const double> commands = loop_.memory().tendons(of_loop);
  for (std::size_t t = 0; t < tendons_.size(); ++t)
    tendon_commands_[t] = activations_[t] >= 0 ? d->act[activations_[t]] : commands[t];
  if (contacts_) contacts_->read(m, d, memory_.link_force(own));
  loop_.measure(state_, tendon_commands_, of_loop, out);
  if (contacts_) {
    const auto command = loop_.memory().command(of_loop);
    contacts_->response().measure(state_,
                                  {command.data(), static_cast<std::size_t>(command.size())},
                                  controller_->senses_response(), out);
    if (controller_->senses_response())
      loop_.mechanics().frames().untwist_columns(out.tip_response);
  }
  for (std::size_t j = 0; j < carrier_.size(); ++j) {
    carrier_[j].read(d, carrier_states_[j]);
    out.carrier[static_cast<Eigen::Index>(j)] = carrier_states_[j].position;
  }
  if (obstacles_) {
    obstacles_->refresh(d);
    out.obstacles = &obstacles_->obstacles();
  }
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) read_mocap_pose(d, target_mocap_, base_body_, out.X_BG);
  return out.q.allFinite() && out.X_BE.matrix().allFinite() && out.carrier.allFinite();
}

bool ArmBinding::sense(const Sensed& sensed, ArmMeasurement& seen) noexcept {
  if (!loop_.is_sensed()) return false;
  seen_state_.p_WB = state_.p_WB;
  seen_state_.R_WB = state_.R_WB;
  seen_state_.feed = state_.feed;
  seen_state_.spin = state_.spin;
  seen_state_.turns = state_.turns;
  loop_.sense(sensed.readings, sensed.arrived, tendon_commands_, memory_.loop(sensed.next_own),
              seen_state_);
  const std::span<double> own = memory_.loop(sensed.next_own);
  loop_.measure(seen_state_, tendon_commands_, own, seen);
  loop_.sense_contacts(seen_state_, *controller_, own, seen);
  return true;
}

bool ArmBinding::command_is_finite() const noexcept { return is_finite(command_); }

void ArmBinding::setpoints(std::span<double> next_own, std::span<double> all) noexcept {
  const std::span<double> of_carrier = all.last(carrier_.size());
  for (std::size_t j = 0; j < carrier_.size(); ++j) {
    const BoundJoint& joint = carrier_[j];
    const auto k = static_cast<Eigen::Index>(j);
    of_carrier[j] = joint.servo.setpoint(
        command_.carrier[k], carrier_feed_forward_ * command_.carrier_rate[k],
        gravity_load(carrier_states_[j], joint.mass, carrier_gravity_, joint.is_slide));
  }
  const std::span<double> own = memory_.loop(next_own);
  const std::span<double> setpoints = all.first(all.size() - carrier_.size());
  const ArmMechanics::State& state = loop_.is_sensed() ? seen_state_ : state_;
  loop_.setpoints(state, measurement_, command_, own, setpoints);
  loop_.keep(state, setpoints, own);
}

void ArmBinding::exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                          std::span<double> drives, std::span<double> setpoints,
                          ControllerReport& report) noexcept {
  auto next = drives.begin();
  const auto add = [&](const JointAddress& joint) {
    if (joint.joint < 0) return;
    *next++ = d->qpos[joint.qpos];
    *next++ = d->qvel[joint.dof];
  };
  add(feed_);
  add(spin_);
  std::ranges::for_each(turns_, add);
  for (const int activation : activations_)
    if (activation >= 0) *next++ = d->act[activation];
  remote.exchange({.time = d->time,
                   .readings = sensed.readings,
                   .arrived = sensed.arrived,
                   .drives = drives,
                   .target = measurement_.has_target ? &measurement_.X_BG : nullptr},
                  setpoints);
  const RemoteControl::Known known = remote.known();
  if (!take_known(known, report)) {
    command_.q = measurement_.q;
    command_.base = measurement_.base;
    command_.has_plan = false;
  }
  // The tip's error is the true one.
  if (!known.model_is_seen && std::isfinite(report.tip_error))
    report.tip_error = (measurement_.X_BE.translation() - report.target).norm();
  loop_.keep(state_, setpoints, memory_.loop(sensed.next_own));
}

FollowingError ArmBinding::following_error(int last_touched) const noexcept {
  FollowingError error;
  const auto add = [&](int body, double meant, double measured, bool is_length) {
    error.add(std::abs(meant - measured), is_length, body > last_touched);
  };
  const BaseState& base = measurement_.base;
  std::size_t first = 0;
  for (std::size_t k = 0; k < loop_.mechanics().coordinates().size(); ++k) {
    const ArmCoordinate& coordinate = loop_.mechanics().coordinates()[k];
    if (coordinate.joints.empty()) continue;
    const auto i = static_cast<Eigen::Index>(k);
    const double exposed = loop_.mechanics().exposed_fraction(coordinate, base.feed);
    const double possible = command_.q[i] + loop_.mechanics().tendon_drive().length_given_up(i);
    if (!coordinate.is_passive)
      add(joints_[first].body, coordinate.offset + exposed * (possible - coordinate.offset),
          measurement_.q[i], coordinate.is_slide);
    first += coordinate.joints.size();
  }
  if (feed_.joint >= 0) add(feed_.body, command_.base.feed, base.feed, true);
  if (spin_.joint >= 0) add(spin_.body, command_.base.spin, base.spin, false);
  for (std::size_t j = 0; j < carrier_.size(); ++j)
    add_joint(error, carrier_[j], carrier_[j].is_slide, carrier_states_[j],
              command_.carrier[static_cast<Eigen::Index>(j)], last_touched);
  return error;
}

void ArmBinding::forget_command() noexcept {
  forget(command_, controller_->commands(), loop_.is_sensed() ? seen() : measurement_);
  command_.carrier = measurement_.carrier;
}

std::unique_ptr<ArmController> ArmBinding::make_controller(const InstanceContext& context,
                                                           const ContinuumDescription& description,
                                                           SceneQuery& scene) {
  const mjModel* const m = context.model;
  return make_arm_controller(context.kind, context.settings, description,
                             {m->opt.timestep, numerical_damping_time(m)}, scene);
}

const RobotBinder& arm_binder() noexcept { return kBinder<ArmBinding>; }

void ArmBinding::common_values(const ControllerReport& report, double* out) const noexcept {
  out = std::copy_n(report.target.data(), 3, out);
  out = std::copy_n(command_.q.data(), command_.q.size(), out);
  out = std::copy_n(seen().q.data(), seen().q.size(), out);
  std::copy_n(seen().X_BE.translation().data(), 3, out);
}

void ArmBinding::copy_scratch(const RobotBinding& other) noexcept {
  const auto& source = static_cast<const ArmBinding&>(other);
  measurement_ = source.measurement_;
  if (obstacles_) measurement_.obstacles = &obstacles_->obstacles();
  copy_seen(source);
  command_ = source.command_;
}

}  // namespace tendril
