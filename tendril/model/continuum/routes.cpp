#include "tendril/model/continuum/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

/// Below this cosine a hinge does not change a tendon's length: it is that of a right angle,
/// rounded.
constexpr double kNoArm = 1e-12;
/// The same of the angle of a route that a planar arm cannot bend.
constexpr double kAcross = 1e-6;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Names of the model's own tendons and actuators, except those of sections.
std::vector<std::string_view> own_names() {
  std::vector<std::string_view> own{names::kFeed, names::kSpin};
  for (const ArmPartKind* const kind : kArmPartKinds)
    if (!kind->actuator.empty()) own.push_back(kind->actuator);
  return own;
}

void require_free_name(const Fields& fields, const std::string& name) {
  const std::vector<std::string_view> own = own_names();
  if (std::find(own.begin(), own.end(), name) != own.end())
    fields.refuse("name", "is a name of the model's own: must not be " + joined(own));
  if (const int section = names::section_of(name); section > 0)
    fields.refuse("name",
                  fmt::format("is a name of section {0}'s own elements: must not end like s{0}_x, "
                              "s{0}_y, s{0}_z, s{0}_end, s{0}_l1 or s{0}_l1_x",
                              section));
}

/// Tells whether a name is that of the friction of the tendon `other`.
bool is_friction_of(std::string_view name, const std::string& other) {
  const std::string begin = other + "_friction_";
  return name.starts_with(begin) && name.find_first_not_of("0123456789", begin.size()) == name.npos;
}

/// About the backbone; two numbers, where it begins and at its end, of one that `may_turn`.
void read_angle(const Fields& fields, const ContinuumDescription& robot, bool may_turn,
                TendonRoute& route) {
  const toml::node* const angle = fields.get("angle");
  if (angle != nullptr && angle->is_array() && may_turn) {
    const std::vector<double> ends = fields.elements("angle", *angle, 2, kAnyNumber);
    route.angle = ends[0];
    route.turn = ends[1] - ends[0];
    if (robot.is_planar() && route.turn != 0.0)
      fields.refuse("angle",
                    "must be one number in a planar arm, which cannot bend out of its plane");
  } else {
    route.angle = fields.required_number("angle", kAnyNumber);
  }
  if (robot.is_planar() && std::abs(std::cos(route.angle)) < kAcross)
    fields.refuse("angle", "must not be across the plane of a planar arm: it would not bend it");
}

void read_distance(const Fields& fields, TendonRoute& route) {
  const toml::node* const distance = fields.get("distance");
  fields.describe("distance", "required");
  if (distance == nullptr) fields.missing("distance", "is missing, from the backbone in m");
  if (distance->is_array()) {
    const std::vector<double> ends = fields.elements("distance", *distance, 2, kAnyNumber);
    route.base_distance = ends[0];
    route.end_distance = ends[1];
  } else {
    route.base_distance = route.end_distance = fields.required_number("distance", kAnyNumber);
  }
  if (route.base_distance <= 0.0 || route.end_distance <= 0.0)
    fields.refuse("distance",
                  "must be > 0, or two such numbers [where it begins, at its end]: in the axis it "
                  "bends nothing");
}

}  // namespace

std::string read_route_name(const Fields& fields, const std::string& fallback,
                            const ContinuumDescription& robot) {
  const std::string name = fields.text("name", fallback);
  if (name.empty() || !is_letter(name.front()) ||
      !std::all_of(name.begin(), name.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '_'; })) {
    fields.refuse("name", "must be letters, digits and _, a letter first");
  }
  require_free_name(fields, name);
  const auto has_name = [&](const auto& other) {
    if (is_friction_of(name, other.name) || is_friction_of(other.name, name))
      fields.refuse("name", "must not be that of the friction of a tendon");
    return other.name == name;
  };
  if (std::any_of(robot.tendons.begin(), robot.tendons.end(), has_name) ||
      std::any_of(robot.chambers.begin(), robot.chambers.end(), has_name))
    fields.refuse("name", "must not be that of another tendon or chamber");
  return name;
}

TendonRoute read_route(const Fields& fields, const ContinuumDescription& robot, bool may_turn) {
  TendonRoute route;
  read_angle(fields, robot, may_turn, route);
  read_distance(fields, route);
  return route;
}

std::pair<int, int> read_sections(const Fields& fields, std::size_t count) {
  const auto sections = static_cast<int>(count);
  const toml::node* const node = fields.get("section");
  if (!node->is_array()) {
    const int section = fields.integer("section", sections, 1, sections);
    return {section - 1, section - 1};
  }
  const std::vector<double> ends = fields.elements("section", *node, 2, kAnyNumber);
  const bool whole = ends[0] == std::floor(ends[0]) && ends[1] == std::floor(ends[1]);
  if (!whole || ends[0] < 1.0 || ends[1] < ends[0] || ends[1] > sections) {
    fields.refuse("section",
                  fmt::format("must be an integer in [1, {0}] or two of them, the first and "
                              "the last section that it is in",
                              sections));
  }
  return {static_cast<int>(ends[0]) - 1, static_cast<int>(ends[1]) - 1};
}

std::vector<RouteJoint> joints_along(const ArmDocument& arm, const TendonRoute& route) {
  std::vector<RouteJoint> joints;
  double length = 0.0, middle = 0.0;
  for (const Link& link : arm.links)
    if (route.runs_through(link.section - 1)) length += link.length;
  for (const Link& link : arm.links) {
    if (!route.runs_through(link.section - 1)) continue;
    const double distance = route.distance_at((middle + link.length / 2.0) / length);
    middle += link.length;
    const auto section = static_cast<std::size_t>(link.section - 1);
    for (const char axis : bend_axes(arm.robot.sections[section])) {
      if (!link.has_hinges()) break;
      const double lever = axis == 'y' ? -std::cos(route.angle) : std::sin(route.angle);
      if (std::abs(lever) < kNoArm) continue;
      joints.push_back(
          {names::hinge(link.section, link.index, axis), distance * lever, link.section - 1});
    }
    if (link.has_slide())
      joints.push_back({names::slide(link.section, link.index), 1.0, link.section - 1});
  }
  return joints;
}

}  // namespace tendril
