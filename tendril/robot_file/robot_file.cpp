#include "tendril/robot_file/robot_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>
#include <sstream>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/controller_table.hpp"
#include "tendril/robot_file/overrides.hpp"
#include "tendril/robot_file/toml_fields.hpp"

namespace tendril {
namespace {

using robot_file_detail::Allowed;
using robot_file_detail::ensured_table;
using robot_file_detail::Fields;
using robot_file_detail::kLargestNumber;
using robot_file_detail::kNotNegative;
using robot_file_detail::kPositive;
using robot_file_detail::Lines;
using robot_file_detail::override_value;
using robot_file_detail::parse_toml;
using robot_file_detail::read_controller;
using robot_file_detail::sub_table;

constexpr std::array<std::string_view, 9> kTopKeys{"kind",    "name",           "compliance",
                                                   "planar",  "self_collision", "base",
                                                   "section", "start",          "controller"};
constexpr std::array<std::string_view, 9> kBaseKeys{"feed",
                                                    "spin",
                                                    "carriage_mass",
                                                    "feed_gain",
                                                    "feed_force_limit",
                                                    "spin_gain",
                                                    "spin_torque_limit",
                                                    "guide_length",
                                                    "guide_clearance"};
constexpr std::array<std::string_view, 3> kStartKeys{"feed", "arcs", "bends"};
constexpr std::array<std::string_view, 17> kSectionKeys{"constant_length",
                                                        "variable_length",
                                                        "bend_limit",
                                                        "length_weights",
                                                        "angle_weights",
                                                        "links",
                                                        "radius",
                                                        "mass",
                                                        "bending_stiffness",
                                                        "damping_time",
                                                        "axial_stiffness",
                                                        "bend_gain",
                                                        "bend_damping_time",
                                                        "bend_torque_limit",
                                                        "length_gain",
                                                        "length_damping_time",
                                                        "length_force_limit"};

constexpr Allowed kBendLimit{0.0, 2.0 * std::numbers::pi, false, "must be in (0, 2 pi]"};
constexpr Allowed kLengthWeight{0.0, kLargestNumber, false, "every weight must be positive"};
constexpr Allowed kAngleWeight{0.0, kLargestNumber, true, "every weight must be 0 or positive"};

/// Below this the engine's own limits on sizes and inertias come near.
constexpr double kShortestLink = 1e-6;      // [m]
constexpr double kSmallestInertia = 1e-14;  // [kg m^2]

template <std::size_t n>
bool is_known(const std::array<std::string_view, n>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

SectionParameters read_parameters(const Fields& fields) {
  SectionParameters section;
  section.length = fields.number("constant_length", 0.0, kNotNegative);
  section.variable_length = fields.number("variable_length", 0.0, kNotNegative);
  if (section.length + section.variable_length <= 0.0) {
    fields.refuse_object(
        "constant_length or variable_length: one of them must be given and positive");
  }
  section.bend_angle_limit = fields.required_number("bend_limit", kBendLimit);
  section.length_weights = fields.numbers("length_weights", kLengthWeight);
  section.angle_weights = fields.numbers("angle_weights", kAngleWeight);
  const auto& angle_weights = section.angle_weights;
  if (section.length_weights.size() != angle_weights.size()) {
    fields.refuse(fields.has("angle_weights") ? "angle_weights" : "length_weights",
                  "length_weights and angle_weights must have the same number of elements");
  }
  if (!angle_weights.empty() &&
      std::accumulate(angle_weights.begin(), angle_weights.end(), 0.0) <= 0.0) {
    fields.refuse("angle_weights", "one weight at least must be positive");
  }
  return section;
}

SectionPhysics read_physics(const Fields& fields, const SectionParameters& section) {
  SectionPhysics physics;
  physics.links = fields.integer("links", physics.links, 1, kMaxLinksPerSection);
  const auto number = [&fields](std::string_view key, double& value, const Allowed& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("radius", physics.radius, kPositive);
  number("mass", physics.mass, kPositive);
  number("bending_stiffness", physics.bending_stiffness, kPositive);
  number("damping_time", physics.damping_time, kPositive);
  number("axial_stiffness", physics.axial_stiffness, kPositive);
  number("bend_gain", physics.bend_gain, kNotNegative);
  number("bend_damping_time", physics.bend_damping_time, kNotNegative);
  number("bend_torque_limit", physics.bend_torque_limit, kPositive);
  number("length_gain", physics.length_gain, kPositive);
  number("length_damping_time", physics.length_damping_time, kNotNegative);
  number("length_force_limit", physics.length_force_limit, kPositive);

  const auto& weights = section.length_weights;
  if (static_cast<std::size_t>(physics.links) < weights.size()) {
    fields.refuse(
        "links", fmt::format("must be at least {}, one link for each sub-section", weights.size()));
  }
  // The shortest link that the weights can lead to; it is also the lightest.
  const double smallest_weight = weights.empty()
                                     ? 1.0
                                     : *std::min_element(weights.begin(), weights.end()) /
                                           std::accumulate(weights.begin(), weights.end(), 0.0);
  const double smallest_share = smallest_weight / physics.links;
  const double rest_length = section.length + section.variable_length / 2.0;
  if (rest_length * smallest_share < kShortestLink) {
    fields.refuse_object(fmt::format(
        "links = {}: links would be shorter than {} m, must be fewer or the section longer",
        physics.links, kShortestLink));
  }
  if (physics.mass * smallest_share * physics.radius * physics.radius / 4.0 < kSmallestInertia) {
    fields.refuse_object(
        fmt::format("mass = {} kg, radius = {} m: the inertia of a link would be below {} kg m^2, "
                    "must be heavier, thicker or of fewer links",
                    physics.mass, physics.radius, kSmallestInertia));
  }
  return physics;
}

BasePhysics read_base_physics(const Fields& fields) {
  BasePhysics physics;
  physics.carriage_mass = fields.number("carriage_mass", physics.carriage_mass,
                                        {1e-6, kLargestNumber, true, "must be in [1e-6, 1e9]"});
  physics.feed_gain = fields.number("feed_gain", physics.feed_gain, kPositive);
  physics.feed_force_limit = fields.number("feed_force_limit", physics.feed_force_limit, kPositive);
  physics.spin_gain = fields.number("spin_gain", physics.spin_gain, kPositive);
  physics.spin_torque_limit =
      fields.number("spin_torque_limit", physics.spin_torque_limit, kPositive);
  physics.guide_length = fields.number("guide_length", physics.guide_length, kNotNegative);
  physics.guide_clearance = fields.number("guide_clearance", physics.guide_clearance, kNotNegative);
  return physics;
}

StartPose read_start(const Fields& fields, double feed_limit,
                     std::span<const SectionParameters> sections) {
  fields.refuse_unknown(kStartKeys);
  StartPose start;
  start.feed = fields.number("feed", 0.0, kNotNegative);
  if (start.feed > feed_limit) {
    fields.refuse("feed", fmt::format("must be in [0, {}], the base's feed", feed_limit));
  }
  const std::vector<double> numbers =
      fields.numbers("arcs", {-kLargestNumber, kLargestNumber, true, "must be numbers"});
  if (numbers.size() % 2 != 0) fields.refuse("arcs", "must be pairs of curvature and length");
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i + 1] <= 0.0) fields.refuse("arcs", "every length must be positive");
    start.arcs.emplace_back(numbers[i], numbers[i + 1]);
  }
  start.bends = fields.numbers("bends", {-kLargestNumber, kLargestNumber, true, "must be numbers"});
  if (!start.bends.empty() && start.bends.size() != sections.size()) {
    fields.refuse("bends", fmt::format("must be one for each section, {} in all", sections.size()));
  }
  for (std::size_t i = 0; i < start.bends.size(); ++i) {
    const double limit = bend_command_limit(sections[i]);
    if (std::abs(start.bends[i]) > limit) {
      fields.refuse("bends",
                    fmt::format("that of section {} must be in [-{}, {}]", i + 1, limit, limit));
    }
  }
  return start;
}

Compliance read_compliance(const Fields& top) {
  const std::string compliance = top.text("compliance", "section");
  if (compliance != "section" && compliance != "link") {
    top.refuse("compliance", "must be \"section\" or \"link\"");
  }
  return compliance == "link" ? Compliance::Link : Compliance::Section;
}

void check_kind(const Fields& top) {
  const std::string kind = top.text("kind", "continuum");
  if (kind == "continuum") return;
  if (kind == "mobile") {
    top.refuse("kind", "must be \"continuum\"; this file is a mobile robot");
  }
  if (kind == "snake") top.refuse("kind", "must be \"continuum\"; this file is a snake");
  if (kind == "tube") top.refuse("kind", "must be \"continuum\"; this file is a tube");
  top.refuse("kind", "must be \"continuum\", \"snake\" or \"mobile\"");
}

RobotDescription read_robot(const toml::table& table, std::string_view text,
                            const std::string& file_name, Lines lines) {
  const Fields top(table, file_name, "", lines);
  check_kind(top);
  top.refuse_unknown(kTopKeys);

  RobotDescription robot;
  robot.text = std::string(text);
  robot.name = top.text("name", robot.name);
  robot.compliance = read_compliance(top);
  robot.self_collision = top.boolean("self_collision", robot.self_collision);
  robot.planar = top.boolean("planar", robot.planar);

  const Fields base(sub_table(top, "base"), file_name, "base", lines);
  base.refuse_unknown(kBaseKeys);
  robot.base.feed_limit = base.number("feed", 0.0, kNotNegative);
  robot.base.spin = base.boolean("spin", false);
  robot.base_physics = read_base_physics(base);
  if (robot.base_physics.guide_length > 0.0) {
    if (robot.base.feed_limit <= 0.0) base.refuse("guide_length", "needs feed > 0");
    if (robot.base.spin) base.refuse("guide_length", "a base with a guide cannot spin");
    if (robot.compliance != Compliance::Link) {
      base.refuse("guide_length", "needs compliance = \"link\": links in the guide are not bent");
    }
  }

  const toml::node* sections = table.get("section");
  if (sections == nullptr) top.refuse("section", "is missing, one [[section]] at least");
  if (!sections->is_array_of_tables()) {
    top.refuse("section", "must be tables, each headed [[section]]");
  }
  int links = 0;
  for (const toml::node& node : *sections->as_array()) {
    const std::string object = fmt::format("section {}", robot.sections.size() + 1);
    const Fields fields(*node.as_table(), file_name, object, lines);
    fields.refuse_unknown(kSectionKeys);
    robot.sections.push_back(read_parameters(fields));
    robot.physics.push_back(read_physics(fields, robot.sections.back()));
    links += robot.physics.back().links;
    if (links > kMaxLinks) {
      fields.refuse_object(fmt::format(
          "links: the robot has {} up to here, must be at most {} in all", links, kMaxLinks));
    }
  }
  if (table.contains("start")) {
    robot.start = read_start(Fields(sub_table(top, "start"), file_name, "start", lines),
                             robot.base.feed_limit, robot.sections);
  }
  if (table.contains("controller")) {
    robot.controller =
        read_controller(Fields(sub_table(top, "controller"), file_name, "controller", lines));
  }

  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", file_name, error.what()));
  }
  return robot;
}

// ---- overrides

/// The tables that the first parts of an override's key name, and the key inside them.
struct OverrideTarget {
  std::vector<toml::table*> tables;
  std::string_view key;
};

OverrideTarget override_target(toml::table& top, const RobotOverride& change,
                               const std::string& file_name) {
  const auto refuse = [&](std::string_view reason) {
    throw ModelError(fmt::format("{}: {}: {}", file_name, change.key, reason));
  };
  const std::string_view key = change.key;
  const auto dot = key.find('.');
  const std::string_view head = key.substr(0, dot);
  if (dot == std::string_view::npos) {
    if (!is_known(kTopKeys, head) || head == "base" || head == "section" || head == "start" ||
        head == "controller") {
      refuse(
          "unknown key, must be kind, name, compliance, planar, self_collision, base.KEY, "
          "section.NUMBER.KEY, section.*.KEY, start.KEY or controller.KEY");
    }
    return {{&top}, head};
  }
  const std::string_view rest = key.substr(dot + 1);
  if (head == "base") {
    if (!is_known(kBaseKeys, rest)) {
      refuse("unknown key, must be one of: " + robot_file_detail::joined(kBaseKeys));
    }
    return {{&ensured_table(top, "base")}, rest};
  }
  if (head == "start") {
    if (!is_known(kStartKeys, rest)) {
      refuse("unknown key, must be one of: " + robot_file_detail::joined(kStartKeys));
    }
    return {{&ensured_table(top, "start")}, rest};
  }
  if (head == "controller") {
    if (rest.empty()) refuse("controller.KEY: the key is missing");
    return {{&ensured_table(top, "controller")}, rest};
  }
  if (head != "section") refuse("unknown table, must be base, section, start or controller");

  const auto second_dot = rest.find('.');
  const std::string_view number = rest.substr(0, second_dot);
  const std::string_view name =
      second_dot == std::string_view::npos ? "" : rest.substr(second_dot + 1);
  if (!is_known(kSectionKeys, name)) {
    refuse("unknown key, must be section.NUMBER.KEY with KEY one of: " +
           robot_file_detail::joined(kSectionKeys));
  }
  toml::array& sections = *top.get("section")->as_array();
  OverrideTarget target{{}, name};
  if (number == "*") {
    for (toml::node& section : sections) target.tables.push_back(section.as_table());
    return target;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (error != std::errc{} || end != number.data() + number.size() || index < 1 ||
      index > sections.size()) {
    refuse(fmt::format("'{}' is no section, must be * or in [1, {}]", number, sections.size()));
  }
  target.tables.push_back(sections.get(index - 1)->as_table());
  return target;
}

}  // namespace

RobotDescription parse_robot(std::string_view toml, const std::string& file_name) {
  return read_robot(parse_toml(toml, file_name), toml, file_name, Lines::Named);
}

void read_setting_files(RobotDescription& robot, const std::filesystem::path& folder) {
  robot_file_detail::read_setting_files(robot.controller, folder);
}

RobotDescription load_robot(const std::filesystem::path& file) {
  return parse_robot(robot_file_detail::read_text(file), file.string());
}

std::string with_overrides(std::string_view toml, std::span<const RobotOverride> overrides,
                           const std::string& file_name) {
  toml::table table = parse_toml(toml, file_name);
  static_cast<void>(read_robot(table, toml, file_name, Lines::Named));
  for (const RobotOverride& change : overrides) {
    const toml::table value = override_value(change, file_name);
    const OverrideTarget target = override_target(table, change, file_name);
    for (toml::table* into : target.tables) {
      into->insert_or_assign(target.key, *value.get("value"));
    }
  }
  std::ostringstream stream;
  stream << table << '\n';
  const std::string text = stream.str();
  static_cast<void>(read_robot(parse_toml(text, file_name), text, file_name, Lines::Omitted));
  return text;
}

}  // namespace tendril
