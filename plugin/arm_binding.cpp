#include "plugin/arm_binding.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/arm/tendon_friction.hpp"
#include "plugin/bound_chain.hpp"
#include "plugin/fundamental_mode.hpp"
#include "tendril/model/continuum/links.hpp"
#include "tendril/model/continuum/observations.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

using Eigen::Vector3d;

namespace {

/// dl/dq of the joints of an arm, in its straight pose: of a tendon over joints its coefficients,
/// of one through sites what its straight pieces past each joint do.
std::vector<double> lengths_per_joint(const mjModel* m, int base_body, int tendon,
                                      std::span<const JointAddress> joints) {
  const auto position = [&](int body) {
    Vector3d p = Vector3d::Zero();  // the frames of straight links are parallel
    for (; body != base_body; body = m->body_parentid[body])
      p += ConstVector3(m->body_pos + 3 * body);
    return p;
  };
  const auto site_position = [&](int site) -> Vector3d {
    return position(m->site_bodyid[site]) + ConstVector3(m->site_pos + 3 * site);
  };
  std::vector<double> lengths(joints.size(), 0.0);
  for (int w = m->tendon_adr[tendon]; w < m->tendon_adr[tendon] + m->tendon_num[tendon]; ++w) {
    const int object = m->wrap_objid[w];
    const bool is_joint = m->wrap_type[w] == mjWRAP_JOINT;
    if (!is_joint && w == m->tendon_adr[tendon]) continue;
    const int body = is_joint ? -1 : m->site_bodyid[object];
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (is_joint) {
        if (object == joints[i].joint) lengths[i] = m->wrap_prm[w];
        continue;
      }
      // Consecutive sites lie on one body, or before and after the joints of the second one's.
      const int before = m->wrap_objid[w - 1];
      if (joints[i].body != body || m->site_bodyid[before] == body) continue;
      const Vector3d end = site_position(object);
      const Vector3d direction = (end - site_position(before)).normalized();
      const ConstVector3 axis(m->jnt_axis + 3 * joints[i].joint);
      lengths[i] = direction.dot(axis.cross(end - position(body)));
    }
  }
  return lengths;
}

/// Rate of the mean of what twist does to the tip, of the frequency of its swing.
constexpr double kSwingRate = 0.3;

bool has_twist(const ContinuumDescription& description) {
  return std::any_of(
      description.physics.begin(), description.physics.end(),
      [](const SectionPhysics& section) { return section.torsional_stiffness > 0.0; });
}

/// Tells whether the controller sees its sensors instead of the truth.
bool is_sensed(const InstanceContext& context) {
  return context.settings.choice_index("measured") != 0;
}

bool has_friction(const ContinuumDescription& description) {
  return std::any_of(description.tendons.begin(), description.tendons.end(),
                     [](const Tendon& tendon) { return tendon.friction_coefficient > 0.0; });
}

}  // namespace

ArmBinding::Memory::Memory(const InstanceContext& context, const ContinuumDescription& description,
                           const ArmController& controller)
    : command(layout.vector(description.kinematics().coordinate_count())),
      moments(
          layout.numbers(static_cast<std::size_t>(description.kinematics().coordinate_count()))),
      tendons(layout.numbers(static_cast<std::size_t>(tendon_count(description)))),
      turns(layout.numbers(static_cast<std::size_t>(
          std::count_if(description.sections.begin(), description.sections.end(),
                        [](const SectionParameters& section) {
                          return section.rotation == SectionRotation::Turning;
                        })))) {
  if (has_friction(description)) {
    tension = layout.numbers(tendons.size());
    friction = layout.numbers(tendons.size() * description.sections.size());
  }
  if (has_twist(description)) {
    twists = layout.numbers(description.sections.size());
    swing_mean = layout.vector(6);
  }
  if (controller.senses_contacts()) {
    std::size_t links = 0;
    for (const SectionPhysics& section : description.physics)
      links += static_cast<std::size_t>(section.links);
    link_force = layout.numbers(links);
  }
  if (is_sensed(context)) {
    const RobotSizes n = sizes(description);
    const double timestep = context.model->opt.timestep;
    sensed = layout.part(
        SensedArm::Memory(n.n, n.t, observations(description, timestep), timestep).layout);
  }
}

ArmBinding::ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
                       std::unique_ptr<ArmController> controller, ModelScene& scene)
    : BindingOf(context, std::move(controller), ArmMeasurement(sizes(description)),
                is_sensed(context)),
      robot_(std::make_unique<ContinuumRobot>(description.kinematics())),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      tip_site_(context.require(mjOBJ_SITE, names::kTip)),
      target_mocap_(-1),
      body_radius_(largest_radius(description)),
      obstacles_(scene.release_obstacles()),
      memory_(context, description, *controller_) {
  const mjModel* m = context.model;
  layout_ = memory_.layout;
  std::vector<ArmCoordinate> coordinates;
  std::vector<Servo> servos;
  bind_sections(context, description, coordinates, servos);
  SectionTurns turns = bind_turns(context, servos);
  SectionTwists twists = bind_twists(context, description);
  require_no_more_joints(context, joints_);
  ArmBaseJoint feed, spin;
  const auto bind_base = [&](const char* name, JointAddress& joint, ArmBaseJoint& base) {
    joint = joint_address(context, name);
    base = {.servo = add_servo(context, context.require(mjOBJ_ACTUATOR, name), 0.0, servos),
            .mass = weighing_mass(m, joint.body)};
  };
  if (robot_->base().feed_limit > 0.0) bind_base(names::kFeed, feed_, feed);
  if (robot_->base().spin) bind_base(names::kSpin, spin_, spin);
  mechanics_ = ArmMechanics(
      std::move(coordinates), feed, spin, std::move(servos),
      {.gravity = compensated_gravity(m, context.settings.flag("gravity_compensation")),
       .velocity_feed_forward = context.settings.flag("velocity_feed_forward"),
       .guide_length = description.guide.length,
       .commands = controller_->commands()},
      bind_tendons(context, description), std::move(turns), std::move(twists));
  tendon_commands_.resize(tendons_.size());
  bind_friction(context, description);
  command_.tension = Eigen::VectorXd::Zero(measurement_.tendon_tension.size());
  state_ = mechanics_.make_state();
  const FundamentalMode mode = fundamental_mode(m, base_body_, joints_, mechanics_, actuators_);
  measurement_.fundamental_mode_damping = mode.damping;
  measurement_.swing_period = swing_period(mode);
  target_mocap_ = scene.target_mocap();
  if (scene.carrier_joints()) bind_carrier(context, *scene.carrier_joints());
  if (controller_->senses_contacts())
    contacts_.emplace(m, mechanics_, joints_, base_body_, memory_.link_force.size());
  if (is_sensed(context)) bind_sensors(context, description);
}

void ArmBinding::bind_sensors(const InstanceContext& context,
                              const ContinuumDescription& description) {
  const mjModel* m = context.model;
  if (!carrier_.empty())
    throw ModelError("measured = sensors: joints carry the base: must be \"truth\"");
  if (controller_->needs_contacts())
    throw ModelError("measured = sensors: " + context.kind.name +
                     " works by the contacts of the body, of which no sensor tells: must be "
                     "\"truth\"");
  ArmObservations seen = observations(description, m->opt.timestep);
  for (ArmObservations::Use& use : seen.uses) {
    if (use.sensor < 0 ||
        seen.sensors[static_cast<std::size_t>(use.sensor)].kind != SensorKind::TendonLength)
      continue;
    use.offset = -m->tendon_length0[tendons_[static_cast<std::size_t>(use.index)]];
  }
  // Where the robot file starts it.
  const int start = description.start ? mj_name2id(m, mjOBJ_KEY, "start") : -1;
  const mjtNum* const qpos = start >= 0 ? m->key_qpos + start * m->nq : m->qpos0;
  Eigen::VectorXd q = Eigen::VectorXd::Zero(robot_->coordinate_count());
  auto joint = joints_.begin();
  for (std::size_t k = 0; k < mechanics_.coordinates().size(); ++k) {
    const ArmCoordinate& coordinate = mechanics_.coordinates()[k];
    const auto row = static_cast<Eigen::Index>(k);
    q[row] = coordinate.offset;
    for (std::size_t j = 0; j < coordinate.joints.size(); ++j)
      q[row] += coordinate.sign * qpos[(joint++)->qpos];
  }
  mjtNum rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  mju_quat2Mat(rotation, m->body_quat + 4 * base_body_);
  Eigen::Matrix3d R_WB = ConstMatrix3(rotation);
  for (int body = m->body_parentid[base_body_]; body > 0; body = m->body_parentid[body]) {
    if (m->body_jntnum[body] > 0)
      throw ModelError("measured = sensors: its base moves: must be \"truth\"");
    mju_quat2Mat(rotation, m->body_quat + 4 * body);
    R_WB = ConstMatrix3(rotation) * R_WB;
  }
  const bool has_gravity = (m->opt.disableflags & mjDSBL_GRAVITY) == 0;
  const Eigen::Vector3d gravity =
      has_gravity ? Eigen::Vector3d(ConstVector3(m->opt.gravity)) : Eigen::Vector3d::Zero();
  sensed_.emplace(*robot_, mechanics_, tendon_routes(description),
                  bound_chain(m, base_body_, tip_site_, joints_, feed_, spin_), std::move(seen),
                  gravity, R_WB, q, m->opt.timestep);
  seen_state_ = mechanics_.make_state();
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

int ArmBinding::add_servo(const InstanceContext& context, int actuator, double passive_damping,
                          std::vector<Servo>& servos) {
  actuators_.push_back(actuator);
  servos.push_back(servo_of(context.model, actuator, passive_damping));
  return static_cast<int>(servos.size()) - 1;
}

void ArmBinding::bind_sections(const InstanceContext& context,
                               const ContinuumDescription& description,
                               std::vector<ArmCoordinate>& coordinates,
                               std::vector<Servo>& servos) {
  double section_start = 0.0;
  for (int i = 0; i < robot_->section_count(); ++i) {
    const Section& section = robot_->section(i);
    const int links = description.physics[static_cast<std::size_t>(i)].links;
    const SectionPhysics& physics = description.physics[static_cast<std::size_t>(i)];
    const LinkLayout layout = link_layout(description, static_cast<std::size_t>(i));
    const std::size_t first = coordinates.size();
    const bool passive = is_passive(description, static_cast<std::size_t>(i));
    const auto bind = [&](char axis, const Drive& drive, const std::vector<double>& fractions) {
      coordinates.push_back(
          bind_coordinate(context, i + 1, axis, drive, passive && axis != 'z', fractions, servos));
    };
    for (const char axis : {'y', 'x'}) {  // u, v
      const std::span<const char> axes =
          bend_axes(description.sections[static_cast<std::size_t>(i)]);
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        bind(axis, physics.bend, layout.bend_fraction);
      else
        coordinates.emplace_back();  // without joints
    }
    if (section.is_extensible()) {
      bind('z', physics.length_drive, layout.length);
      coordinates.back().offset = section.variable_length() / 2;
    }
    const double rest_length = section.length() + section.variable_length() / 2.0;
    for (std::size_t k = first; k < coordinates.size(); ++k) {
      double start = section_start;
      auto joint = coordinates[k].joints.begin();
      for (int j = 0; j < links; ++j) {
        const double length = layout.length[static_cast<std::size_t>(j)] * rest_length;
        if (joint != coordinates[k].joints.end() && joint->link == j) {
          joint->start = start;
          joint->length = length;
          ++joint;
        }
        start += length;
      }
    }
    section_start += rest_length;
  }
}

ArmCoordinate ArmBinding::bind_coordinate(const InstanceContext& context, int section, char axis,
                                          const Drive& drive, bool is_passive,
                                          std::span<const double> fractions,
                                          std::vector<Servo>& servos) {
  const mjModel* m = context.model;
  ArmCoordinate coordinate;
  coordinate.sign = axis == 'x' ? -1.0 : 1.0;
  coordinate.is_slide = axis == 'z';
  const std::string servo_name =
      coordinate.is_slide ? names::length(section) : names::bend(section, axis);
  coordinate.is_passive = is_passive;
  coordinate.has_tendons = !is_driven(drive) && !is_passive;
  coordinate.is_motor = is_motor(drive);
  const bool has_servo = is_driven(drive);
  const int section_actuator =
      has_servo ? mj_name2id(m, mjOBJ_ACTUATOR, context.names(servo_name).c_str()) : -1;
  double compliance = 0.0;
  int j = 0;  // link
  for (const double fraction : fractions) {
    ++j;
    if (fraction == 0.0) continue;  // a rigid link has no hinges
    const std::string name =
        coordinate.is_slide ? names::slide(section, j) : names::hinge(section, j, axis);
    const JointAddress joint = joint_address(context, name);
    const double damping = joint_damping(m, joint);
    compliance += 1.0 / damping;
    ArmJoint bound{.fraction = fraction,
                   .mass = weighing_mass(m, joint.body),
                   .stiffness = m->jnt_stiffness[joint.joint],
                   .rest = m->qpos_spring[m->jnt_qposadr[joint.joint]],
                   .link = j - 1,
                   .chain_position = static_cast<double>(joint.dof)};
    if (section_actuator < 0 && has_servo)
      bound.servo = add_servo(context, context.require(mjOBJ_ACTUATOR, name), damping, servos);
    coordinate.joints.push_back(bound);
    joints_.push_back(joint);
  }
  if (section_actuator >= 0) {
    const int tendon = m->actuator_trnid[2 * section_actuator];
    coordinate.servo =
        add_servo(context, section_actuator, 1.0 / compliance + m->tendon_damping[tendon], servos);
  }
  if (compliance > 0.0) coordinate.damping = 1.0 / compliance;
  return coordinate;
}

SectionTurns ArmBinding::bind_turns(const InstanceContext& context, std::vector<Servo>& servos) {
  if (robot_->last_turning() < 0) return {};
  std::vector<TurningSection> sections;
  for (int i = 0; i < robot_->section_count(); ++i) {
    TurningSection section{.bend = robot_->coordinate_index(i)};
    if (robot_->section(i).turns()) {
      const std::string name = names::turn(i + 1);
      const JointAddress joint = joint_address(context, name);
      turns_.push_back(joint);
      section.servo = add_servo(context, context.require(mjOBJ_ACTUATOR, name),
                                joint_damping(context.model, joint), servos);
      section.mass = weighing_mass(context.model, joint.body);
    }
    sections.push_back(section);
  }
  return SectionTurns(std::move(sections));
}

SectionTwists ArmBinding::bind_twists(const InstanceContext& context,
                                      const ContinuumDescription& description) {
  std::vector<TwistingSection> twists(static_cast<std::size_t>(robot_->section_count()));
  for (int i = 0; i < robot_->section_count(); ++i)
    twists[static_cast<std::size_t>(i)].bend = robot_->coordinate_index(i);
  for (const Link& link : chain_links(description)) {
    if (!link.has_twist()) continue;
    const JointAddress joint = joint_address(context, names::twist(link.section, link.index));
    twists_.push_back(joint);
    twists[static_cast<std::size_t>(link.section - 1)].hinges.push_back(
        {.mass = weighing_mass(context.model, joint.body),
         .stiffness = context.model->jnt_stiffness[joint.joint],
         .damping = joint_damping(context.model, joint)});
  }
  if (twists_.empty()) return {};
  return SectionTwists(std::move(twists));
}

std::vector<ArmTendon> ArmBinding::bind_tendons(const InstanceContext& context,
                                                const ContinuumDescription& description) {
  std::vector<ArmTendon> tendons;
  for (const Tendon& tendon : description.tendons) tendons.push_back(bind_tendon(context, tendon));
  for (const Chamber& chamber : description.chambers)
    tendons.push_back(bind_chamber(context, chamber));
  return tendons;
}

ArmBinding::EngineTendon ArmBinding::add_tendon(const InstanceContext& context,
                                                const std::string& name) {
  const mjModel* m = context.model;
  const EngineTendon ids{context.require(mjOBJ_TENDON, name),
                         context.require(mjOBJ_ACTUATOR, name)};
  tendons_.push_back(ids.tendon);
  actuators_.push_back(ids.actuator);
  activations_.push_back(m->actuator_actadr[ids.actuator]);
  return ids;
}

ArmTendon ArmBinding::bind_tendon(const InstanceContext& context, const Tendon& tendon) {
  const mjModel* m = context.model;
  const auto [id, actuator] = add_tendon(context, tendon.name);
  ArmTendon bound{.joints = lengths_per_joint(m, base_body_, id, joints_),
                  .takes_length = tendon.command == TendonCommand::Length,
                  .min_tension = tendon.pretension,
                  .max_tension = m->actuator_forcerange[2 * actuator + 1]};
  if (bound.takes_length) {
    const mjtNum* bias = m->actuator_biasprm + actuator * mjNBIAS;
    bound.stiffness = -bias[1];
    bound.offset = bias[0] + bound.stiffness * m->tendon_length0[id];
    bound.damping = numerical_damping_time(m) * bound.stiffness - bias[2];
  }
  return bound;
}

ArmTendon ArmBinding::bind_chamber(const InstanceContext& context, const Chamber& chamber) {
  const mjModel* m = context.model;
  const auto [id, actuator] = add_tendon(context, chamber.name);
  const mjtNum* const gain = m->actuator_gainprm + actuator * mjNGAIN;
  const mjtNum gear = m->actuator_gear[6 * actuator];
  const mjtNum* const pressure = m->actuator_ctrlrange + 2 * actuator;
  ArmTendon bound{.joints = lengths_per_joint(m, base_body_, id, joints_), .takes_length = false};
  bound.gain = -gear * gain[0];
  if (m->actuator_gaintype[actuator] == mjGAIN_AFFINE) bound.gain_slope = -gear * gear * gain[1];
  const auto [low, high] = std::minmax({bound.gain * pressure[0], bound.gain * pressure[1]});
  bound.limit = bound.min_tension = low;
  bound.max_tension = high;
  bound.time_constant = chamber.time_constant;
  return bound;
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
    for (int i = 0; i < robot_->section_count(); ++i, ++offset) {
      if (tendon.friction_coefficient == 0.0 || !tendon.route.runs_through(i)) continue;
      const int id = context.require(mjOBJ_TENDON, names::tendon_friction(tendon.name, i + 1));
      friction_offsets_[static_cast<std::size_t>(id)] = offset;
    }
  }
  section_bends_.resize(static_cast<std::size_t>(robot_->section_count()));
  friction_limits_.resize(memory_.friction.size());
}

void ArmBinding::limit_friction(mjData* d, std::span<const double> own) noexcept {
  if (friction_coefficients_.empty()) return;
  const std::size_t sections = section_bends_.size();
  for (std::size_t i = 0; i < sections; ++i)
    section_bends_[i] =
        measurement_.q.segment<2>(robot_->coordinate_index(static_cast<int>(i))).norm();
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
  const std::span<const double> commands = memory_.tendons(own);
  for (std::size_t t = 0; t < tendons_.size(); ++t)
    tendon_commands_[t] = activations_[t] >= 0 ? d->act[activations_[t]] : commands[t];
  if (contacts_) contacts_->read(m, d, memory_.link_force(own));
  measure_chain(state_, own, out);
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

void ArmBinding::measure_chain(const ArmMechanics::State& state, std::span<const double> own,
                               ArmMeasurement& out) noexcept {
  mechanics_.measure(state, memory_.feed_setpoint(own), out);
  if (!twists_.empty()) out.twist_swing -= memory_.swing_mean(own);
  mechanics_.measure_actuators(memory_.moments(own), state, tendon_commands_, out);
  if (!contacts_) return;
  const auto command = memory_.command(own);
  contacts_->response().measure(state, {command.data(), static_cast<std::size_t>(command.size())},
                                controller_->senses_response(), out);
  if (controller_->senses_response()) mechanics_.frames().untwist_columns(out.tip_response);
}

bool ArmBinding::sense(const Sensed& sensed, ArmMeasurement& seen) noexcept {
  if (!sensed_) return false;
  seen_state_.p_WB = state_.p_WB;
  seen_state_.R_WB = state_.R_WB;
  seen_state_.feed = state_.feed;
  seen_state_.spin = state_.spin;
  sensed_->sense(sensed.readings, sensed.arrived, tendon_commands_, memory_.sensed(sensed.next_own),
                 seen_state_);
  if (contacts_) contacts_->response().clear();  // no sensor tells of them
  measure_chain(seen_state_, sensed.next_own, seen);
  return true;
}

bool ArmBinding::command_is_finite() const noexcept {
  return command_.q.allFinite() && command_.q_rate.allFinite() && command_.moment.allFinite() &&
         command_.tension.allFinite() && std::isfinite(command_.base.feed) &&
         std::isfinite(command_.base.spin) && std::isfinite(command_.feed_rate) &&
         command_.carrier.allFinite() && command_.carrier_rate.allFinite();
}

void ArmBinding::setpoints(std::span<double> next_own, std::span<double> all) noexcept {
  const std::span<double> setpoints = all.first(all.size() - carrier_.size());
  const std::span<double> of_carrier = all.last(carrier_.size());
  for (std::size_t j = 0; j < carrier_.size(); ++j) {
    const BoundJoint& joint = carrier_[j];
    const auto k = static_cast<Eigen::Index>(j);
    of_carrier[j] = joint.servo.setpoint(
        command_.carrier[k], carrier_feed_forward_ * command_.carrier_rate[k],
        gravity_load(carrier_states_[j], joint.mass, carrier_gravity_, joint.is_slide));
  }
  const ArmMechanics::State& state = seen_state();
  mechanics_.setpoints(state, measurement_, command_, memory_.turns(next_own),
                       memory_.twists(next_own), setpoints);
  memory_.command(next_own) = mechanics_.joint_command();
  if (!twists_.empty())
    memory_.swing_mean(next_own) +=
        std::min(1.0, kSwingRate * mechanics_.twists().swing_frequency() * measurement_.timestep) *
        measurement_.twist_swing;
  mechanics_.servo_moments(state, setpoints, memory_.moments(next_own));
  if (sensed_) sensed_->command(state, setpoints, memory_.sensed(next_own));
  const std::span<const double> tendons = setpoints.last(tendons_.size());
  std::copy(tendons.begin(), tendons.end(), memory_.tendons(next_own).begin());
  if (mechanics_.has_feed())
    memory_.feed_setpoint(next_own) = setpoints[static_cast<std::size_t>(mechanics_.feed().servo)];
}

FollowingError ArmBinding::following_error(int last_touched) const noexcept {
  FollowingError error;
  const auto add = [&](int body, double meant, double measured, bool is_length) {
    error.add(std::abs(meant - measured), is_length, body > last_touched);
  };
  const BaseState& base = measurement_.base;
  std::size_t first = 0;
  for (std::size_t k = 0; k < mechanics_.coordinates().size(); ++k) {
    const ArmCoordinate& coordinate = mechanics_.coordinates()[k];
    if (coordinate.joints.empty()) continue;
    const auto i = static_cast<Eigen::Index>(k);
    const double exposed = mechanics_.exposed_fraction(coordinate, base.feed);
    const double possible = command_.q[i] + mechanics_.tendon_drive().length_given_up(i);
    if (!coordinate.is_passive)
      add(joints_[first].body, coordinate.offset + exposed * (possible - coordinate.offset),
          measurement_.q[i], coordinate.is_slide);
    first += coordinate.joints.size();
  }
  if (feed_.joint >= 0) add(feed_.body, command_.base.feed, base.feed, true);
  if (spin_.joint >= 0) add(spin_.body, command_.base.spin, base.spin, false);
  for (std::size_t j = 0; j < carrier_.size(); ++j)
    add_joint(error, carrier_[j], carrier_states_[j],
              command_.carrier[static_cast<Eigen::Index>(j)], last_touched);
  return error;
}

void ArmBinding::forget_command() noexcept {
  if (controller_->commands() == CommandKind::Setpoints)
    command_.q.setZero();
  else
    command_.q = sensed_ ? seen().q : measurement_.q;
  command_.q_rate.setZero();
  command_.moment.setZero();
  command_.tension.setZero();
  command_.plan.setZero();
  command_.base = {};
  command_.feed_rate = 0.0;
  command_.carrier = measurement_.carrier;
  command_.carrier_rate.setZero();
  command_.has_plan = true;
}

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
