#include "tendril/model/tendon_file.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "tendril/kinematics/tension_distribution.hpp"
#include "tendril/model/continuum_mjcf.hpp"
#include "tendril/model/tendon_mjcf.hpp"

namespace tendril {
namespace {

constexpr std::array<std::string_view, 11> kTendonKeys{"name",
                                                       "section",
                                                       "angle",
                                                       "distance",
                                                       "command",
                                                       "max_tension",
                                                       "pretension",
                                                       "stiffness",
                                                       "damping_time",
                                                       "friction",
                                                       "friction_coefficient"};
constexpr std::array<std::string_view, 12> kChamberKeys{
    "kind", "name",        "section",      "angle",        "distance",      "radius",
    "area", "braid_angle", "min_pressure", "max_pressure", "time_constant", "volume_range"};
constexpr std::array<std::string_view, 4> kBendServoKeys{"bend_command", "bend_gain",
                                                         "bend_damping_time", "bend_torque_limit"};
constexpr std::array<std::string_view, 4> kLengthServoKeys{
    "length_command", "length_gain", "length_damping_time", "length_force_limit"};
constexpr const char* kFriction = "friction_coefficient";
constexpr int kMaxTendons = 100;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string read_name(const Fields& fields, const std::string& fallback,
                      std::span<const Tendon> others) {
  const std::string name = fields.text("name", fallback);
  if (name.empty() || !is_letter(name.front()) ||
      !std::all_of(name.begin(), name.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '_'; })) {
    fields.refuse("name", "must be letters, digits and _, a letter first");
  }
  const bool is_own = name == "feed" || name == "spin" || name == "suction" || name == "gripper" ||
                      (name.size() > 1 && name[0] == 's' && is_digit(name[1]));
  if (is_own)
    fields.refuse("name", "is a name of the model's own: not feed, spin, suction, gripper, s1 ...");
  for (const Tendon& other : others) {
    if (other.name == name) fields.refuse("name", "must not be that of another tendon or chamber");
  }
  return name;
}

/// About the backbone; two numbers, where it begins and at its end, of one that `may_turn`.
void read_angle(const Fields& fields, const ContinuumDescription& robot, bool may_turn,
                TendonRoute& route) {
  constexpr double kAcross = 1e-6;
  const toml::node* const angle = fields.get("angle");
  if (angle != nullptr && angle->is_array() && may_turn) {
    const std::vector<double> ends = fields.elements("angle", *angle, 2, kAnyNumber);
    route.angle = ends[0];
    route.turn = ends[1] - ends[0];
    if (robot.planar && route.turn != 0.0)
      fields.refuse("angle",
                    "must be one number in a planar arm, which cannot bend out of its plane");
  } else {
    route.angle = fields.required_number("angle", kAnyNumber);
  }
  if (robot.planar && std::abs(std::cos(route.angle)) < kAcross)
    fields.refuse("angle", "must not be across the plane of a planar arm: it would not bend it");
}

/// All but the sections.
TendonRoute read_route(const Fields& fields, const ContinuumDescription& robot, bool may_turn) {
  TendonRoute route;
  read_angle(fields, robot, may_turn, route);
  constexpr std::string_view kDistance =
      "must be > 0, or two such numbers [where it begins, at its end]: in the axis it bends "
      "nothing";
  const toml::node* const distance = fields.get("distance");
  if (distance == nullptr) fields.missing("distance", "is missing, from the backbone in m");
  if (distance->is_array()) {
    const std::vector<double> ends = fields.elements("distance", *distance, 2, kAnyNumber);
    route.base_distance = ends[0];
    route.end_distance = ends[1];
  } else {
    route.base_distance = route.end_distance = fields.required_number("distance", kAnyNumber);
  }
  if (route.base_distance <= 0.0 || route.end_distance <= 0.0) fields.refuse("distance", kDistance);
  return route;
}

/// The sites of a tendon that turns follow its way well enough.
void require_helix(const Fields& fields, const TendonRoute& route,
                   const ContinuumDescription& robot) {
  constexpr double kMaxTurn = 1.0;  // in a link [rad]
  const double way = rest_length(robot, route);
  for (int i = 0; i <= route.section; ++i) {
    const auto section = static_cast<std::size_t>(i);
    if (robot.sections[section].variable_length > 0.0) {
      fields.refuse("angle",
                    fmt::format("must be one number: section {} has a variable length", i + 1));
    }
    const LinkLayout layout = link_layout(robot, section);
    for (std::size_t j = 0; j < layout.length.size(); ++j) {
      const double length = layout.length[j] * rest_length(robot.sections[section]);
      const double turn = std::abs(route.turn) * length / way;
      if (turn > kMaxTurn) {
        fields.refuse("angle",
                      fmt::format("turns by {:.3g} rad along a link of section {}: must be at "
                                  "most {} rad, more links or fewer turns",
                                  turn, i + 1, kMaxTurn));
      }
      const double bend = layout.bend_fraction[j] * robot.sections[section].bend_angle_limit;
      const double most = kSiteDistance * length / std::tan(std::min(bend, std::numbers::pi) / 2.0);
      if (std::max(route.base_distance, route.end_distance) >= most) {
        fields.refuse("distance",
                      fmt::format("must be < {:.3g} m: at the bend_limit of section {} the "
                                  "tendon would fold on the inside of the bend",
                                  most, i + 1));
      }
    }
  }
}

void require_friction(const Fields& fields, const TendonRoute& route,
                      const ContinuumDescription& robot) {
  if (route.turn != 0.0) fields.refuse(kFriction, "needs one angle: not of a tendon that turns");
  for (int i = 0; i <= route.section; ++i) {
    if (robot.sections[static_cast<std::size_t>(i)].variable_length > 0.0)
      fields.refuse(kFriction, fmt::format("must be 0: section {} has a variable length", i + 1));
  }
}

Tendon read_tendon(const Fields& fields, std::size_t number, const ContinuumDescription& robot) {
  fields.refuse_unknown(kTendonKeys);
  Tendon tendon;
  tendon.name = read_name(fields, fmt::format("tendon_{}", number), robot.tendons);
  tendon.route = read_route(fields, robot, true);
  const int sections = static_cast<int>(robot.sections.size());
  tendon.route.section = fields.integer("section", sections, 1, sections) - 1;
  if (tendon.route.turn != 0.0) require_helix(fields, tendon.route, robot);
  tendon.command = fields.choice<TendonCommand>(
      "command", {{"length", TendonCommand::Length}, {"tension", TendonCommand::Tension}});
  tendon.max_tension = fields.number("max_tension", tendon.max_tension, kPositiveNumber);
  tendon.pretension =
      fields.number("pretension", std::min(tendon.pretension, tendon.max_tension / 2.0),
                    {.low = 0.0, .high = tendon.max_tension, .open_high = true});
  if (tendon.command == TendonCommand::Tension) {
    for (const char* key : {"stiffness", "damping_time"}) {
      if (fields.has(key))
        fields.refuse(key, "needs command = \"length\": a tension does not depend on the length");
    }
  }
  tendon.stiffness = fields.number("stiffness", tendon.stiffness, kPositiveNumber);
  tendon.damping_time = fields.number("damping_time", tendon.damping_time, kNotNegativeNumber);
  tendon.friction = fields.number("friction", tendon.friction, kNotNegativeNumber);
  tendon.friction_coefficient =
      fields.number(kFriction, tendon.friction_coefficient, kNotNegativeNumber);
  if (tendon.friction_coefficient > 0.0) require_friction(fields, tendon.route, robot);
  return tendon;
}

/// A section, or the first and the last one of several, from 0.
std::pair<int, int> read_chamber_sections(const Fields& fields, std::size_t count) {
  const toml::node* const node = fields.get("section");
  if (node == nullptr) fields.missing("section", "is missing: that the chamber is in, from 1");
  const auto sections = static_cast<int>(count);
  if (!node->is_array()) {
    const int section = fields.integer("section", 1, 1, sections);
    return {section - 1, section - 1};
  }
  const std::vector<double> ends = fields.elements("section", *node, 2, kAnyNumber);
  const bool whole = ends[0] == std::floor(ends[0]) && ends[1] == std::floor(ends[1]);
  if (!whole || ends[0] < 1.0 || ends[1] < ends[0] || ends[1] > sections) {
    fields.refuse("section",
                  fmt::format("must be an integer in [1, {0}] or two of them, the first and "
                              "the last section that the chamber is in",
                              sections));
  }
  return {static_cast<int>(ends[0]) - 1, static_cast<int>(ends[1]) - 1};
}

Tendon read_chamber(const Fields& fields, std::size_t number, const ContinuumDescription& robot) {
  fields.refuse_unknown(kChamberKeys);
  Tendon tendon;
  tendon.command = TendonCommand::Pressure;
  tendon.name = read_name(fields, fmt::format("chamber_{}", number), robot.tendons);
  TendonRoute& route = tendon.route = read_route(fields, robot, false);
  std::tie(route.first_section, route.section) =
      read_chamber_sections(fields, robot.sections.size());

  Chamber& chamber = tendon.chamber.emplace();
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
  if (const double inside = std::numbers::pi * thinnest * thinnest; chamber.area > inside) {
    fields.refuse("area", fmt::format("must be at most {:.3g} m^2, the section's", inside));
  }
  if (fields.choice<bool>("kind", {{"extending", false}, {"mckibben", true}})) {
    // Beyond it, 54.7 degrees, the braid lengthens under pressure.
    chamber.braid_angle = fields.required_number(
        "braid_angle", {0.0, std::acos(1.0 / std::numbers::sqrt3), true, true});
    for (const char* key : {"min_pressure", "volume_range"})
      if (fields.has(key)) fields.refuse(key, "needs kind = \"extending\"");
  } else if (fields.has("braid_angle")) {
    fields.refuse("braid_angle", "needs kind = \"mckibben\"");
  }
  chamber.max_pressure = fields.number("max_pressure", chamber.max_pressure, kPositiveNumber);
  chamber.min_pressure =
      fields.number("min_pressure", chamber.min_pressure,
                    {.low = -kAtmosphere, .high = chamber.max_pressure, .open_high = true});
  chamber.time_constant = fields.number("time_constant", chamber.time_constant, kNotNegativeNumber);
  if (const auto range = fields.numbers("volume_range", 2, kAnyNumber)) {
    if ((*range)[0] >= 0.0 || (*range)[1] <= 0.0) {
      fields.refuse("volume_range",
                    "must be two changes of volume in m^3, the first < 0, the second > 0");
    }
    chamber.volume_range = {(*range)[0], (*range)[1]};
  }
  return tendon;
}

/// Takes the servos from the sections that tendons and chambers drive, unless the file keeps them.
void read_servos(const Fields& fields, std::size_t i, ContinuumDescription& robot) {
  SectionPhysics& physics = robot.physics[i];
  bool has_tendons = false, has_chambers = false;
  for (const Tendon& tendon : robot.tendons) {
    if (!tendon.route.runs_through(static_cast<int>(i))) continue;
    has_tendons = true;
    has_chambers |= tendon.chamber.has_value();
  }
  const auto read = [&](const char* key, bool fallback, std::span<const std::string_view> keys,
                        const char* driven) {
    const bool servo = fields.boolean(key, fallback);
    for (const std::string_view other : keys) {
      if (!servo && fields.has(other)) {
        fields.refuse(other, fallback ? fmt::format("needs {} = true", key)
                                      : fmt::format("{}; needs {} = true, a servo besides them",
                                                    driven, key));
      }
    }
    return servo;
  };
  physics.bend_servo = read(
      "bend_servo", !has_tendons, kBendServoKeys,
      has_chambers ? "the section is bent by its chambers" : "the section is bent by its tendons");
  const bool is_extensible = robot.sections[i].variable_length > 0.0;
  if (!is_extensible && fields.has("length_servo"))
    fields.refuse("length_servo", "needs variable_length > 0");
  physics.length_servo = read("length_servo", !(is_extensible && has_chambers), kLengthServoKeys,
                              "the section is lengthened by its chambers");
  if (physics.length_servo && fields.has("unloaded_length")) {
    fields.refuse("unloaded_length",
                  "needs length_servo = false: a servo sets the length of the unloaded section");
  }
}

}  // namespace

void read_tendons(const Fields& top, ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("tendon");
  for (const Fields& fields : tables) {
    if (robot.tendons.size() == kMaxTendons)
      fields.refuse_object(fmt::format("a robot may have {} tendons at most", kMaxTendons));
    robot.tendons.push_back(read_tendon(fields, robot.tendons.size() + 1, robot));
  }
  const std::vector<Fields> chambers = top.tables("chamber");
  for (const Fields& fields : chambers) {
    const std::size_t number = robot.tendons.size() - tables.size() + 1;
    if (number > kMaxTendons)
      fields.refuse_object(fmt::format("a robot may have {} chambers at most", kMaxTendons));
    robot.tendons.push_back(read_chamber(fields, number, robot));
  }
  if (!robot.tendons.empty() && robot.base_physics.guide_length > 0.0) {
    (tables.empty() ? chambers : tables)
        .front()
        .refuse_object(
            "an arm in a guide cannot have tendons or chambers: they would bend the links "
            "inside it");
  }
  const std::vector<Fields> sections = top.tables("section");
  for (std::size_t i = 0; i < sections.size(); ++i) read_servos(sections[i], i, robot);
}

void refuse_friction(const Fields& top, const ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("tendon");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (robot.tendons[t].friction_coefficient > 0.0)
      tables[t].refuse(kFriction, "needs [controller], whose plugin simulates it");
  }
}

bool pushes(const Tendon& tendon) { return tendon.chamber && !tendon.chamber->braid_angle; }

std::vector<Eigen::Index> coordinates_of_tendons(const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  std::vector<Eigen::Index> rows;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionPhysics& physics = robot.physics[static_cast<std::size_t>(i)];
    const int k = kinematics.coordinate_index(i);
    if (!physics.bend_servo) rows.push_back(k);
    if (!physics.bend_servo && !robot.planar) rows.push_back(k + 1);
    if (!physics.length_servo) rows.push_back(k + 2);
  }
  return rows;
}

Eigen::MatrixXd moments_of_tendons(const ContinuumDescription& robot) {
  const TendonMap map(robot.kinematics(), tendon_routes(robot));
  return -map.jacobian()(Eigen::all, coordinates_of_tendons(robot)).transpose();
}

std::optional<int> section_without_drive(const ContinuumDescription& robot) {
  Eigen::MatrixXd moments = moments_of_tendons(robot);
  // Of the forces in the direction in which each acts.
  for (Eigen::Index t = 0; t < moments.cols(); ++t)
    if (pushes(robot.tendons[static_cast<std::size_t>(t)])) moments.col(t) *= -1.0;
  auto row = moments.rows();
  std::vector<Eigen::Index> bends;  // rows
  for (std::size_t i = robot.sections.size(); i-- > 0;) {
    const SectionPhysics& physics = robot.physics[i];
    if (physics.bend_servo && physics.length_servo) continue;
    if (!physics.length_servo) --row;
    for (int k = 0; !physics.bend_servo && k < (robot.planar ? 1 : 2); ++k) bends.push_back(--row);
    // Every moment is one of forces > 0 if some of these make no moment and all ranks are there. A
    // length goes back by itself.
    const Eigen::MatrixXd beyond = moments.bottomRows(moments.rows() - row);
    const auto count = beyond.cols();
    if (count == 0 || beyond.fullPivHouseholderQr().rank() < beyond.rows())
      return static_cast<int>(i);
    if (bends.empty()) continue;
    constexpr double kMax = 1e4;
    const Eigen::MatrixXd bending = moments(bends, Eigen::all);
    TensionDistribution balance(bending, Eigen::VectorXd::Ones(count),
                                Eigen::VectorXd::Constant(count, kMax));
    Eigen::VectorXd forces(count);
    // In units of what a tendon at 1 makes.
    const double error = balance.distribute(Eigen::VectorXd::Zero(bending.rows()), forces).error;
    if (error > 1e-3 * bending.cwiseAbs().maxCoeff()) return static_cast<int>(i);
  }
  return std::nullopt;
}

void require_drives(const Fields& top, const ContinuumDescription& robot) {
  const std::optional<int> section = section_without_drive(robot);
  if (!section) return;
  const auto i = static_cast<std::size_t>(*section);
  const SectionPhysics& physics = robot.physics[i];
  top.tables("section")[i].refuse_object(
      physics.bend_servo
          ? "has no length servo, and nothing sets its length: a controller needs one, or a chamber"
      : !physics.length_servo ? "has no servos and cannot be bent in every direction and "
                                "lengthened: a controller needs at "
                                "least three chambers or tendons around the backbone that end in it"
      : robot.planar
          ? "has no bend servo and cannot be bent both ways: a controller needs two tendons or "
            "chambers on opposite sides"
          : "has no bend servo and cannot be bent in every direction: a controller needs at least "
            "three tendons or chambers around the backbone that end in it");
}

}  // namespace tendril
