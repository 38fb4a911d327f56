#include "tendril/model/continuum/tendons.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/routes.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

namespace names {
std::string tendon_length(const std::string& tendon) { return tendon + "_length"; }
std::string tendon_tension(const std::string& tendon) { return tendon + "_tension"; }
std::string tendon_friction(const std::string& tendon, int section) {
  return fmt::format("{}_friction_{}", tendon, section);
}
}  // namespace names

namespace {

constexpr KeyInfo kTendonKeys[]{
    {"name", "",
     "of MuJoCo's tendon and actuator: letters, digits and `_`, a letter first. Names of sections, "
     "such as `s1_x`, are taken",
     "`tendon_1`, ..."},
    {"section", "",
     "in which it ends, from 1; or two numbers: in sheaths it runs to the first of these sections, "
     "and bends nothing before it",
     "the last", "number of a section"},
    {"angle", "rad",
     "about the backbone, from x towards y; or two numbers, at the base and at its end: it turns "
     "about the backbone"},
    {"distance", "m", "from the backbone, > 0; or two numbers, at the base and at its end"},
    {"command", "",
     "meaning of `ctrl`: `\"length\"`, the change from the straight arm in m, negative: shorter; "
     "or `\"tension\"` in N"},
    {"max_tension", "N", "largest tension"},
    {"pretension", "N",
     "tension in the straight arm with commands 0, for lengths; also the smallest tension that "
     "controllers command",
     "", "[0, max_tension)"},
    {"stiffness", "N/m", "of the whole tendon, for lengths"},
    {"damping_time", "s", "damping over stiffness, for lengths"},
    {"friction", "N",
     "Coulomb friction along the path, whatever the tension. It makes the step several times as "
     "long"},
    {"friction_coefficient", "",
     "capstan friction, which grows with tension and bend. Needs `[controller]`. With nine such "
     "tendons the step takes eight times as long"}};
constexpr const char* kFriction = "friction_coefficient";

/// A tendon that turns passes a joint through a site on either side of it, at this fraction of the
/// link's length. Between them it is straight.
constexpr double kSiteDistance = 0.25;

// ---- reading ------------------------------------------------------------------------------------

/// Refuses a helix that the sites do not follow well enough in a section.
void require_helix(const Fields& fields, const TendonRoute& route,
                   const ContinuumDescription& robot, std::size_t section) {
  constexpr double kMaxTurn = 1.0;  // in a link [rad]
  const double way = rest_length(robot, route);
  const LinkLayout layout = link_layout(robot, section);
  for (std::size_t j = 0; j < layout.length.size(); ++j) {
    const double length = layout.length[j] * rest_length(robot.sections[section]);
    const double turn = std::abs(route.turn) * length / way;
    if (turn > kMaxTurn) {
      fields.refuse("angle",
                    fmt::format("turns by {:.3g} rad along a link of section {}: must be at "
                                "most {} rad, more links or fewer turns",
                                turn, section + 1, kMaxTurn));
    }
    const double bend = layout.bend_fraction[j] * robot.sections[section].bend_angle_limit;
    const double most = kSiteDistance * length / std::tan(std::min(bend, std::numbers::pi) / 2.0);
    if (std::max(route.base_distance, route.end_distance) >= most) {
      fields.refuse("distance",
                    fmt::format("must be < {:.3g} m: at the bend_limit of section {} the "
                                "tendon would fold on the inside of the bend",
                                most, section + 1));
    }
  }
}

void require_helix(const Fields& fields, const TendonRoute& route,
                   const ContinuumDescription& robot) {
  for (int i = 0; i <= route.section; ++i) {
    const auto section = static_cast<std::size_t>(i);
    if (robot.sections[section].variable_length > 0.0) {
      fields.refuse("angle",
                    fmt::format("must be one number: section {} has a variable length", i + 1));
    }
    require_helix(fields, route, robot, section);
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

void read_forces(const Fields& fields, Tendon& tendon) {
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
}

Tendon read_tendon(const Fields& fields, const ContinuumDescription& robot) {
  fields.refuse_unknown(kTendonKeys);
  Tendon tendon;
  tendon.name = read_route_name(fields, fmt::format("tendon_{}", robot.tendons.size() + 1), robot);
  tendon.route = read_route(fields, robot, true);
  const auto sections = robot.sections.size();
  tendon.route.section = static_cast<int>(sections) - 1;
  if (fields.has("section")) {
    const auto [first, last] = read_sections(fields, sections);
    tendon.route.section = last;
    if (fields.get("section")->is_array()) tendon.route.first_section = first;
  }
  if (tendon.route.turn != 0.0 && tendon.route.first_section > 0)
    fields.refuse("section", "must be one number: the tendon turns, and begins at the base");
  if (tendon.route.turn != 0.0) require_helix(fields, tendon.route, robot);
  read_forces(fields, tendon);
  if (tendon.friction_coefficient > 0.0) require_friction(fields, tendon.route, robot);
  return tendon;
}

// ---- writing ------------------------------------------------------------------------------------

/// Attributes of a tendon with friction that holds: with the engine's own values it gives way
/// within a second.
void set_friction(XmlText friction, XmlNode& tendon) {
  tendon.set("frictionloss", std::move(friction))
      .set("solreffriction", "0.004 1")
      .set("solimpfriction", "0.9999 0.9999 0.001");
}

/// Adds a tendon without turns: over joints. Returns its length in the straight arm.
double add_over_joints(ArmDocument& arm, const Tendon& tendon) {
  XmlNode& node = arm.mjcf.tendon.add("fixed", {{"name", tendon.name}});
  if (tendon.friction != 0.0) set_friction(tendon.friction, node);
  for (const RouteJoint& joint : joints_along(arm, tendon.route))
    node.add("joint", {{"joint", joint.joint}, {"coef", joint.coefficient}});
  return 0.0;
}

/// A site on the path of a tendon that turns.
struct TendonSite {
  std::size_t body;        ///< as in ArmDocument::bodies
  Eigen::Vector3d p_body;  ///< in the frame of that body, in the base's in the straight arm [m]
  Eigen::Vector3d p_base;
};

/// Returns the sites from the base, through two at every joint, to the end of the last section.
std::vector<TendonSite> sites_along(const ArmDocument& arm, const TendonRoute& route) {
  const double way = rest_length(arm.robot, route);
  std::vector<TendonSite> sites;
  double frame = 0.0;  // of the body, along the backbone
  const auto add = [&](std::size_t body, double s) {
    const Eigen::Vector2d offset = route.offset_at(s / way);
    sites.push_back({body, {offset.x(), offset.y(), s - frame}, {offset.x(), offset.y(), s}});
  };
  add(0, 0.0);
  double start = 0.0;  // of the link
  std::size_t body = 0;
  for (const Link& link : arm.links) {
    if (!route.runs_through(link.section - 1)) break;
    const double joint = start + link.length / 2.0, away = kSiteDistance * link.length;
    add(body++, joint - away);
    frame = joint;
    add(body, joint + away);
    start += link.length;
  }
  add(body, start);
  return sites;
}

/// Adds a tendon that turns: through sites. Returns its length in the straight arm, that of a chain
/// of straight pieces [m].
double add_through_sites(ArmDocument& arm, const Tendon& tendon) {
  constexpr double kWidth = 0.06;  // of the distance
  XmlNode& node = arm.mjcf.tendon.add("spatial", {{"name", tendon.name},
                                                  {"width", kWidth * tendon.route.base_distance},
                                                  {"rgba", "0.15 0.15 0.17 1"}});
  if (tendon.friction != 0.0) set_friction(tendon.friction, node);
  const std::vector<TendonSite> sites = sites_along(arm, tendon.route);
  double length = 0.0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::string name = fmt::format("{}_{}", tendon.name, i + 1);
    const Eigen::Vector3d& p = sites[i].p_body;
    arm.bodies[sites[i].body]->add(
        "site", {{"name", name}, {"pos", {p.x(), p.y(), p.z()}}, {"size", 0.001}, {"group", 4}});
    node.add("site", {{"site", name}});
    if (i > 0) length += (sites[i].p_base - sites[i - 1].p_base).norm();
  }
  return length;
}

/// @param straight  length of the engine's tendon in the straight arm [m]
/// @param range  largest change of length that can be commanded [m]
/// @param start  command in the keyframe
void add_actuator(ArmDocument& arm, const Tendon& tendon, double straight, double range,
                  double start) {
  XmlNode& actuator = arm.mjcf.add_actuator("general",
                                            {{"name", tendon.name},
                                             {"tendon", tendon.name},
                                             {"gear", -1},
                                             {"forcerange", {0, tendon.max_tension}}},
                                            start);
  if (tendon.command == TendonCommand::Tension) {
    actuator.set("ctrlrange", {0, tendon.max_tension});
    return;
  }
  const std::string stiffness = number_text(tendon.stiffness);
  const double damping_time = arm.robot.written_damping_time(tendon.damping_time);
  actuator.set("gaintype", "fixed")
      .set("biastype", "affine")
      .set("gainprm", -tendon.stiffness)
      .set("biasprm",
           fmt::format("{} -{} -{}", number_text(tendon.pretension - tendon.stiffness * straight),
                       stiffness, number_text(damping_time * tendon.stiffness)))
      .set("ctrlrange", {-range, range});
}

/// Largest change of a tendon's length that can be commanded: what all sections at the limits of
/// their commands and its largest tension amount to [m].
/// @param row  of the tendon in the Jacobian of lengths
double length_range(const ContinuumDescription& robot, const ContinuumRobot& kinematics,
                    const Tendon& tendon, const Eigen::RowVectorXd& row) {
  double range = tendon.max_tension / tendon.stiffness;
  const double largest_distance = std::max(tendon.route.base_distance, tendon.route.end_distance);
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionParameters& section = robot.sections[static_cast<std::size_t>(i)];
    const int k = kinematics.coordinate_index(i);
    const double lever = tendon.route.turn == 0.0 ? row.segment<2>(k).norm() : largest_distance;
    if (tendon.route.runs_through(i)) range += lever * bend_command_limit(section);
    if (kinematics.section(i).is_extensible()) range += row[k + 2] * section.variable_length / 2.0;
  }
  return range;
}

}  // namespace

void read_tendons(const Fields& top, ContinuumDescription& robot) {
  for (const Fields& fields : top.tables("tendon")) {
    if (robot.tendons.size() == kMaxTendons)
      fields.refuse_object(fmt::format("a robot may have {} tendons at most", kMaxTendons));
    robot.tendons.push_back(read_tendon(fields, robot));
  }
}

void refuse_friction(const Fields& top, const ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("tendon");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (robot.tendons[t].friction_coefficient > 0.0)
      tables[t].refuse(kFriction, "needs [controller], whose plugin simulates it");
  }
}

void write_tendons(ArmDocument& arm) {
  const ContinuumDescription& robot = arm.robot;
  const ContinuumRobot kinematics = robot.kinematics();
  const TendonMap map(kinematics, tendon_routes(robot));
  const std::vector<double> start = tendon_start_commands(robot);
  for (std::size_t t = 0; t < robot.tendons.size(); ++t) {
    const Tendon& tendon = robot.tendons[t];
    const double straight =
        tendon.route.turn == 0.0 ? add_over_joints(arm, tendon) : add_through_sites(arm, tendon);
    const auto row = map.jacobian().row(static_cast<Eigen::Index>(t));
    add_actuator(arm, tendon, straight, length_range(robot, kinematics, tendon, row), start[t]);
    arm.mjcf.sensor.add("tendonpos",
                        {{"name", names::tendon_length(tendon.name)}, {"tendon", tendon.name}});
    arm.mjcf.sensor.add("actuatorfrc",
                        {{"name", names::tendon_tension(tendon.name)}, {"actuator", tendon.name}});
  }
}

void write_tendon_friction(ArmDocument& arm) {
  for (const Tendon& tendon : arm.robot.tendons) {
    if (tendon.friction_coefficient == 0.0) continue;
    const std::vector<RouteJoint> joints = joints_along(arm, tendon.route);
    for (int i = tendon.route.first_section; i <= tendon.route.section; ++i) {
      XmlNode& node =
          arm.mjcf.tendon.add("fixed", {{"name", names::tendon_friction(tendon.name, i + 1)}});
      set_friction("1e-9", node);
      // In the middle of a section the tendon slides by half of its change of length there and all
      // of that after it.
      for (const RouteJoint& joint : joints) {
        if (joint.section < i) continue;
        node.add("joint",
                 {{"joint", joint.joint},
                  {"coef", joint.section == i ? joint.coefficient / 2.0 : joint.coefficient}});
      }
    }
  }
}

}  // namespace tendril
