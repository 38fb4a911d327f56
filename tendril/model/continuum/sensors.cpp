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
  for (const std::string& tendon : read_tendon_names(fields, robot, true))
    add_element_sensor(sensor, tendon, "tendonpos", "tendon");
}

void read_tendon_force(const Fields& fields, const ContinuumDescription& robot,
                       RobotSensor& sensor) {
  for (const std::string& tendon : read_tendon_names(fields, robot, false)) {
    add_element_sensor(sensor, tendon, "actuatorfrc", "actuator");
    sensor.sensors.back().is_late = true;
  }
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
                                .imperfections = {}});
    }
  }
}

void read_markers(const Fields& fields, const ContinuumDescription& /*robot*/,
                  RobotSensor& sensor) {
  for (const double place : read_places(fields)) {
    const std::string name = fmt::format("{}_{}", sensor.name, sensor.sites.size() + 1);
    sensor.sites.push_back({.name = name, .place = place});
    add_frame_sensor(sensor, name, "framepos", name);
  }
}

void read_base_force(const Fields& /*fields*/, const ContinuumDescription& /*robot*/,
                     RobotSensor& sensor) {
  sensor.sites.push_back({.name = sensor.name + "_site", .is_on_base = true});
  add_site_sensors(sensor, sensor.sites.back().name, "force", "torque");
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
constexpr KeyInfo kEncoderKeys[]{kTendons, kBacklash}, kForceKeys[]{kTendons},
    kPlaceKeys[]{kPlaces};

constexpr SensorKind<ContinuumDescription> kKinds[]{
    kTipTracker<ContinuumDescription>,
    {"tendon_encoder", {}, kEncoderKeys, read_tendon_encoder},
    {"tendon_force", {}, kForceKeys, read_tendon_force},
    {"curvature", {}, kPlaceKeys, read_curvature},
    {"markers", {}, kPlaceKeys, read_markers},
    {"base_force", "force in N, torque in N m", {}, read_base_force},
    {"imu", kImuQuantities, kPlaceKeys, read_imu},
    {"motor_current", {}, kMotorCurrentKeys, read_motor_current}};

/// Refuses names of tendons, of which the model has elements called as those of a sensor.
void require_free_name(const RobotSensor& sensor, const ContinuumDescription& robot) {
  const auto require_other = [&](const std::string& tendon) {
    const bool is_taken =
        sensor.name == tendon ||
        std::any_of(sensor.gratings.begin(), sensor.gratings.end(),
                    [&](const RobotSensor::Grating& grating) { return grating.name == tendon; });
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
  }
  write_sensors(arm.robot.sensors, arm.robot.controller.plugin, arm.mjcf);
}

}  // namespace tendril
