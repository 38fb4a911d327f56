#include "tendril/model/continuum/chambers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/routes.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

namespace names {
std::string chamber_pressure(const std::string& chamber) { return chamber + "_pressure"; }
std::string chamber_volume(const std::string& chamber) { return chamber + "_volume"; }
}  // namespace names

namespace {

constexpr KeyInfo kChamberKeys[]{
    {"kind", "", "`\"mckibben\"`: a muscle, which pulls"},
    {"name", "", "of its tendon and actuator in MuJoCo", "`chamber_1`, ..."},
    {"section", "", "that contains it, from 1; or `[first, last]` of several", "required",
     "number of a section"},
    {"angle", "rad", "about the backbone, from x towards y"},
    {"distance", "m", "from the backbone, > 0; or two numbers, where it begins and at its end"},
    {"radius", "m", "of its cross-section, which must be inside the section",
     "required, or `area`"},
    {"area", "m^2", "of its cross-section", "none"},
    {"braid_angle", "rad", "of a muscle: between fibers and axis, without load", "none"},
    {"min_pressure", "Pa", "above that outside; -101325 is a vacuum. Not for a muscle", "",
     "[-101325, max_pressure)"},
    {"max_pressure", "Pa", "above that outside"},
    {"time_constant", "s", "lag of the pressure behind its command; 0: none"},
    {"volume_range", "m^3",
     "changes of volume from the straight arm with lengths at half their range, at which the "
     "chamber stops: `[-1e-6, 4e-6]`. Not for a muscle",
     "none"}};

// ---- reading ------------------------------------------------------------------------------------

/// Reads the cross-section, which must be inside the sections of the chamber.
void read_area(const Fields& fields, const ContinuumDescription& robot, Chamber& chamber) {
  const TendonRoute& route = chamber.route;
  double radius = 0.0;
  if (fields.one_of({"radius", "area"}) == "radius") {
    radius = fields.required_number("radius", kPositiveNumber);
    chamber.area = std::numbers::pi * radius * radius;
  } else {
    chamber.area = fields.required_number("area", kPositiveNumber);
  }
  double thinnest = std::numeric_limits<double>::infinity();
  for (int i = route.first_section; i <= route.section; ++i) {
    const Taper& radius_there = robot.physics[static_cast<std::size_t>(i)].radius;
    thinnest = std::min({thinnest, radius_there.start, radius_there.end});
  }
  if (std::max(route.base_distance, route.end_distance) + radius > thinnest) {
    fields.refuse("distance",
                  fmt::format("the chamber is not inside its section, must be at most {} m",
                              thinnest - radius));
  }
  if (const double inside = std::numbers::pi * thinnest * thinnest; chamber.area > inside)
    fields.refuse("area", fmt::format("must be at most {:.3g} m^2, the section's", inside));
}

void read_kind(const Fields& fields, Chamber& chamber) {
  if (fields.choice<bool>("kind", {{"extending", false}, {"mckibben", true}})) {
    // Above it, 54.7 degrees, the braid lengthens under pressure.
    chamber.braid_angle = fields.required_number(
        "braid_angle", {0.0, std::acos(1.0 / std::numbers::sqrt3), true, true});
    for (const char* key : {"min_pressure", "volume_range"})
      if (fields.has(key)) fields.refuse(key, "needs kind = \"extending\"");
  } else if (fields.has("braid_angle")) {
    fields.refuse("braid_angle", "needs kind = \"mckibben\"");
  }
}

void read_pressures(const Fields& fields, Chamber& chamber) {
  chamber.max_pressure = fields.number("max_pressure", chamber.max_pressure, kPositiveNumber);
  chamber.min_pressure =
      fields.number("min_pressure", chamber.min_pressure,
                    {.low = -kAtmosphere, .high = chamber.max_pressure, .open_high = true});
  chamber.time_constant = fields.number("time_constant", chamber.time_constant, kNotNegativeNumber);
  const auto range = fields.numbers("volume_range", 2, kAnyNumber);
  if (!range) return;
  if ((*range)[0] >= 0.0 || (*range)[1] <= 0.0) {
    fields.refuse("volume_range",
                  "must be two changes of volume in m^3, the first < 0, the second > 0");
  }
  chamber.volume_range = {(*range)[0], (*range)[1]};
}

Chamber read_chamber(const Fields& fields, const ContinuumDescription& robot) {
  fields.refuse_unknown(kChamberKeys);
  Chamber chamber;
  chamber.name =
      read_route_name(fields, fmt::format("chamber_{}", robot.chambers.size() + 1), robot);
  chamber.route = read_route(fields, robot, false);
  if (!fields.has("section"))
    fields.missing("section", "is missing: that the chamber is in, from 1");
  std::tie(chamber.route.first_section, chamber.route.section) =
      read_sections(fields, robot.sections.size());
  read_area(fields, robot, chamber);
  read_kind(fields, chamber);
  read_pressures(fields, chamber);
  return chamber;
}

// ---- writing ------------------------------------------------------------------------------------

void add_tendon(ArmDocument& arm, const Chamber& chamber) {
  XmlNode& node = arm.mjcf.tendon.add("fixed", {{"name", chamber.name}});
  if (chamber.volume_range) {
    const auto& [low, high] = *chamber.volume_range;
    node.set("solreflimit", "0.004 1").set("range", {low / chamber.area, high / chamber.area});
  }
  for (const RouteJoint& joint : joints_along(arm, chamber.route))
    node.add("joint", {{"joint", joint.joint}, {"coef", joint.coefficient}});
}

/// @param start  command in the keyframe
void add_actuator(ArmDocument& arm, const Chamber& chamber, double start) {
  XmlNode& actuator =
      arm.mjcf.add_actuator("general", {{"name", chamber.name}, {"tendon", chamber.name}}, start);
  if (chamber.time_constant > 0.0)
    actuator.set("dyntype", "filterexact").set("dynprm", chamber.time_constant);
  if (chamber.pushes()) {
    actuator.set("gear", chamber.area)
        .set("ctrlrange", {chamber.min_pressure, chamber.max_pressure})
        .set("forcerange", {chamber.min_pressure, chamber.max_pressure});
    return;
  }
  const double blocked = chamber.tension_per_pressure();
  const double length = rest_length(arm.robot, chamber.route);
  actuator.set("gear", -1)
      .set("gaintype", "affine")
      .set("gainprm", {blocked, -blocked / (length * chamber.free_contraction()), 0})
      .set("ctrlrange", {0, chamber.max_pressure})
      .set("forcerange", {0, blocked * chamber.max_pressure});
}

void add_sensors(XmlNode& sensor, const Chamber& chamber) {
  const std::string& name = chamber.name;
  if (chamber.pushes()) {
    sensor.add("actuatorfrc", {{"name", names::chamber_pressure(name)}, {"actuator", name}});
    sensor.add("actuatorpos", {{"name", names::chamber_volume(name)}, {"actuator", name}});
  } else {
    sensor.add("tendonpos", {{"name", names::tendon_length(name)}, {"tendon", name}});
    sensor.add("actuatorfrc", {{"name", names::tendon_tension(name)}, {"actuator", name}});
  }
}

}  // namespace

double Chamber::tension_per_pressure() const {
  if (!braid_angle) return -area;
  const double tangent = std::tan(*braid_angle), sine = std::sin(*braid_angle);
  return area * (3.0 / (tangent * tangent) - 1.0 / (sine * sine));
}

double Chamber::free_contraction() const {
  return 1.0 - 1.0 / (std::numbers::sqrt3 * std::cos(*braid_angle));
}

void read_chambers(const Fields& top, ContinuumDescription& robot) {
  for (const Fields& fields : top.tables("chamber")) {
    if (robot.chambers.size() == kMaxTendons)
      fields.refuse_object(fmt::format("a robot may have {} chambers at most", kMaxTendons));
    robot.chambers.push_back(read_chamber(fields, robot));
  }
}

void write_chambers(ArmDocument& arm) {
  const std::vector<double> start = tendon_start_commands(arm.robot);
  for (std::size_t c = 0; c < arm.robot.chambers.size(); ++c) {
    const Chamber& chamber = arm.robot.chambers[c];
    add_tendon(arm, chamber);
    add_actuator(arm, chamber, start[arm.robot.tendons.size() + c]);
    add_sensors(arm.mjcf.sensor, chamber);
  }
}

}  // namespace tendril
