#include "binding/arm_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "binding/fundamental_mode.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/model/continuum/observations.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"

namespace tendril {
namespace {

/// Rate of the mean of what twist does to the tip, of the frequency of its swing.
constexpr double kSwingRate = 0.3;

bool has_twist(const ContinuumDescription& description) {
  return std::ranges::any_of(description.physics, [](const SectionPhysics& section) {
    return section.torsional_stiffness > 0.0;
  });
}

/// Whether contacts along the body or in a guide bend it, of which no sensor tells.
bool is_disturbed(const ContinuumDescription& description, ContactNeed contacts) {
  return description.guide.exists() || contacts == ContactNeed::Body;
}

}  // namespace

ArmLoop::Memory::Memory(const ContinuumDescription& description, bool is_sensed,
                        ContactNeed contacts, double timestep) {
  const int n = description.kinematics().coordinate_count(), t = tendon_count(description);
  command = layout.vector(n);
  moments = layout.numbers(static_cast<std::size_t>(n));
  tendons = layout.numbers(static_cast<std::size_t>(t));
  turns = layout.numbers(static_cast<std::size_t>(std::ranges::count(
      description.sections, SectionRotation::Turning, &SectionParameters::rotation)));
  if (has_twist(description)) {
    twists = layout.numbers(description.sections.size());
    swing_mean = layout.vector(6);
  }
  if (!is_sensed) return;
  sensed.emplace(n, t, observations(description, timestep),
                 SensedArm::Options{.timestep = timestep,
                                    .contacts = contacts,
                                    .disturbed = is_disturbed(description, contacts)});
  sensed_block = layout.part(sensed->layout);
}

ArmLoop::ArmLoop(const Mechanism& mechanism, const ContinuumDescription& description,
                 ArmMechanics::Options options, bool is_sensed, ContactNeed contacts,
                 ArmMeasurement& measurement)
    : robot_(description.kinematics()),
      model_(mechanism, description, std::move(options)),
      memory_(description, is_sensed, contacts, mechanism.timestep),
      timestep_(mechanism.timestep),
      twist_swing_(measurement.twist_swing),
      length_(straight_length(robot_)) {
  const FundamentalMode mode = fundamental_mode(mechanism, model_);
  measurement.fundamental_mode_damping = mode.damping;
  // Of the swing of a twist no sensor tells, so that it cannot be left out of the tip's error.
  if (is_sensed)
    measurement.fundamental_mode_damping = std::min(mode.damping, twist_damping(mechanism, model_));
  measurement.swing_period = swing_period(mode);
  const auto add_joint = [&](int joint, const ArmBaseJoint& base) {
    if (joint < 0) return;
    const std::string& name = mechanism.joints[static_cast<std::size_t>(joint)].name;
    const int actuator = model_.actuators[static_cast<std::size_t>(base.servo)];
    drives_.push_back({name, actuator});
    drives_.push_back({name + "_rate", actuator});
  };
  add_joint(model_.feed, mechanics().feed());
  add_joint(model_.spin, mechanics().spin());
  for (std::size_t j = 0; j < model_.turns.size(); ++j)
    add_joint(model_.turns[j], {.servo = mechanics().turns().servo(j)});
  for (std::size_t t = 0; t < model_.tendons.size(); ++t) {
    const int actuator = model_.actuators[mechanics().servos().size() + t];
    const Mechanism::Actuator& of = mechanism.actuators[static_cast<std::size_t>(actuator)];
    if (!of.is_slow) continue;
    drives_.push_back({of.name, actuator});
    slow_tendons_.push_back(t);
  }
}

void ArmLoop::use_sensors(const Mechanism& mechanism, const ContinuumDescription& description,
                          const Eigen::Vector3d& gravity,
                          const std::optional<Eigen::Matrix3d>& R_WB) {
  ArmObservations seen = observations(description, mechanism.timestep);
  for (ArmObservations::Use& use : seen.uses) {
    if (use.sensor < 0 || use.drum_of >= 0 ||
        seen.sensors[static_cast<std::size_t>(use.sensor)].kind != SensorKind::TendonLength)
      continue;
    const int tendon = model_.tendons[static_cast<std::size_t>(use.index)];
    use.offset = -mechanism.tendons[static_cast<std::size_t>(tendon)].length;
  }
  sensed_.emplace(robot_, mechanics(), tendon_routes(description), model_.chain(mechanism),
                  std::move(seen), gravity, R_WB, model_.start(mechanism), memory_.sensed.value());
  response_.emplace(mechanics());
}

void ArmLoop::sense(std::span<const double> readings, std::span<const bool> arrived,
                    std::span<const double> tendon_commands, std::span<double> next_own,
                    ArmMechanics::State& state) noexcept {
  sensed_->sense(readings, arrived, tendon_commands, memory_.sensed_block(next_own), state);
}

void ArmLoop::sense_contacts(const ArmMechanics::State& state, const ArmController& controller,
                             std::span<double> next_own, ArmMeasurement& out) noexcept {
  if (!controller.senses_contacts()) return;
  Eigen::Vector3d velocity = out.tip_jacobian.topRows<3>().leftCols(out.q.size()) * out.q_rate;
  velocity += out.tip_jacobian.col(out.q.size()).head<3>() * state.feed.velocity +
              out.tip_jacobian.col(out.q.size() + 1).head<3>() * state.spin.velocity;
  response_->clear();
  if (const auto touch = sensed_->touch(velocity, memory_.sensed_block(next_own)))
    response_->add({.position = state.p_WE,
                    .normal = state.R_WB * touch->normal,
                    .depth = 0.0,
                    .force = touch->force,
                    .arc_length = length_,
                    .joints = static_cast<int>(response_->chain().size()),
                    .is_guide = false,
                    .is_fixed = true});
  const auto command = memory_.command(std::span<const double>(next_own));
  response_->measure(state, {command.data(), static_cast<std::size_t>(command.size())},
                     controller.senses_response(), out);
}

void ArmLoop::measure(const ArmMechanics::State& state, std::span<const double> tendon_commands,
                      std::span<const double> own, ArmMeasurement& out) noexcept {
  model_.mechanics.measure(state, memory_.feed_setpoint(own), out);
  if (!model_.twists.empty()) out.twist_swing -= memory_.swing_mean(own);
  twist_swing_ = out.twist_swing;
  model_.mechanics.measure_actuators(memory_.moments(own), state, tendon_commands, out);
}

void ArmLoop::setpoints(const ArmMechanics::State& state, const ArmMeasurement& measurement,
                        const ArmCommand& command, std::span<double> next_own,
                        std::span<double> setpoints) noexcept {
  ArmMechanics& mechanics = model_.mechanics;
  mechanics.setpoints(state, measurement, command, memory_.turns(next_own),
                      memory_.twists(next_own), setpoints);
  memory_.command(next_own) = mechanics.joint_command();
  if (!model_.twists.empty())
    memory_.swing_mean(next_own) +=
        std::min(1.0, kSwingRate * mechanics.twists().swing_frequency() * timestep_) * twist_swing_;
}

void ArmLoop::keep(const ArmMechanics::State& state, std::span<const double> setpoints,
                   std::span<double> next_own) noexcept {
  const ArmMechanics& mechanics = model_.mechanics;
  mechanics.servo_moments(state, setpoints, memory_.moments(next_own));
  if (sensed_) sensed_->command(state, setpoints, memory_.sensed_block(next_own));
  std::ranges::copy(setpoints.last(model_.tendons.size()), memory_.tendons(next_own).begin());
  if (mechanics.has_feed())
    memory_.feed_setpoint(next_own) = setpoints[static_cast<std::size_t>(mechanics.feed().servo)];
}

void ArmLoop::read_drives(std::span<const double> readings, std::span<const double> own,
                          ArmMechanics::State& state,
                          std::span<double> tendon_commands) const noexcept {
  auto next = readings.begin();
  const auto read = [&](JointState& joint) {
    joint.position = *next++;
    joint.velocity = *next++;
  };
  if (model_.feed >= 0) read(state.feed);
  if (model_.spin >= 0) read(state.spin);
  std::ranges::for_each(state.turns, read);
  std::ranges::copy(memory_.tendons(own), tendon_commands.begin());
  for (const std::size_t t : slow_tendons_) tendon_commands[t] = *next++;
}

bool is_finite(const ArmCommand& command) noexcept {
  return command.q.allFinite() && command.q_rate.allFinite() && command.moment.allFinite() &&
         command.tension.allFinite() && std::isfinite(command.base.feed) &&
         std::isfinite(command.base.spin) && std::isfinite(command.feed_rate) &&
         command.carrier.allFinite() && command.carrier_rate.allFinite();
}

void forget(ArmCommand& command, CommandKind kind, const ArmMeasurement& measured) noexcept {
  if (kind == CommandKind::Setpoints)
    command.q.setZero();
  else
    command.q = measured.q;
  command.q_rate.setZero();
  command.moment.setZero();
  command.tension.setZero();
  command.plan.setZero();
  command.base = {};
  command.feed_rate = 0.0;
  command.carrier_rate.setZero();
  command.has_plan = true;
}

}  // namespace tendril
