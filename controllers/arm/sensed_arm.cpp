#include "controllers/arm/sensed_arm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::VectorXd;

/// The sum over a coordinate's own servo, or over those of its joints, weighted with their
/// fractions.
/// @param of  of a servo, the fraction of the coordinate that it sees, and the joint; -1: all
template <class Of>
double over_servos(const ArmCoordinate& coordinate, const Of& of) {
  if (coordinate.servo >= 0) return of(static_cast<std::size_t>(coordinate.servo), 1.0, -1);
  double sum = 0.0;
  int j = 0;
  for (const ArmJoint& joint : coordinate.joints) {
    if (joint.servo >= 0)
      sum += joint.fraction * of(static_cast<std::size_t>(joint.servo), joint.fraction, j);
    ++j;
  }
  return sum;
}

bool has_servo(const ArmCoordinate& coordinate) {
  return !coordinate.is_motor &&
         (coordinate.servo >= 0 ||
          std::ranges::any_of(coordinate.joints, [](const ArmJoint& j) { return j.servo >= 0; }));
}

/// What holds a coordinate: its servos with all that is passive, or its joints alone.
CoordinateSpring spring_of(const ArmCoordinate& coordinate, std::span<const Servo> servos) {
  if (coordinate.joints.empty()) return {1.0, 1.0, 0.0};  // across the plane of the bend
  if (has_servo(coordinate)) {
    return {
        over_servos(coordinate, [&](std::size_t s, double f, int) { return f * servos[s].gain; }),
        over_servos(coordinate,
                    [&](std::size_t s, double f, int) {
                      return f * (servos[s].damping + servos[s].passive_damping);
                    }),
        coordinate.offset};
  }
  double rest = 0.0;
  for (const ArmJoint& joint : coordinate.joints) rest += joint.rest;
  return {ArmMechanics::series_stiffness(coordinate), coordinate.damping,
          coordinate.sign * rest + coordinate.offset};
}

/// What contacts and twist do to a disturbed arm is in d and b of its state. So its force at the
/// tip, which does not know where they are, is small.
ArmEstimatorOptions estimator_options(const ContinuumRobot& robot, const ArmMechanics& mechanics,
                                      const ArmObservations& observations,
                                      const SensedArm::Options& of) {
  ArmEstimatorOptions options{.timestep = of.timestep,
                              .tension_deviations = observations.tension_deviations};
  if (!of.disturbed) return options;
  const double length = straight_length(robot);
  double stiffness = std::numeric_limits<double>::infinity();
  for (const ArmCoordinate& coordinate : mechanics.coordinates())
    if (!coordinate.joints.empty())
      stiffness = std::min(stiffness, spring_of(coordinate, mechanics.servos()).stiffness);
  options.bend_noise = 0.003;
  options.load_deviation = 0.3;
  options.offset_deviation = 0.005 * length;
  options.start_force = options.force_noise = 0.1 * stiffness / length;
  return options;
}

bool has_drums(const ArmObservations& observations) {
  return std::ranges::any_of(observations.uses, [](const auto& use) { return use.drum_of >= 0; });
}

/// Refuses arms that the estimator does not describe.
void require_described(const ArmMechanics& mechanics, const ArmObservations& observations,
                       ContactNeed contacts) {
  const auto refuse = [](const std::string& what) {
    throw ModelError("measured = sensors: " + what + ": must be \"truth\"");
  };
  if (mechanics.options().guide_length > 0.0 &&
      (contacts == ContactNeed::Tip || contacts == ContactNeed::Grip))
    refuse("the controller works by contacts, and the arm has a guide, which it touches");
  if (observations.sensors.empty() && !has_drums(observations))
    refuse("the robot file has no [[sensor]] that tells the shape");
  for (std::size_t k = 0; k < mechanics.coordinates().size(); ++k) {
    const CoordinateSpring spring = spring_of(mechanics.coordinates()[k], mechanics.servos());
    if (!(spring.stiffness > 0.0 && spring.damping > 0.0))
      refuse("nothing holds coordinate " + std::to_string(k + 1) + " of the arm");
  }
}

}  // namespace

SensedArm::Memory::Memory(int n, int t, const ArmObservations& observations, const Options& of_arm)
    : options(of_arm),
      estimator(layout.part(
          ArmEstimatorMemory(n, t, options.disturbed, observations.sensors, options.timestep)
              .layout)),
      began(layout.flag()),
      moment(layout.vector(n)),
      tensions(layout.vector(t)),
      drums(layout.vector(has_drums(observations) ? t : 0)) {
  if (options.contacts == ContactNeed::Tip) contact = layout.part(SensedContact::Memory().layout);
}

ElasticArm SensedArm::elastic_arm(const ContinuumRobot& robot, const ArmMechanics& mechanics,
                                  std::span<const TendonRoute> routes, const ArmChain& chain,
                                  const Eigen::Vector3d& gravity, bool disturbed) {
  ElasticArmParameters parameters;
  for (const ArmCoordinate& coordinate : mechanics.coordinates())
    parameters.springs.push_back(spring_of(coordinate, mechanics.servos()));
  for (int i = 0; i < robot.section_count(); ++i) {
    // A servo of the whole section leaves its joints to their springs.
    const auto k = static_cast<std::size_t>(robot.coordinate_index(i));
    const bool bends_u = !mechanics.coordinates()[k].joints.empty();
    const ArmCoordinate& bend = mechanics.coordinates()[bends_u ? k : k + 1];
    parameters.uneven_stiffnesses.push_back(
        bend.servo >= 0 ? ArmMechanics::series_stiffness(bend)
                        : parameters.springs[bends_u ? k : k + 1].stiffness);
  }
  parameters.section_masses.assign(static_cast<std::size_t>(robot.section_count()), 0.0);
  for (const ArmChain::Mass& mass : chain.masses()) {
    if (!mass.moves) {
      parameters.root_mass += mass.mass;
      continue;
    }
    double end = 0.0;
    int i = 0;
    while (i < robot.section_count()) {
      end += robot.section(i).length() + robot.section(i).variable_length() / 2.0;
      if (mass.distance < end) break;
      ++i;
    }
    if (i < robot.section_count())
      parameters.section_masses[static_cast<std::size_t>(i)] += mass.mass;
    else
      parameters.payload += mass.mass;
  }
  parameters.gravity = gravity;
  parameters.guide_length = mechanics.options().guide_length;
  parameters.disturbed = disturbed;
  parameters.tendons.assign(routes.begin(), routes.end());
  for (const ArmTendon& tendon : mechanics.tendon_drive().tendons()) {
    parameters.tendon_stiffnesses.push_back(tendon.holding_stiffness());
    parameters.tendon_dampings.push_back(tendon.takes_length ? tendon.damping : 0.0);
  }
  return ElasticArm(robot, parameters);
}

SensedArm::SensedArm(const ContinuumRobot& robot, const ArmMechanics& mechanics,
                     std::span<const TendonRoute> routes, ArmChain chain,
                     ArmObservations observations, const Eigen::Vector3d& gravity,
                     const std::optional<Eigen::Matrix3d>& R_WB, const VectorXd& q,
                     const Memory& memory)
    : mechanics_(mechanics),
      chain_(
          (require_described(mechanics, observations, memory.options.contacts), std::move(chain))),
      observations_(std::move(observations)),
      tendons_(robot, routes),
      estimator_(elastic_arm(robot, mechanics, routes, chain_,
                             R_WB ? Eigen::Vector3d(R_WB->transpose() * gravity) : gravity,
                             memory.options.disturbed),
                 observations_.sensors,
                 estimator_options(robot, mechanics, observations_, memory.options)),
      memory_(memory),
      gravity_(gravity),
      start_(q),
      estimate_(estimator_.empty_estimate()),
      input_{VectorXd::Zero(tendons_.tendon_count()), VectorXd::Zero(q.size()), {}},
      lengths_(VectorXd::Zero(tendons_.tendon_count())),
      speeds_(lengths_),
      frames_(mechanics.turns().bends()),
      bent_(q),
      turned_(q) {
  for (int s = 0; s < estimator_.sensors().count(); ++s) {
    const VectorXd& values =
        values_.emplace_back(VectorXd::Zero(estimator_.sensors().reading_size(s)));
    arrived_.push_back({s, {values.data(), static_cast<std::size_t>(values.size())}});
  }
  if (!R_WB) moving_gravity_ = true;
  if (memory.options.contacts != ContactNeed::Tip) return;
  const ArmSensors& sensors = estimator_.sensors();
  for (int s = 0; s < sensors.count(); ++s) {
    if (sensors[s].kind == SensorKind::BaseForce) base_force_ = s;
    if (sensors[s].kind == SensorKind::BaseMoment) base_moment_ = s;
  }
  contact_.emplace(estimator_.arm(), sensors[base_force_].deviation,
                   sensors[base_moment_].deviation, memory.options.timestep);
}

/// Collects the readings of the estimator's sensors, and keeps the tensions.
void SensedArm::read(std::span<const double> readings, std::span<const bool> arrived,
                     std::span<double> next) noexcept {
  for (VectorXd& values : values_) values.setConstant(std::numeric_limits<double>::quiet_NaN());
  std::size_t first = 0;
  for (std::size_t i = 0; i < observations_.uses.size(); ++i) {
    const ArmObservations::Use& use = observations_.uses[i];
    const auto width = static_cast<std::size_t>(use.is_orientation ? 4 : use.width);
    const std::span<const double> numbers = readings.subspan(first, width);
    first += width;
    if (use.tension_of >= 0 && std::isfinite(numbers[0]))
      memory_.tensions(next)[use.tension_of] = numbers[0];
    if (!arrived[i] || use.sensor < 0 || use.drum_of >= 0) continue;
    const std::span<double> values = std::span(values_[static_cast<std::size_t>(use.sensor)].data(),
                                               static_cast<std::size_t>(use.index + use.width))
                                         .subspan(static_cast<std::size_t>(use.index));
    if (use.is_orientation) {
      const Eigen::Quaterniond q(numbers[0], numbers[1], numbers[2], numbers[3]);
      const Eigen::Matrix3d R = q.normalized().toRotationMatrix();
      const bool is_direction = estimator_.sensors()[use.sensor].kind == SensorKind::Direction;
      Eigen::Vector3d::Map(values.data()) =
          is_direction ? Eigen::Vector3d(R.col(2)) : rotation_vector(R);
      continue;
    }
    for (std::size_t j = 0; j < values.size(); ++j)
      values[j] = use.factor * numbers[j] + use.offset;
  }
}

/// Finds the frames of sections that turn.
void SensedArm::set_frames(const ArmMechanics::State& state) noexcept {
  if (frames_.empty()) return;
  frames_.reset();
  mechanics_.turns().measure(state.turns, frames_);
}

/// Collects the readings of drums. Where the tension T is measured too, the length of the tendon is
/// what is paid out and stretched, l = c + (T - p) / k: unless it is slack.
void SensedArm::read_drums(std::span<const double> readings, std::span<const bool> arrived,
                           std::span<double> next) noexcept {
  constexpr double kSlack = 6.0;  // deviations of the tension: no noise makes a slack one taut
  std::size_t first = 0;
  for (std::size_t i = 0; i < observations_.uses.size(); ++i) {
    const ArmObservations::Use& use = observations_.uses[i];
    const double drum = readings[first];
    first += static_cast<std::size_t>(use.is_orientation ? 4 : use.width);
    if (use.drum_of < 0 || !arrived[i] || !std::isfinite(drum)) continue;
    memory_.drums(next)[use.drum_of] = drum;
    if (use.sensor < 0) continue;
    const auto t = static_cast<std::size_t>(use.drum_of);
    const double tension = memory_.tensions(next)[use.drum_of];
    if (tension <= kSlack * observations_.tension_deviations[t]) continue;
    const ArmTendon& tendon = mechanics_.tendon_drive().tendons()[t];
    values_[static_cast<std::size_t>(use.sensor)][use.index] =
        drum + (tension - tendon.offset) / tendon.stiffness;
  }
}

void SensedArm::sense(std::span<const double> readings, std::span<const bool> arrived,
                      std::span<const double> tendon_commands, std::span<double> next,
                      ArmMechanics::State& state) noexcept {
  const std::span<double> own = memory_.estimator(next);
  if (!memory_.began(next)) {
    for (std::size_t k = 0; k < mechanics_.coordinates().size(); ++k) {
      const double outside =
          mechanics_.exposed_fraction(mechanics_.coordinates()[k], state.feed.position);
      const auto row = static_cast<Eigen::Index>(k);
      estimate_.q[row] = outside > 0.0 ? start_[row] / outside : 0.0;
    }
    estimator_.start(own, estimate_.q);
    if (contact_) contact_->start(memory_.contact(next));
    memory_.began(next) = true;
    for (Eigen::Index t = 0; t < memory_.drums(next).size(); ++t)
      memory_.drums(next)[t] = tendon_commands[static_cast<std::size_t>(t)];
  }
  read(readings, arrived, next);
  read_drums(readings, arrived, next);
  set_frames(state);
  turn_readings();
  // Tensions at the commands of the last step, or where the drums are, at the shape that was
  // estimated then.
  estimate_.q = estimator_.coordinates(own);
  tendons_.lengths(estimate_.q, lengths_);
  const std::span<const ArmTendon> tendons = mechanics_.tendon_drive().tendons();
  for (std::size_t t = 0; t < tendons.size(); ++t) {
    const auto k = static_cast<Eigen::Index>(t);
    input_.tension[k] = tendons[t].tension(tendon_commands[t], lengths_[k], 0.0) -
                        tendons[t].holding_stiffness() * lengths_[k];
  }
  for (const ArmObservations::Use& use : observations_.uses) {
    if (use.drum_of < 0) continue;
    const auto k = static_cast<Eigen::Index>(use.drum_of);
    const ArmTendon& tendon = tendons[static_cast<std::size_t>(use.drum_of)];
    input_.tension[k] = tendon.tension(memory_.drums(next)[k], lengths_[k], 0.0) -
                        tendon.holding_stiffness() * lengths_[k];
  }
  for (const ArmObservations::Use& use : observations_.uses) {
    if (use.tension_of < 0) continue;
    const auto k = static_cast<Eigen::Index>(use.tension_of);
    const ArmTendon& tendon = tendons[static_cast<std::size_t>(use.tension_of)];
    input_.tension[k] = memory_.tensions(next)[k] - tendon.holding_stiffness() * lengths_[k];
  }
  input_.moment = memory_.moment(next);
  input_.base = {state.feed.position, state.spin.position};
  if (moving_gravity_) estimator_.set_gravity(state.R_WB.transpose() * gravity_);
  (void)estimator_.step(own, input_, arrived_);
  estimator_.mean(own, estimate_);
  if (contact_) {
    const auto wrench = [&](int sensor) -> Eigen::Vector3d {
      return values_[static_cast<std::size_t>(sensor)].head<3>();
    };
    contact_->step(memory_.contact(next), estimate_.q, input_.base, wrench(base_force_),
                   wrench(base_moment_));
  }
  spread(state);
}

std::optional<SensedContact::Touch> SensedArm::touch(const Eigen::Vector3d& tip_velocity,
                                                     std::span<double> next) const noexcept {
  if (!contact_) return std::nullopt;
  return contact_->feel(memory_.contact(next), tip_velocity);
}

/// Of sections that turn: from their own frames.
void SensedArm::turn_readings() noexcept {
  for (int s = 0; s < estimator_.sensors().count() && !frames_.empty(); ++s) {
    const Sensor& sensor = estimator_.sensors()[s];
    VectorXd& values = values_[static_cast<std::size_t>(s)];
    if (sensor.kind == SensorKind::Coordinates) frames_.untwist_moments(values);
    if (sensor.kind == SensorKind::Curvature)
      frames_.untwist(static_cast<std::size_t>(sensor.place.section), values[0], values[1]);
  }
}

/// Sets the state from the estimate.
void SensedArm::spread(ArmMechanics::State& state) noexcept {
  frames_.twist(estimate_.q, estimate_.q_rate);
  std::size_t i = 0;
  for (std::size_t k = 0; k < mechanics_.coordinates().size(); ++k) {
    const ArmCoordinate& coordinate = mechanics_.coordinates()[k];
    const auto row = static_cast<Eigen::Index>(k);
    const double feed = state.feed.position;
    const double outside = mechanics_.exposed_fraction(coordinate, feed);
    for (const ArmJoint& joint : coordinate.joints) {
      const double exposed =
          outside > 0.0 ? mechanics_.exposure(joint, feed).fraction / outside : 0.0;
      const double share = coordinate.sign * exposed * joint.fraction;
      state.joints[i].position = share * (estimate_.q[row] - coordinate.offset);
      state.joints[i++].velocity = share * estimate_.q_rate[row];
    }
  }
  tendons_.lengths(estimate_.q, lengths_);
  speeds_.noalias() = tendons_.jacobian() * estimate_.q_rate;
  for (std::size_t t = 0; t < state.tendons.size(); ++t) {
    const auto k = static_cast<Eigen::Index>(t);
    state.tendons[t] = {lengths_[k], speeds_[k]};
  }
  for (JointState& hinge : state.twists.hinges) hinge.position = hinge.velocity = 0.0;
  chain_.place(state);
  double twist = twist_by_gravity(state);
  if (twist != 0.0) chain_.place(state);
  if (!frames_.empty()) twist += frames_.tip_angle();
  state.p_WE = state.p_WB + state.R_WB * estimate_.X_BE.translation();
  state.R_WE = state.R_WB * estimate_.X_BE.linear() *
               Eigen::AngleAxisd(twist, Eigen::Vector3d::UnitZ()).toRotationMatrix();
}

/// Twists the links of a chain that is placed without, as gravity does. Returns the sum [rad].
double SensedArm::twist_by_gravity(ArmMechanics::State& state) const noexcept {
  double sum = 0.0;
  auto hinge = state.twists.hinges.begin();
  for (const TwistingSection& section : mechanics_.twists().sections()) {
    for (const TwistingSection::Hinge& of : section.hinges) {
      hinge->position = gravity_load(*hinge, of.mass, gravity_, false) / of.stiffness;
      sum += hinge++->position;
    }
  }
  return sum;
}

void SensedArm::command(const ArmMechanics::State& state, std::span<const double> setpoints,
                        std::span<double> next) noexcept {
  const std::span<const Servo> servos = mechanics_.servos();
  auto moments = memory_.moment(next);
  std::size_t first = 0;
  for (std::size_t k = 0; k < mechanics_.coordinates().size(); ++k) {
    const ArmCoordinate& coordinate = mechanics_.coordinates()[k];
    double position = 0.0, velocity = 0.0;
    const std::size_t start = first;
    for (; first < start + coordinate.joints.size(); ++first) {
      position += state.joints[first].position;
      velocity += state.joints[first].velocity;
    }
    const double moment = over_servos(coordinate, [&](std::size_t s, double, int joint) {
      const Servo& servo = servos[s];
      if (coordinate.is_motor) return std::clamp(setpoints[s], servo.min_force, servo.max_force);
      // Less what the spring of the body has of it.
      const JointState* const own =
          joint < 0 ? nullptr : &state.joints[start + static_cast<std::size_t>(joint)];
      const double at = own != nullptr ? own->position : position;
      const double rate = own != nullptr ? own->velocity : velocity;
      return servo.force(setpoints[s], at, rate) - servo.offset + servo.stiffness * at +
             servo.damping * rate;
    });
    moments[static_cast<Eigen::Index>(k)] =
        std::isfinite(moment) ? coordinate.sign * moment : 0.0;  // memory has numbers
    bent_[static_cast<Eigen::Index>(k)] = coordinate.sign * position;
  }
  if (frames_.empty()) return;
  // The damping is that of the rates in the sections' own frames.
  set_frames(state);
  turned_.setZero();
  frames_.untwist(bent_, turned_);
  frames_.untwist_moments(moments);
  for (Eigen::Index k = 0; k < moments.size(); ++k)
    moments[k] +=
        estimator_.arm().parameters().springs[static_cast<std::size_t>(k)].damping * turned_[k];
}

}  // namespace tendril
