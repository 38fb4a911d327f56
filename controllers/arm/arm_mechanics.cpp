#include "controllers/arm/arm_mechanics.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {

using Eigen::Vector3d;

ArmMechanics::ArmMechanics(std::vector<ArmCoordinate> coordinates, const ArmBaseJoint& feed,
                           const ArmBaseJoint& spin, std::vector<Servo> servos,
                           const Options& options, std::vector<ArmTendon> tendons,
                           SectionTurns turns, SectionTwists twists)
    : coordinates_(std::move(coordinates)),
      feed_(feed),
      spin_(spin),
      servos_(std::move(servos)),
      options_(options),
      load_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(coordinates_.size()))),
      motion_(static_cast<Eigen::Index>(coordinates_.size())),
      turns_(std::move(turns)),
      twists_(std::move(twists)),
      frames_(turns_.empty() ? twists_.bends() : turns_.bends()),
      own_(RobotSizes{static_cast<int>(coordinates_.size()), static_cast<int>(tendons.size())}),
      turn_rates_(turns_.count()) {
  std::size_t joints = 0;
  for (const ArmCoordinate& coordinate : coordinates_) {
    first_joint_.push_back(joints);
    stiffness_.push_back(series_stiffness(coordinate));
    joints += coordinate.joints.size();
  }
  joint_load_.assign(joints, 0.0);
  if (tendons.empty()) return;
  Eigen::MatrixXd jacobian =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(tendons.size()), load_.size());
  std::vector<TendonDrive::Bend> bends;
  std::size_t i = 0;
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const ArmCoordinate& coordinate = coordinates_[k];
    const auto column = static_cast<Eigen::Index>(k);
    double rest = 0.0;
    for (const ArmJoint& joint : coordinate.joints) {
      for (std::size_t t = 0; t < tendons.size(); ++t) {
        jacobian(static_cast<Eigen::Index>(t), column) +=
            coordinate.sign * joint.fraction * tendons[t].joints[i];
      }
      rest += coordinate.sign * joint.rest;
      ++i;
    }
    if (coordinate.has_tendons && !coordinate.joints.empty())
      bends.push_back(
          {.coordinate = column,
           .body = {.stiffness = stiffness_[k], .damping = coordinate.damping, .rest = rest},
           .is_length = coordinate.is_slide});
  }
  tendons_ = TendonDrive(std::move(tendons), std::move(jacobian), std::move(bends));
}

double ArmMechanics::series_stiffness(const ArmCoordinate& coordinate) noexcept {
  double compliance = 0.0;
  for (const ArmJoint& joint : coordinate.joints) compliance += 1.0 / joint.stiffness;
  return compliance > 0.0 ? 1.0 / compliance : 0.0;
}

ArmMechanics::State ArmMechanics::make_state() const {
  State state;
  state.joints.resize(joint_load_.size());
  state.tendons.resize(tendons_.tendons().size());
  state.turns.resize(turns_.count());
  state.twists = twists_.make_state();
  state.R_WB.setIdentity();
  state.R_WE.setIdentity();
  return state;
}

void ArmMechanics::measure(const State& state, double feed_setpoint, ArmMeasurement& out) noexcept {
  const auto& R_WB = state.R_WB;
  out.X_BE.translation().noalias() = R_WB.transpose() * (state.p_WE - state.p_WB);
  out.X_BE.linear().noalias() = R_WB.transpose() * state.R_WE;
  Vector3d deflection = Vector3d::Zero();
  // Sections end in their last joints. What turns the end of one displaces that of the next.
  Vector3d start = state.p_WB, turn = Vector3d::Zero();
  bool is_first = true, has_end = false;  // of the two bends of a section
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const Sag sag = measure_coordinate(k, state, out);
    deflection += sag.of_tip;
    if (coordinates_[k].is_slide) continue;
    if (is_first) has_end = false;
    if (!has_end && !coordinates_[k].joints.empty()) {
      out.uneven_deflection.col(static_cast<Eigen::Index>(k)) +=
          R_WB.transpose() * turn.cross(sag.end - start);
      start = sag.end;
      has_end = true;
    }
    turn += sag.turn;
    is_first = !is_first;
  }
  out.gravity_deflection.noalias() = R_WB.transpose() * deflection;
  frames_.reset();
  if (!turns_.empty()) turns_.measure(state.turns, frames_);
  if (!twists_.empty()) measure_twists(state, out);
  frames_.untwist(out.q, out.q_rate);
  frames_.untwist_moments(out.gravity_moment);
  frames_.untwist_columns(out.tip_jacobian);
  measure_base(state, feed_setpoint, out);
}

/// Measures a coordinate, its tip Jacobian column and gravity load in one pass over its joints.
ArmMechanics::Sag ArmMechanics::measure_coordinate(std::size_t k, const State& state,
                                                   ArmMeasurement& out) noexcept {
  const ArmCoordinate& coordinate = coordinates_[k];
  const auto row = static_cast<Eigen::Index>(k);
  const auto& R_WB = state.R_WB;
  std::size_t i = first_joint_[k];
  double sum = 0.0, speed = 0.0, load = 0.0;
  // Rates of the tip, and of the section's end, where its last joint is; the same times the load.
  Vector3d move = Vector3d::Zero(), rotation = Vector3d::Zero(), loaded_move = Vector3d::Zero();
  Vector3d own_move = Vector3d::Zero(), own_loaded_move = Vector3d::Zero();
  Vector3d loaded_rotation = Vector3d::Zero();
  Vector3d end = Vector3d::Zero();
  if (!coordinate.joints.empty()) end = state.joints[i + coordinate.joints.size() - 1].anchor;
  for (const ArmJoint& joint : coordinate.joints) {
    const JointState& at = state.joints[i];
    sum += at.position;
    speed += at.velocity;
    const double g = gravity_load(at, joint.mass, options_.gravity, coordinate.is_slide);
    Vector3d tip_rate = at.axis;
    if (!coordinate.is_slide) {
      tip_rate = at.axis.cross(state.p_WE - at.anchor);
      rotation += joint.fraction * at.axis;
    }
    joint_load_[i++] = g;
    load += joint.fraction * g;
    move += joint.fraction * tip_rate;
    loaded_move += (joint.fraction * g) * tip_rate;
    if (!coordinate.is_slide) {
      const Vector3d own_rate = at.axis.cross(end - at.anchor);
      own_move += joint.fraction * own_rate;
      own_loaded_move += (joint.fraction * g) * own_rate;
      loaded_rotation += (joint.fraction * g) * at.axis;
    }
  }
  load_[row] = load;
  motion_.position[row] = coordinate.sign * sum;
  motion_.speed[row] = coordinate.sign * speed;
  out.q[row] = coordinate.sign * sum + coordinate.offset;
  out.q_rate[row] = motion_.speed[row];
  out.gravity_moment[row] = coordinate.sign * load;
  out.tip_jacobian.col(row).head<3>().noalias() = R_WB.transpose() * (coordinate.sign * move);
  out.tip_jacobian.col(row).tail<3>().noalias() = R_WB.transpose() * (coordinate.sign * rotation);

  // Deflection of joint i in excess of its fraction: fraction_i (g_i - mean g) / stiffness. It is
  // zero with a servo on every joint.
  const bool shares_actuator = coordinate.servo >= 0 || coordinate.has_tendons;
  if (!shares_actuator || !(stiffness_[k] > 0.0)) {
    out.uneven_deflection.col(row).setZero();
    return {.end = end};
  }
  out.uneven_deflection.col(row).noalias() =
      R_WB.transpose() * ((own_loaded_move - load * own_move) / stiffness_[k]);
  return {.of_tip = (loaded_move - load * move) / stiffness_[k],
          .turn = (loaded_rotation - load * rotation) / stiffness_[k],
          .end = end};
}

/// Turns the sections' frames by the twist, and adds to the deflections what gravity's twist does
/// within the sections.
void ArmMechanics::measure_twists(const State& state, ArmMeasurement& out) noexcept {
  const auto to_base = state.R_WB.transpose();
  Vector3d start = Vector3d::Zero();  // displacement of the section's start
  SectionTwists::Displacement whole;
  twists_.measure(state.twists, options_.gravity, frames_,
                  [&](Eigen::Index bend, const SectionTwists::Displacement& so_far) {
                    auto k = static_cast<std::size_t>(bend);
                    if (coordinates_[k].joints.empty()) ++k;  // it bends in the other plane alone
                    const std::size_t last = first_joint_[k] + coordinates_[k].joints.size() - 1;
                    const Vector3d end = so_far.at(state.joints[last].anchor);
                    out.uneven_deflection.col(bend) += to_base * (end - start);
                    start = end;
                    whole = so_far;
                  });
  out.gravity_deflection += to_base * whole.at(state.p_WE);
  out.tip_twist = twists_.tip_twist();
  out.twist_swing.head<3>() = to_base * twists_.swing().at(state.p_WE);
  out.twist_swing.tail<3>() = to_base * twists_.swing().turn();
}

/// Measures feed and spin, and the force of the feed servo.
void ArmMechanics::measure_base(const State& state, double feed_setpoint,
                                ArmMeasurement& out) const noexcept {
  const auto& R_WB = state.R_WB;
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  out.base = {};
  if (feed_.servo >= 0) {
    const JointState& feed = state.feed;
    out.base.feed = feed.position;
    out.tip_jacobian.col(n).head<3>().noalias() = R_WB.transpose() * feed.axis;
    out.feed_force = servos_[feed_.servo].force(feed_setpoint, feed.position, feed.velocity);
  }
  if (spin_.servo >= 0) {
    const JointState& spin = state.spin;
    out.base.spin = spin.position;
    out.tip_jacobian.col(n + 1).head<3>().noalias() =
        R_WB.transpose() * spin.axis.cross(state.p_WE - spin.anchor);
    out.tip_jacobian.col(n + 1).tail<3>().noalias() = R_WB.transpose() * spin.axis;
  }
}

void ArmMechanics::measure_actuators(std::span<const double> servo_moments, const State& state,
                                     std::span<const double> commands,
                                     ArmMeasurement& out) const noexcept {
  for (std::size_t t = 0; t < state.tendons.size(); ++t) {
    const TendonDrive::Length& length = state.tendons[t];
    out.tendon_length[static_cast<Eigen::Index>(t)] = length.value;
    out.tendon_tension[static_cast<Eigen::Index>(t)] =
        tendons_.tendons()[t].tension(commands[t], length.value, length.speed);
  }
  for (std::size_t k = 0; k < servo_moments.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    out.moment[row] = servo_moments[k];
    if (!state.tendons.empty()) out.moment[row] += tendons_.force_on(row, out.tendon_tension);
  }
  frames_.untwist_moments(out.moment);
}

void ArmMechanics::servo_moments(const State& state, std::span<const double> setpoints,
                                 std::span<double> moments) const noexcept {
  const auto force = [&](int servo, double position, double velocity) {
    const auto s = static_cast<std::size_t>(servo);
    return servos_[s].force(setpoints[s], position, velocity);
  };
  std::size_t i = 0;
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const ArmCoordinate& coordinate = coordinates_[k];
    double moment = 0.0, position = 0.0, velocity = 0.0;
    for (const ArmJoint& joint : coordinate.joints) {
      const JointState& at = state.joints[i++];
      position += at.position;
      velocity += at.velocity;
      if (joint.servo >= 0) moment += joint.fraction * force(joint.servo, at.position, at.velocity);
    }
    if (coordinate.servo >= 0) moment += force(coordinate.servo, position, velocity);
    moments[k] = std::isfinite(moment) ? coordinate.sign * moment : 0.0;  // memory has numbers
  }
}

double ArmMechanics::compensated(const Servo& servo, double desired, double load, double position,
                                 double velocity) const noexcept {
  return servo.unsaturated(desired - load / servo.gain, position, velocity);
}

void ArmMechanics::setpoints(const State& state, const ArmMeasurement& measurement,
                             const ArmCommand& command, std::span<double> turns,
                             std::span<double> twists, std::span<double> setpoints) noexcept {
  own_ = command;
  if (!twists_.empty()) {
    twists_.twist(measurement.timestep, twists, own_.q, own_.q_rate);
    frames_.twist_moments(own_.moment);
  }
  if (!turns_.empty()) turns_.twist(own_.q, own_.q_rate, turns, turn_rates_);
  if (!tendons_.tendons().empty()) command_tendons(state, own_, setpoints.subspan(servos_.size()));
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const ArmCoordinate& coordinate = coordinates_[k];
    if (coordinate.has_tendons || coordinate.is_passive) continue;
    if (coordinate.is_motor) {
      command_motor(k, own_, setpoints);
    } else if (coordinate.servo >= 0) {
      command_section(k, state, own_, setpoints);
    } else {
      command_joints(k, state, measurement.base.feed, own_, setpoints);
    }
  }
  command_base(state, own_, setpoints);
  command_turns(state, turns, setpoints);
}

double ArmMechanics::feed_forward() const noexcept {
  return options_.velocity_feed_forward ? 1.0 : 0.0;
}

/// Returns the load of tendons that run past a section with servos [N m], [N].
double ArmMechanics::tendon_load(std::size_t k) const noexcept {
  if (tendons_.tendons().empty()) return 0.0;
  return coordinates_[k].sign * tendons_.force_on(static_cast<Eigen::Index>(k));
}

void ArmMechanics::command_tendons(const State& state, const ArmCommand& command,
                                   std::span<double> commands) noexcept {
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const ArmCoordinate& coordinate = coordinates_[k];
    const auto row = static_cast<Eigen::Index>(k);
    // A passive coordinate is where it is, whatever the command.
    motion_.desired[row] =
        coordinate.is_passive ? motion_.position[row] : command.q[row] - coordinate.offset;
    motion_.rate[row] = coordinate.is_passive ? 0.0 : feed_forward() * command.q_rate[row];
    motion_.load[row] = coordinate.sign * load_[row];
  }
  switch (options_.commands) {
    case CommandKind::Setpoints:
      tendons_.commands(motion_, state.tendons, commands);
      break;
    case CommandKind::Moments:
      tendons_.commands_of_moments(command.moment, state.tendons, commands);
      break;
    case CommandKind::Tensions:
      tendons_.commands_of_tensions(command.tension, state.tendons, commands);
      break;
  }
}

void ArmMechanics::command_motor(std::size_t k, const ArmCommand& command,
                                 std::span<double> setpoints) const noexcept {
  const ArmCoordinate& coordinate = coordinates_[k];
  const Servo& motor = servos_[coordinate.servo];
  const double moment = coordinate.sign * command.moment[static_cast<Eigen::Index>(k)];
  setpoints[coordinate.servo] =
      std::clamp(moment - tendon_load(k), motor.min_force, motor.max_force);
}

/// Commands the servo that acts on a whole section.
void ArmMechanics::command_section(std::size_t k, const State& state, const ArmCommand& command,
                                   std::span<double> setpoints) const noexcept {
  const ArmCoordinate& coordinate = coordinates_[k];
  const auto row = static_cast<Eigen::Index>(k);
  const Servo& servo = servos_[coordinate.servo];
  const double desired = command.q[row] - coordinate.offset;
  if (!servo.works()) {
    setpoints[coordinate.servo] = coordinate.sign * desired;
    return;
  }
  double position = 0.0, velocity = 0.0;
  for (std::size_t j = 0; j < coordinate.joints.size(); ++j) {
    position += state.joints[first_joint_[k] + j].position;
    velocity += state.joints[first_joint_[k] + j].velocity;
  }
  setpoints[coordinate.servo] = compensated(
      servo, coordinate.sign * (desired + feed_forward() * servo.lag() * command.q_rate[row]),
      load_[row] + tendon_load(k), position, velocity);
}

/// Commands the servos of a section's joints. A link that leaves the guide moves to its fraction of
/// the command meanwhile.
void ArmMechanics::command_joints(std::size_t k, const State& state, double feed,
                                  const ArmCommand& command,
                                  std::span<double> setpoints) const noexcept {
  const ArmCoordinate& coordinate = coordinates_[k];
  const auto row = static_cast<Eigen::Index>(k);
  const double desired = command.q[row] - coordinate.offset, pull = tendon_load(k);
  std::size_t i = first_joint_[k];
  for (const ArmJoint& joint : coordinate.joints) {
    const Servo& servo = servos_[joint.servo];
    const JointState& at = state.joints[i];
    const Exposure exposed = exposure(joint, feed);
    const double rate =
        exposed.fraction * command.q_rate[row] + exposed.rate * command.feed_rate * desired;
    setpoints[joint.servo] =
        servo.works()
            ? compensated(servo,
                          coordinate.sign * joint.fraction *
                              (exposed.fraction * desired + feed_forward() * servo.lag() * rate),
                          joint_load_[i] + pull, at.position, at.velocity)
            : coordinate.sign * exposed.fraction * joint.fraction * desired;
    ++i;
  }
}

void ArmMechanics::command_base(const State& state, const ArmCommand& command,
                                std::span<double> setpoints) const noexcept {
  if (feed_.servo >= 0) {
    const Servo& servo = servos_[feed_.servo];
    const double load = feed_.mass * state.feed.axis.dot(options_.gravity);
    setpoints[feed_.servo] = servo.works() ? command.base.feed +
                                                 feed_forward() * servo.lag() * command.feed_rate -
                                                 load / servo.gain
                                           : command.base.feed;
  }
  if (spin_.servo >= 0) {
    const Servo& servo = servos_[spin_.servo];
    const double load = gravity_load(state.spin, spin_.mass, options_.gravity, false);
    setpoints[spin_.servo] = servo.works() ? compensated(servo, command.base.spin, load,
                                                         state.spin.position, state.spin.velocity)
                                           : command.base.spin;
  }
}

void ArmMechanics::command_turns(const State& state, std::span<const double> turns,
                                 std::span<double> setpoints) const noexcept {
  for (std::size_t j = 0; j < turns_.count(); ++j) {
    const Servo& servo = servos_[turns_.servo(j)];
    const JointState& at = state.turns[j];
    const double load = gravity_load(at, turns_.mass(j), options_.gravity, false);
    setpoints[turns_.servo(j)] =
        servo.works() ? compensated(servo, turns[j] + feed_forward() * servo.lag() * turn_rates_[j],
                                    load, at.position, at.velocity)
                      : turns[j];
  }
}

double ArmMechanics::exposed_fraction(const ArmCoordinate& coordinate, double feed) const noexcept {
  if (options_.guide_length <= 0.0) return 1.0;
  double sum = 0.0;
  for (const ArmJoint& joint : coordinate.joints)
    sum += joint.fraction * exposure(joint, feed).fraction;
  return sum;
}

}  // namespace tendril
