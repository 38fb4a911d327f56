#include "tendril/model/continuum/sensors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/sensor_reader.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using namespace sensor_key;

/// Distance from the base along the straight arm [m].
double distance_of(const std::vector<Link>& links, double place) {
  double length = 0.0;
  for (const Link& link : links) length += link.length;
  return place * length;
}

/// The link at a place; the one after it where two meet.
const Link& link_at(const std::vector<Link>& links, double place) {
  const double s = distance_of(links, place);
  double end = 0.0;
  for (const Link& link : links) {
    end += link.length;
    if (s < end) return link;
  }
  return links.back();
}

BodyPlace body_place(const ContinuumDescription& robot, double place) {
  double start = 0.0, s = place * rest_length(robot);
  const int last = static_cast<int>(robot.sections.size()) - 1;
  for (int i = 0; i < last; ++i) {
    const double length = rest_length(robot.sections[static_cast<std::size_t>(i)]);
    if (s < start + length) return {i, (s - start) / length};
    start += length;
  }
  const double fraction = (s - start) / rest_length(robot.sections.back());
  return {last, std::clamp(fraction, 0.0, 1.0)};
}

/// Length of the backbone whose bend the hinges of a link take [m].
double bent_length(const ContinuumDescription& robot, const Link& link) {
  const auto i = static_cast<std::size_t>(link.section - 1),
             j = static_cast<std::size_t>(link.index - 1);
  if (const std::vector<double>& compliance = robot.physics[i].compliance; !compliance.empty())
    return link.length * link.bend_fraction / compliance[j];
  const LinkLayout layout = link_layout(robot, i);
  double middle = layout.length[j] / 2.0;
  for (std::size_t k = 0; k < j; ++k) middle += layout.length[k];
  const Section section(robot.sections[i], link.section);
  const auto lengths = section.length_weights();
  std::size_t piece = 0;  // of constant curvature
  for (double end = lengths[0]; end < middle; end += lengths[piece]) ++piece;
  return rest_length(robot.sections[i]) * link.bend_fraction * lengths[piece] /
         section.angle_weights()[piece];
}

// ---- reading, one function for each kind

/// Index of a tendon or chamber.
int tendon_index(const ContinuumDescription& robot, const std::string& name) {
  const std::vector<std::string> names = tendon_names(robot);
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// The tendons that a table names, of those that pull or of these and all chambers.
std::vector<std::string> read_tendon_names(const Fields& fields, const ContinuumDescription& robot,
                                           bool with_chambers) {
  std::vector<std::string> names;
  for (const Tendon& tendon : robot.tendons) names.push_back(tendon.name);
  for (const Chamber& chamber : robot.chambers)
    if (with_chambers || !chamber.pushes()) names.push_back(chamber.name);
  if (names.empty())
    fields.refuse("kind", with_chambers ? "needs a [[tendon]] or a [[chamber]]"
                                        : "needs a [[tendon]], or a [[chamber]] of kind mckibben");
  return read_names(fields, "tendons", names);
}

void read_tendon_encoder(const Fields& fields, const ContinuumDescription& robot,
                         RobotSensor& sensor) {
  for (const std::string& tendon : read_tendon_names(fields, robot, true)) {
    add_element_sensor(sensor, tendon, "tendonpos", "tendon");
    sensor.sensors.back().observed =
        Observed{.kind = SensorKind::TendonLength, .index = tendon_index(robot, tendon)};
  }
}

/// Encoders of the drums that pay out the tendons whose length is commanded.
void read_drum_encoder(const Fields& fields, const ContinuumDescription& robot,
                       RobotSensor& sensor) {
  std::vector<std::string> names;
  for (const Tendon& tendon : robot.tendons)
    if (tendon.command == TendonCommand::Length) names.push_back(tendon.name);
  if (names.empty())
    fields.refuse("kind",
                  "needs a [[tendon]] with command = \"length\": others do not stretch, their "
                  "drum has the length of a tendon_encoder");
  for (const std::string& tendon : read_names(fields, "tendons", names)) {
    add_element_sensor(sensor, tendon, "plugin", "objname");
    EngineSensor& one = sensor.sensors.back();
    one.attributes.emplace_back("objtype", "tendon");
    one.is_late = true;
    one.drum_of = tendon_index(robot, tendon);
    one.observed = Observed{.kind = SensorKind::TendonLength, .index = one.drum_of};
  }
}

void read_tendon_force(const Fields& fields, const ContinuumDescription& robot,
                       RobotSensor& sensor) {
  for (const std::string& tendon : read_tendon_names(fields, robot, false)) {
    add_element_sensor(sensor, tendon, "actuatorfrc", "actuator");
    sensor.sensors.back().is_late = true;
    sensor.sensors.back().tension_of = tendon_index(robot, tendon);
  }
}

/// Encoders of the servos that bend sections, or set their lengths.
void read_servo_encoder(const ContinuumDescription& robot, bool of_length, RobotSensor& sensor) {
  const auto add = [&](int section, char axis, int coordinate, double offset) {
    const std::string name = fmt::format("{}_s{}_{}", sensor.name, section, axis);
    sensor.encoders.push_back({name, section, axis});
    sensor.sensors.push_back(
        {.name = name,
         .type = "tendonpos",
         .attributes = {{"tendon", name}},
         .imperfections = {},
         .observed =
             Observed{.kind = SensorKind::Coordinates, .index = coordinate, .offset = offset}});
  };
  const ContinuumRobot kinematics = robot.kinematics();
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionPhysics& physics = robot.physics[static_cast<std::size_t>(i)];
    const Section& section = kinematics.section(i);
    const int k = kinematics.coordinate_index(i);
    if (of_length) {
      if (section.is_extensible() && is_driven(physics.length_drive))
        add(i + 1, 'z', k + 2, section.variable_length() / 2.0);
      continue;
    }
    if (!is_driven(physics.bend)) continue;
    if (section.bends_u()) add(i + 1, 'y', k, 0.0);
    if (section.bends_v()) add(i + 1, 'x', k + 1, 0.0);
  }
}

void read_bend_encoder(const Fields& fields, const ContinuumDescription& robot,
                       RobotSensor& sensor) {
  read_servo_encoder(robot, false, sensor);
  if (sensor.sensors.empty())
    fields.refuse("kind", "needs a section with a servo or motor of its bend");
}

void read_length_encoder(const Fields& fields, const ContinuumDescription& robot,
                         RobotSensor& sensor) {
  read_servo_encoder(robot, true, sensor);
  if (sensor.sensors.empty())
    fields.refuse("kind", "needs a section with a servo or motor of its length");
}

void read_tip_tracker(const Fields& /*fields*/, const ContinuumDescription& /*robot*/,
                      RobotSensor& sensor) {
  add_tip_tracker(sensor);
  sensor.sensors[0].observed = Observed{.kind = SensorKind::Position};
  sensor.sensors[1].observed = Observed{.kind = SensorKind::Rotation};
}

void read_curvature(const Fields& fields, const ContinuumDescription& robot, RobotSensor& sensor) {
  const std::vector<Link> links = chain_links(robot);
  int number = 0;
  for (const double place : read_places(fields)) {
    ++number;
    const Link& link = link_at(links, place);
    if (link.has_slide())
      fields.refuse("places",
                    fmt::format("{:g} is in section {}, whose length is variable: a fiber "
                                "needs a section of constant length",
                                place, link.section));
    if (!link.has_hinges())
      fields.refuse("places",
                    fmt::format("{:g} is where section {} does not bend", place, link.section));
    const BendPlane plane = robot.sections[static_cast<std::size_t>(link.section - 1)].bend_plane;
    for (const char component : {'x', 'y'}) {
      if (plane == (component == 'x' ? BendPlane::YZ : BendPlane::XZ)) continue;
      const std::string name = fmt::format("{}_{}_{}", sensor.name, number, component);
      sensor.gratings.push_back({name, place, component});
      sensor.sensors.push_back({.name = name,
                                .type = "tendonpos",
                                .attributes = {{"tendon", name}},
                                .imperfections = {},
                                .observed = Observed{.kind = SensorKind::Curvature,
                                                     .place = body_place(robot, place),
                                                     .index = component == 'x' ? 0 : 1}});
    }
  }
}

void read_markers(const Fields& fields, const ContinuumDescription& robot, RobotSensor& sensor) {
  const std::optional<Eigen::Vector3d> camera = fields.vector("camera");
  for (const double place : read_places(fields)) {
    const std::string name = fmt::format("{}_{}", sensor.name, sensor.sites.size() + 1);
    sensor.sites.push_back({.name = name, .place = place});
    add_frame_sensor(sensor, name, "framepos", name);
    EngineSensor& one = sensor.sensors.back();
    one.observed = Observed{.kind = SensorKind::Position, .place = body_place(robot, place)};
    if (camera) one.sight = EngineSensor::Sight{*camera, largest_radius(robot)};
  }
}

void read_base_force(const Fields& /*fields*/, const ContinuumDescription& /*robot*/,
                     RobotSensor& sensor) {
  sensor.sites.push_back({.name = sensor.name + "_site", .is_on_base = true});
  add_site_sensors(sensor, sensor.sites.back().name, "force", "torque");
  // What holds the base is against what the arm does to it.
  sensor.sensors[0].observed = Observed{.kind = SensorKind::BaseForce, .factor = -1.0};
  sensor.sensors[1].observed = Observed{.kind = SensorKind::BaseMoment, .factor = -1.0};
}

void read_imu(const Fields& fields, const ContinuumDescription& /*robot*/, RobotSensor& sensor) {
  const std::vector<double> places = read_places(fields);
  if (places.size() != 1) fields.refuse("places", "must be one place: an imu is at one");
  sensor.sites.push_back({.name = sensor.name + "_site", .place = places.front()});
  add_imu(sensor, sensor.sites.back().name);
}

void read_motor_current(const Fields& fields, const ContinuumDescription& robot,
                        RobotSensor& sensor) {
  std::vector<std::string> actuators;
  for (const Tendon& tendon : robot.tendons) actuators.push_back(tendon.name);
  if (actuators.empty()) fields.refuse("kind", "needs a [[tendon]], which a motor pulls");
  add_motor_current(fields, actuators, sensor);
}

constexpr KeyInfo kTendons{"tendons", "", "names of tendons and chambers", "all"};
constexpr KeyInfo kServoEncoderKeys[]{kBacklash}, kEncoderKeys[]{kTendons, kBacklash},
    kForceKeys[]{kTendons}, kPlaceKeys[]{kPlaces}, kPlacedImuKeys[]{kPlaces, kBias},
    kMarkerKeys[]{kPlaces, kCamera};

constexpr SensorRow<ContinuumDescription> kKinds[]{
    {"tip_tracker", kTrackerQuantities, {}, read_tip_tracker},
    {"bend_encoder", {}, kServoEncoderKeys, read_bend_encoder},
    {"length_encoder", {}, kServoEncoderKeys, read_length_encoder},
    {"tendon_encoder", {}, kEncoderKeys, read_tendon_encoder},
    {"drum_encoder", {}, kEncoderKeys, read_drum_encoder},
    {"tendon_force", {}, kForceKeys, read_tendon_force},
    {"curvature", {}, kPlaceKeys, read_curvature},
    {"markers", {}, kMarkerKeys, read_markers},
    {"base_force", "force in N, torque in N m", {}, read_base_force},
    {"imu", kImuQuantities, kPlacedImuKeys, read_imu},
    {"motor_current", {}, kMotorCurrentKeys, read_motor_current}};

/// Refuses names of tendons, of which the model has elements called as those of a sensor.
void require_free_name(const RobotSensor& sensor, const ContinuumDescription& robot) {
  const auto require_other = [&](const std::string& tendon) {
    const auto has_it = [&](const auto& items) {
      return std::any_of(items.begin(), items.end(),
                         [&](const auto& item) { return item.name == tendon; });
    };
    const bool is_taken =
        sensor.name == tendon || has_it(sensor.gratings) || has_it(sensor.encoders);
    if (is_taken)
      throw ModelError(
          fmt::format("{}: sensor {}: name = {}: the model has a tendon {}: must be "
                      "another name",
                      sensor.origin, sensor.name, sensor.name, tendon));
  };
  for (const Tendon& tendon : robot.tendons) require_other(tendon.name);
  for (const Chamber& chamber : robot.chambers) require_other(chamber.name);
}

// ---- writing

void add_site(ArmDocument& arm, const RobotSensor::Site& site) {
  const auto add = [&](XmlNode& body, double z) {
    body.add("site", {{"name", site.name}, {"pos", {0, 0, z}}, {"size", 0.002}, {"group", 4}});
  };
  if (site.is_on_base) return add(arm.base, 0.0);
  const std::vector<double> starts = arm.body_starts();
  const double s = distance_of(arm.links, site.place);
  const auto after = std::upper_bound(starts.begin(), starts.end(), s);
  const auto body = static_cast<std::size_t>(after - starts.begin()) - 1;
  add(*arm.bodies[body], s - starts[body]);
}

void add_grating(ArmDocument& arm, const RobotSensor::Grating& grating) {
  const Link& link = link_at(arm.links, grating.place);
  const bool is_x = grating.component == 'x';
  arm.mjcf.tendon.add("fixed", {{"name", grating.name}})
      .add("joint", {{"joint", names::hinge(link.section, link.index, is_x ? 'y' : 'x')},
                     {"coef", (is_x ? 1.0 : -1.0) / bent_length(arm.robot, link)}});
}

void add_encoder(ArmDocument& arm, const RobotSensor::Encoder& encoder) {
  XmlNode& tendon = arm.mjcf.tendon.add("fixed", {{"name", encoder.name}});
  for (const Link& link : arm.links) {
    if (link.section != encoder.section) continue;
    if (encoder.axis == 'z' ? !link.has_slide() : !link.has_hinges()) continue;
    const std::string joint = encoder.axis == 'z'
                                  ? names::slide(link.section, link.index)
                                  : names::hinge(link.section, link.index, encoder.axis);
    tendon.add("joint", {{"joint", joint}, {"coef", encoder.axis == 'x' ? -1.0 : 1.0}});
  }
}

}  // namespace

std::vector<RobotSensor> read_arm_sensors(const Fields& top, const ContinuumDescription& robot) {
  std::vector<RobotSensor> sensors = read_sensors<ContinuumDescription>(top, robot, kKinds);
  for (const RobotSensor& sensor : sensors) require_free_name(sensor, robot);
  return sensors;
}

void write_arm_sensors(ArmDocument& arm) {
  for (const RobotSensor& sensor : arm.robot.sensors) {
    for (const RobotSensor::Site& site : sensor.sites) add_site(arm, site);
    for (const RobotSensor::Grating& grating : sensor.gratings) add_grating(arm, grating);
    for (const RobotSensor::Encoder& encoder : sensor.encoders) add_encoder(arm, encoder);
  }
  write_sensors(arm.robot.sensors, arm.robot.controller.plugin, arm.mjcf);
}

}  // namespace tendril
