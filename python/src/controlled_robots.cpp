// What the controllers of a model's robots work with, for tendril.worlds.

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controllers/arm/follow_controller.hpp"
#include "controllers/arm/reach_controller.hpp"
#include "controllers/snake/gait_controller.hpp"
#include "controllers/snake/snake_path_controller.hpp"
#include "plugin/arm_binding.hpp"
#include "plugin/controlled_robot.hpp"
#include "plugin/robot_cache.hpp"
#include "plugin/snake_binding.hpp"
#include "python/src/arrays.hpp"
#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/random_draws.hpp"

namespace tendril::python {
namespace {

nb::dict servo_dict(const Servo& servo, int actuator) {
  nb::dict out;
  out["actuator"] = actuator;
  out["gain"] = servo.gain;
  out["stiffness"] = servo.stiffness;
  out["damping"] = servo.damping;
  out["lag"] = servo.lag();
  out["offset"] = servo.offset;
  out["min_force"] = servo.min_force;
  out["max_force"] = servo.max_force;
  out["works"] = servo.works();
  return out;
}

/// Of each geom of the model.
nb::dict contact_dict(const ArmContacts& contacts, const mjModel& m) {
  nb::list links, arc_lengths, are_guides, are_fixed;
  for (int i = 0; i < m.ngeom; ++i) {
    const ArmContacts::Geom geom = contacts.geom(&m, i);
    links.append(geom.link);
    arc_lengths.append(geom.arc_length);
    are_guides.append(geom.is_guide);
    are_fixed.append(geom.is_fixed);
  }
  nb::dict out;
  out["link"] = links;
  out["arc_length"] = arc_lengths;
  out["is_guide"] = are_guides;
  out["is_fixed"] = are_fixed;
  return out;
}

/// Geoms that are obstacles, those that may move first; and whether any is hollowed at the base.
nb::dict obstacle_dict(const SceneObstacles& obstacles) {
  nb::list geoms;
  bool has_hollow = false;
  for (int i = 0; i < obstacles.obstacles().count(); ++i) {
    geoms.append(obstacles.geom(i));
    const Solid& solid = obstacles.solids()[static_cast<std::size_t>(i)];
    has_hollow |= shape_of(solid)->is_convex() && !obstacles.obstacles().shape(i)->is_convex();
  }
  nb::dict out;
  out["geoms"] = geoms;
  out["moving"] = obstacles.moving_count();
  out["has_hollow"] = has_hollow;
  return out;
}

/// Numbers as a NumPy array with these axes.
template <class Numbers>
nb::object array_of(const Numbers& numbers, const Shape& axes) {
  Output out(axes, {});
  std::copy_n(numbers.data(), numbers.size(), out.data());
  return out.take();
}

/// What drives move of an arm that they do not move altogether; matrices row by row.
nb::dict actuation_dict(const Actuation& actuation) {
  const auto n = static_cast<std::size_t>(actuation.rest.size());
  const auto drives = static_cast<std::size_t>(actuation.low.size());
  nb::dict out;
  const Eigen::MatrixXd directions = actuation.directions.transpose();
  const Eigen::MatrixXd driven = actuation.driven.transpose(), projector = actuation.projector();
  out["directions"] = array_of(directions, {n, drives});
  out["low"] = array_of(actuation.low, {drives});
  out["high"] = array_of(actuation.high, {drives});
  out["driven"] = array_of(driven, {n, n});
  out["rest"] = array_of(actuation.rest, {n});
  out["compliance"] = array_of(actuation.compliance, {n});
  out["projector"] = array_of(projector, {n, n});
  return out;
}

/// Tendons and chambers, and what only they hold.
nb::dict tendon_dict(const ArmBinding::Parts& arm) {
  const TendonDrive& drive = arm.mechanics.tendon_drive();
  const std::size_t count = drive.tendons().size(), first = arm.mechanics.servos().size();
  nb::list tendons, bends;
  for (std::size_t t = 0; t < count; ++t) {
    const ArmTendon& tendon = drive.tendons()[t];
    nb::dict row;
    row["actuator"] = arm.actuators[first + t];
    row["joints"] = tendon.joints;
    row["takes_length"] = tendon.takes_length;
    row["stiffness"] = tendon.stiffness;
    row["damping"] = tendon.damping;
    row["offset"] = tendon.offset;
    row["min_tension"] = tendon.min_tension;
    row["limit"] = tendon.limit;
    row["max_tension"] = tendon.max_tension;
    row["gain"] = tendon.gain;
    row["gain_slope"] = tendon.gain_slope;
    tendons.append(row);
  }
  for (const TendonDrive::Bend& bend : drive.bends()) {
    nb::dict row;
    row["coordinate"] = bend.coordinate;
    row["stiffness"] = bend.body.stiffness;
    row["damping"] = bend.body.damping;
    row["rest"] = bend.body.rest;
    row["lag"] = bend.body.lag;
    bends.append(row);
  }
  const Eigen::MatrixXd moments = drive.distribution().moments().transpose();  // bend by bend
  nb::dict out;
  out["tendons"] = tendons;
  out["bends"] = bends;
  out["feeds_back"] = drive.feeds_back();
  out["weights"] = array_of(drive.weights(), {drive.bends().size()});
  out["moments"] = array_of(moments, {drive.bends().size(), count});
  return out;
}

/// Hinges about the axes of the links, section by section.
nb::list twist_list(const ArmBinding::Parts& arm) {
  nb::list sections;
  std::size_t next = 0;
  for (const TwistingSection& section : arm.mechanics.twists().sections()) {
    nb::list hinges;
    for (const TwistingSection::Hinge& hinge : section.hinges)
      hinges.append(
          nb::make_tuple(arm.twists[next++].joint, hinge.mass, hinge.stiffness, hinge.damping));
    nb::dict row;
    row["bend"] = section.bend;
    row["hinges"] = hinges;
    sections.append(row);
  }
  return sections;
}

nb::dict joint_dict(const JointAddress& joint, int servo, double mass) {
  nb::dict out;
  out["joint"] = joint.joint;
  out["servo"] = servo;
  out["mass"] = mass;
  return out;
}

/// Sections of an arm of which sections turn; the joint of one that does not is -1.
nb::list turn_list(const ArmBinding::Parts& arm) {
  nb::list sections;
  std::size_t next = 0;
  for (const TurningSection& section : arm.mechanics.turns().sections()) {
    const JointAddress joint = section.servo >= 0 ? arm.turns[next++] : JointAddress{};
    nb::dict row = joint_dict(joint, section.servo, section.mass);
    row["bend"] = section.bend;
    sections.append(row);
  }
  return sections;
}

/// Faults of measurements. The kind is its number in the order of action.
nb::list fault_list(std::span<const Fault> faults, std::uint64_t seed) {
  nb::list out;
  for (const Fault& fault : faults) {
    const fault::OfMeasurement& seen = *fault.of_measurement();
    nb::dict row;
    row["name"] = fault.name;
    row["channel"] = seen.channel.name();
    row["kind"] = seen.kind.index();
    row["start"] = fault.start;
    row["end"] = fault.end;
    row["strength"] = seen.strength();
    row["draws"] = RandomDraws(seed, "fault." + fault.name).state();
    double time = 0.0, correlation_time = 0.0;  // [s]: of the period, duration or delay; of noise
    if (const auto* noise = std::get_if<fault::Noise>(&seen.kind))
      correlation_time = noise->correlation_time;
    if (const auto* rate = std::get_if<fault::Rate>(&seen.kind)) time = rate->period;
    if (const auto* delay = std::get_if<fault::Delay>(&seen.kind)) time = delay->time;
    const auto* dropout = std::get_if<fault::Dropout>(&seen.kind);
    if (dropout != nullptr) time = dropout->duration;
    row["time"] = time;
    row["correlation_time"] = correlation_time;
    row["interval"] = dropout != nullptr ? dropout->interval : 0.0;
    row["probability"] = dropout != nullptr ? dropout->probability : 0.0;
    row["gives_zero"] = dropout != nullptr && dropout->gives_zero;
    out.append(row);
  }
  return out;
}

/// Sensors of a robot, as its computer reads them.
nb::list reading_list(std::span<const RobotSensor> sensors, std::uint64_t seed) {
  nb::list out;
  for (const RobotSensor& sensor : sensors)
    for (const EngineSensor& one : sensor.sensors) {
      nb::dict row;
      row["name"] = one.name;
      row["width"] = one.width;
      row["is_orientation"] = one.is_orientation;
      row["is_late"] = one.is_late;
      row["drum"] = one.drum_of;
      row["is_seen"] = one.sight.has_value();
      row["faults"] = fault_list(one.imperfections, seed);
      out.append(row);
    }
  return out;
}

/// Where these readings go.
nb::list use_list(const ArmObservations& observations) {
  nb::list out;
  for (const ArmObservations::Use& use : observations.uses) {
    nb::dict row;
    row["sensor"] = use.sensor;
    row["index"] = use.index;
    row["width"] = use.width;
    row["is_orientation"] = use.is_orientation;
    row["factor"] = use.factor;
    row["offset"] = use.offset;
    row["tension_of"] = use.tension_of;
    row["drum_of"] = use.drum_of;
    out.append(row);
  }
  return out;
}

nb::list estimator_sensor_list(const ArmSensors& sensors, double timestep) {
  nb::list out;
  for (int s = 0; s < sensors.count(); ++s) {
    nb::dict row;
    row["kind"] = static_cast<int>(sensors[s].kind);
    row["size"] = sensors.reading_size(s);
    row["rows"] = sensors.row_count(s);
    row["deviation"] = sensors[s].deviation;
    row["section"] = sensors[s].place.section;
    row["fraction"] = sensors[s].place.fraction;
    row["delay"] = std::lround(sensors[s].delay / timestep);
    out.append(row);
  }
  return out;
}

/// What a SensedArm works with; kinds of sensors are numbers of SensorKind.
nb::dict sensed_dict(const SensedArm& sensed, const ArmMechanics& mechanics,
                     const ContinuumDescription& description, std::uint64_t seed) {
  const ArmEstimator& estimator = sensed.estimator();
  const ArmEstimatorOptions& options = estimator.options();
  const ElasticArm& arm = estimator.arm();
  const ElasticArmParameters& parameters = arm.parameters();
  nb::list springs, masses, uneven;
  for (std::size_t k = 0; k < parameters.springs.size(); ++k) {
    const CoordinateSpring& spring = parameters.springs[k];
    nb::dict row;
    row["stiffness"] = spring.stiffness;
    row["damping"] = spring.damping;
    row["rest"] = spring.rest;
    row["scale"] = arm.scale()[static_cast<Eigen::Index>(k)];
    row["is_motor"] = mechanics.coordinates()[k].is_motor;
    springs.append(row);
  }
  for (const ElasticArm::MassPoint& point : arm.masses())
    masses.append(nb::make_tuple(point.place.section, point.place.fraction, point.mass));
  for (const ElasticArm::UnevenBend& bend : arm.uneven_bends()) {
    nb::dict row;
    row["compliance"] = bend.compliance;
    row["mean"] = bend.mean;
    row["variance"] = bend.variance;
    row["own"] = bend.own;
    row["beyond"] = bend.beyond;
    uneven.append(row);
  }
  const auto n = static_cast<std::size_t>(arm.coordinate_count());
  const auto tendons = static_cast<std::size_t>(arm.tendon_count());
  const Eigen::MatrixXd by_q = arm.tendons().jacobian().transpose();  // tendon by tendon
  Eigen::VectorXd lengths(arm.tendon_count());
  arm.tendons().lengths(Eigen::VectorXd::Zero(arm.coordinate_count()), lengths);
  nb::dict out;
  out["readings"] = reading_list(description.sensors, seed);
  out["uses"] = use_list(sensed.observations());
  out["sensors"] = estimator_sensor_list(estimator.sensors(), options.timestep);
  out["springs"] = springs;
  out["masses"] = masses;
  out["uneven"] = uneven;
  out["lengths_by_q"] = array_of(by_q, {tendons, n});
  out["lengths"] = array_of(lengths, {tendons});
  out["tendon_compliances"] = parameters.tendon_compliances;
  out["tension_deviations"] = sensed.observations().tension_deviations;
  nb::list drums;  // of each tendon: the tension when it is straight, and what it stretches by
  for (const Tendon& tendon : description.tendons)
    drums.append(nb::make_tuple(tendon.pretension, tendon.stiffness,
                                description.written_damping_time(tendon.damping_time)));
  out["drums"] = drums;
  const Eigen::Vector3d& g = sensed.gravity();
  out["gravity"] = nb::make_tuple(g.x(), g.y(), g.z());
  out["start"] = array_of(sensed.start(), {n});
  out["disturbed"] = parameters.disturbed;
  const std::pair<const char*, double> of_options[]{
      {"bend_noise", options.bend_noise},
      {"force_noise", options.force_noise},
      {"friction_deviation", options.friction_deviation},
      {"friction_time", options.friction_time},
      {"start_bend", options.start_bend},
      {"start_rate", options.start_rate},
      {"start_force", options.start_force}};
  for (const auto& [name, value] : of_options) out[name] = value;
  return out;
}

void add_arm(nb::dict& out, const ArmBinding::Parts& arm, const ContinuumDescription& description,
             std::uint64_t sensor_seed, const mjModel& m) {
  const ArmMechanics& mechanics = arm.mechanics;
  out["base_body"] = arm.base_body;
  out["tip_site"] = arm.tip_site;
  out["target_mocap"] = arm.target_mocap;
  out["body_radius"] = arm.body_radius;
  if (arm.contacts != nullptr) out["contacts"] = contact_dict(*arm.contacts, m);
  if (arm.obstacles != nullptr) out["obstacles"] = obstacle_dict(*arm.obstacles);
  out["fundamental_mode_damping"] = arm.fundamental_mode_damping;
  out["swing_period"] = arm.swing_period;
  const Eigen::Vector3d& g = mechanics.options().gravity;
  out["gravity"] = nb::make_tuple(g.x(), g.y(), g.z());
  out["velocity_feed_forward"] = mechanics.options().velocity_feed_forward;
  out["guide_length"] = mechanics.options().guide_length;
  out["has_tendon_friction"] = std::ranges::any_of(
      description.tendons, [](const Tendon& tendon) { return tendon.friction_coefficient > 0.0; });
  nb::list servos;
  for (std::size_t i = 0; i < mechanics.servos().size(); ++i)
    servos.append(servo_dict(mechanics.servos()[i], arm.actuators[i]));
  nb::list coordinates;
  std::size_t next = 0;
  for (const ArmCoordinate& coordinate : mechanics.coordinates()) {
    nb::list joints;
    for (const ArmJoint& joint : coordinate.joints) {
      const JointAddress& at = arm.joints[next++];
      joints.append(nb::make_tuple(at.joint, joint.fraction, joint.mass, joint.servo, joint.start,
                                   joint.length));
    }
    nb::dict row;
    row["joints"] = joints;
    row["sign"] = coordinate.sign;
    row["offset"] = coordinate.offset;
    row["servo"] = coordinate.servo;
    row["is_slide"] = coordinate.is_slide;
    row["has_tendons"] = coordinate.has_tendons;
    row["is_passive"] = coordinate.is_passive;
    row["stiffness"] = ArmMechanics::series_stiffness(coordinate);
    coordinates.append(row);
  }
  if (mechanics.has_feed()) {
    const ArmBaseJoint& feed = mechanics.feed();
    out["feed"] = joint_dict(arm.feed, feed.servo, feed.mass);
  }
  if (mechanics.has_spin()) {
    const ArmBaseJoint& spin = mechanics.spin();
    out["spin"] = joint_dict(arm.spin, spin.servo, spin.mass);
  }
  if (!mechanics.turns().empty()) out["turns"] = turn_list(arm);
  out["servos"] = servos;
  out["coordinates"] = coordinates;
  if (!mechanics.twists().empty()) out["twists"] = twist_list(arm);
  const Actuation moved = actuation(description);
  if (moved.directions.cols() > 0) out["actuation"] = actuation_dict(moved);
  if (!mechanics.tendon_drive().tendons().empty()) out["tendon_drive"] = tendon_dict(arm);
  if (arm.sensed != nullptr)
    out["sensed"] = sensed_dict(*arm.sensed, mechanics, description, sensor_seed);
}

/// What a SensedSnake works with.
nb::dict sensed_dict(const SensedSnake& sensed, std::span<const RobotSensor> sensors,
                     std::uint64_t seed) {
  const SensedSnake::Parameters& parameters = sensed.parameters();
  const JointFilter& filter = sensed.filter();
  const auto matrices = [](std::span<const Eigen::Matrix3d> all) {
    nb::list list;
    for (const Eigen::Matrix3d& one : all)
      list.append(array_of(Eigen::Matrix3d(one.transpose()), {3, 3}));  // row by row
    return list;
  };
  nb::list parts, joints;
  for (const JointObservations::Use& use : parameters.observations.joints.uses)
    joints.append(use.joint);
  for (const SnakeObservations::Part part : parameters.observations.parts)
    parts.append(static_cast<int>(part));
  nb::dict out;
  out["readings"] = reading_list(sensors, seed);
  out["joints"] = joints;
  out["parts"] = parts;
  out["base"] = static_cast<int>(parameters.base);
  out["link_lengths"] = parameters.link_lengths;
  out["link_masses"] = parameters.link_masses;
  out["radius"] = parameters.radius;
  out["joint_limit"] = parameters.joint_limit;
  out["friction_along"] = parameters.friction_along;
  out["friction_across"] = parameters.friction_across;
  out["deviations"] = filter.deviations();
  out["start"] = nb::make_tuple(filter.options().start_angle, filter.options().start_rate,
                                filter.options().acceleration);
  const double h = filter.options().timestep;
  const Eigen::Matrix3d process[]{JointFilter::transition(h, filter.options()),
                                  JointFilter::noise(h, filter.options())};
  out["process"] = matrices(process);
  out["to_now"] = matrices(sensed.to_now());
  out["to_unit"] = matrices(sensed.to_unit());
  if (sensed.head() == nullptr) return out;
  const HeadEstimatorOptions& options = sensed.head()->options();
  nb::dict head;
  const std::pair<const char*, double> of_options[]{
      {"rate_noise", options.rate_noise},         {"force_noise", options.force_noise},
      {"bias_drift", options.bias_drift},         {"start_angle", options.start_angle},
      {"start_velocity", options.start_velocity}, {"start_position", options.start_position},
      {"start_bias", options.start_bias},         {"lost_after", options.lost_after},
      {"lost_rate", options.lost_rate},           {"lost_acceleration", options.lost_acceleration},
      {"lost_time", options.lost_time},           {"delay", parameters.observations.imu->delay}};
  for (const auto& [name, value] : of_options) head[name] = value;
  out["head"] = head;
  out["stiffness"] = sensed.odometry()->options().stiffness;
  out["slip_speed"] = sensed.odometry()->options().slip_speed;
  return out;
}

void add_snake(nb::dict& out, const SnakeBinding::Parts& snake, const SnakeDescription& description,
               std::uint64_t sensor_seed) {
  out["base_body"] = snake.base_body;
  out["tail_site"] = snake.tail_site;
  out["tip_site"] = snake.tip_site;
  out["target_mocap"] = snake.target_mocap;
  out["joint_limit"] = snake.joint_limit;
  out["length"] = snake.length;
  out["gravity"] = nb::make_tuple(snake.gravity.x(), snake.gravity.y(), snake.gravity.z());
  nb::list joints, servos, masses;
  for (std::size_t i = 0; i < snake.joints.size(); ++i) {
    joints.append(nb::make_tuple(snake.joints[i].joint, snake.actuators[i]));
    servos.append(servo_dict(snake.driven[i].servo, snake.actuators[i]));
    masses.append(snake.driven[i].mass);
  }
  out["joints"] = joints;
  out["servos"] = servos;
  out["masses"] = masses;
  if (snake.sensed != nullptr)
    out["sensed"] = sensed_dict(*snake.sensed, description.sensors, sensor_seed);
}

/// The motion of a snake along its path, a row for each period.
nb::dict motion_dict(SnakePathController controller, double feed, double timestep) {
  const auto periods = controller.motion(feed, timestep);
  const std::size_t joints = periods.front().angles.size();
  const std::size_t points = periods.front().references.size();
  Output angles({periods.size()}, {joints}), feeds({periods.size()}, {}),
      progress({periods.size()}, {}), references({periods.size()}, {points, 3, 3});
  nb::list statuses;
  double* next = references.data();
  for (std::size_t i = 0; i < periods.size(); ++i) {
    std::copy(periods[i].angles.begin(), periods[i].angles.end(), angles.data() + joints * i);
    feeds.data()[i] = periods[i].feed;
    progress.data()[i] = periods[i].progress;
    statuses.append(static_cast<int>(periods[i].status));
    for (const CurvePoint& point : periods[i].references)
      for (const Eigen::Vector3d* v : {&point.position, &point.first, &point.second})
        next = std::copy_n(v->data(), 3, next);
  }
  nb::dict out;
  out["angles"] = angles.take();
  out["feed"] = feeds.take();
  out["progress"] = progress.take();
  out["status"] = statuses;
  out["references"] = references.take();
  out["steps"] = controller.period_steps();
  return out;
}

/// The gaits of a schedule, one after the other.
nb::list stage_list(const GaitController& controller) {
  nb::list stages;
  for (const GaitController::Stage& stage : controller.stages()) {
    const Gait& gait = stage.gait;
    nb::dict row;
    row["time"] = stage.time;
    row["kind"] = to_string(gait.kind);
    row["yaw_amplitude"] = gait.yaw_amplitude;
    row["pitch_amplitude"] = gait.pitch_amplitude;
    row["yaw_lead"] = gait.yaw_lead;
    row["pitch_lead"] = gait.pitch_lead;
    row["lag"] = gait.lag;
    row["frequency"] = gait.frequency;
    row["growth"] = gait.growth;
    stages.append(row);
  }
  return stages;
}

/// Map and paths among obstacles of a snake, or the path that is given; points are rows.
nb::dict ground_dict(const GroundPathFollower& follower) {
  const GroundPathFollower::Tables tables = follower.tables();
  const auto size = [](auto count) { return static_cast<std::size_t>(count); };
  nb::dict out;
  out["link_lengths"] = array_of(tables.link_lengths, {tables.link_lengths.size()});
  out["heading_weights"] = array_of(tables.heading_weights, {size(tables.heading_weights.size())});
  out["is_head_first"] = follower.is_head_first();
  out["clearance"] = follower.clearance();
  out["tolerance"] = follower.tolerance();
  out["footprint_length"] = tables.footprint_length;
  out["body_length"] = tables.body_length;
  out["look_ahead"] = tables.look_ahead;
  out["max_curvature"] = tables.max_curvature;
  out["spacing"] = tables.spacing;
  out["path"] = array_of(tables.path, {size(tables.path.cols()), 2});
  out["room"] = GroundPathFollower::kPathPoints;
  if (tables.map == nullptr) return out;
  const Shape cells{size(tables.map->rows()), size(tables.map->columns())};
  out["cell"] = tables.map->cell();
  out["center"] = array_of(tables.map->center(0, 0), {2});
  out["distances"] = array_of(tables.map->distances(), cells);
  nb::list goals, times;
  for (const GroundPaths& paths : tables.paths) {
    goals.append(array_of(paths.goal(), {2}));
    times.append(array_of(paths.times(), cells));
  }
  out["goals"] = goals;
  out["times"] = times;
  return out;
}

/// How the end of an arm advances along its path.
nb::dict advance_dict(const FollowController& controller) {
  const Advance& advance = controller.advancing();
  const SectionStates straight = controller.robot().straight();
  std::vector<SectionState> states(straight.begin(), straight.end());
  static_cast<void>(advance.apply(0.0, states));
  nb::list extensions;
  for (const SectionState& state : states) extensions.append(state.extension);
  nb::dict out;
  out["start_length"] = advance.start_length();
  out["start_extensions"] = extensions;
  out["limit"] = advance.limit();
  out["grows"] = advance.growth() != Growth::None;
  out["from_tip"] = advance.growth() == Growth::FromTip;
  return out;
}

/// Poses, and the steps between them.
nb::dict schedule_dict(const PoseSchedule& schedule) {
  const std::span<const Eigen::VectorXd> all = schedule.coordinates();
  const std::size_t n = static_cast<std::size_t>(all.front().size());
  Output poses({all.size()}, {n});
  nb::list feeds, begins, durations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::copy_n(all[i].data(), n, poses.data() + n * i);
    feeds.append(schedule.path()[i].base.feed);
  }
  for (const PoseSchedule::Step& step : schedule.steps()) {
    begins.append(step.begin);
    durations.append(step.duration);
  }
  nb::dict out;
  out["poses"] = poses.take();
  out["feeds"] = feeds;
  out["begins"] = begins;
  out["durations"] = durations;
  out["duration"] = schedule.duration();
  return out;
}

/// Points of a path at equal distances.
nb::object path_points(const FollowController& controller) {
  constexpr double kSpacing = 2.5e-4;  // [m]: of a bend with 50 mm radius an arc of 0.16 um height
  const double length = controller.given_length();
  std::vector<Eigen::Vector3d> points(static_cast<std::size_t>(std::ceil(length / kSpacing)) + 1);
  static_cast<void>(controller.path({}, points));
  Output out({points.size()}, {3});
  std::copy_n(points.front().data(), 3 * points.size(), out.data());
  return out.take();
}

nb::dict robot_dict(const ControlledRobot& robot, const mjModel& m, const mjData& d) {
  nb::dict settings, out;
  for (const auto& [name, text] : robot.settings) {
    settings[name.c_str()] = text;
    if (name != "measurement_faults") continue;
    const MeasurementFaultList list = parse_measurement_faults(text, robot.names.label());
    out["measurement_faults"] = fault_list(list.faults, list.seed);
  }
  out["prefix"] = robot.names.prefix;
  out["controller"] = robot.controller;
  out["settings"] = settings;
  const RobotBinding& binding = robot.instance->binding();
  const auto text = [&](const char* name) -> const std::string& {
    return std::ranges::find(robot.settings, name, [](const auto& row) { return row.first; })
        ->second;
  };
  const auto* const arm = dynamic_cast<const ArmBinding*>(&binding);
  const auto* const snake = dynamic_cast<const SnakeBinding*>(&binding);
  if (arm != nullptr || snake != nullptr) {
    const auto description = cached_robot(text("robot"), "");
    const std::uint64_t sensor_seed = std::stoull(text("sensor_seed"));
    if (arm != nullptr)
      add_arm(out, arm->parts(), std::get<ContinuumDescription>(*description), sensor_seed, m);
    else
      add_snake(out, snake->parts(), std::get<SnakeDescription>(*description), sensor_seed);
  }
  if (const auto* gait = dynamic_cast<const GaitController*>(&binding.controller())) {
    out["stages"] = stage_list(*gait);
    if (gait->follower() != nullptr) out["ground"] = ground_dict(*gait->follower());
  }
  if (const auto* reach = dynamic_cast<const ReachController*>(&binding.controller()))
    out["gives_way"] = reach->gives_way();
  const auto* march = dynamic_cast<const SnakePathController*>(&binding.controller());
  if (march != nullptr && !march->follows_target()) {
    const SnakeBinding::Parts parts = dynamic_cast<const SnakeBinding&>(binding).parts();
    const double feed = parts.driven.back().is_slide ? d.qpos[parts.joints.back().qpos] : 0.0;
    out["motion"] = motion_dict(*march, feed, m.opt.timestep);
  }
  const auto* poses = dynamic_cast<const FollowPosesController*>(&binding.controller());
  if (poses != nullptr) out["poses"] = schedule_dict(poses->schedule());
  const auto* follow = dynamic_cast<const FollowController*>(&binding.controller());
  if (follow != nullptr) out["advance"] = advance_dict(*follow);
  if (follow != nullptr && follow->given_length() > 0.0) {
    out["path"] = path_points(*follow);
    out["path_length"] = follow->given_length();
  }
  return out;
}

}  // namespace

void bind_controlled_robots(nb::module_& module) {
  module.def(
      "controlled_robots",
      [](nb::handle model, nb::handle data) {
        const simulation::EngineLog log;
        nb::list robots;
        const auto& m = native<const mjModel>(model);
        const auto& d = native<const mjData>(data);
        for (const ControlledRobot& robot : controlled_robots(&m))
          robots.append(robot_dict(robot, m, d));
        return robots;
      },
      nb::arg("model"), nb::arg("data"),
      nb::sig("def controlled_robots(model: object, data: object) -> list[dict[str, typing.Any]]"),
      "The robots that a controller of this library drives, with motions that begin in the state "
      "of "
      "`data`: joints, servos, settings and tables.");
}

}  // namespace tendril::python
