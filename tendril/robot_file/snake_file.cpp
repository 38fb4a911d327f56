#include "tendril/robot_file/snake_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <sstream>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/controller_table.hpp"
#include "tendril/robot_file/overrides.hpp"
#include "tendril/robot_file/toml_fields.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {
namespace {

using robot_file_detail::Allowed;
using robot_file_detail::Fields;
using robot_file_detail::kLargestNumber;
using robot_file_detail::kNotNegative;
using robot_file_detail::kPositive;
using robot_file_detail::Lines;
using robot_file_detail::sub_table;

constexpr std::array<std::string_view, 21> kTopKeys{
    "kind",         "name",          "joints",    "link_length", "link_lengths",   "shape",
    "radius",       "half_width",    "link_mass", "joint_limit", "gain",           "damping_ratio",
    "torque_limit", "joint_damping", "armature",  "friction",    "self_collision", "base",
    "scales",       "start",         "controller"};
constexpr std::array<std::string_view, 5> kBaseKeys{"kind", "feed", "carriage_mass", "feed_gain",
                                                    "feed_force_limit"};
constexpr std::array<std::string_view, 3> kScaleKeys{"floor", "along", "across"};
constexpr std::array<std::string_view, 10> kStartKeys{
    "yaw",     "pitch",       "angles", "position",    "roll",
    "heading", "pitch_angle", "feed",   "coil_radius", "coil_waves"};
constexpr std::array<std::string_view, 4> kTables{"base", "scales", "start", "controller"};

constexpr Allowed kNumber{-kLargestNumber, kLargestNumber, true, "must be a number"};
constexpr Allowed kJointLimit{0.0, std::numbers::pi / 2.0, false, "must be in (0, pi/2]"};
constexpr Allowed kLength{1e-4, 1e3, true, "must be in [1e-4, 1e3]"};
constexpr Allowed kMass{1e-6, kLargestNumber, true, "must be in [1e-6, 1e9]"};

bool is_known(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void read_chain(const Fields& top, SnakeDescription& snake) {
  const std::string allowed = fmt::format(
      "must be an even integer in [2, {}]: yaw and pitch joints come in pairs", kMaxSnakeJoints);
  if (top.has("joints")) {
    const auto* value = top.table().get("joints")->as_integer();
    if (value == nullptr || value->get() < 2 || value->get() > kMaxSnakeJoints ||
        value->get() % 2 != 0) {
      top.refuse("joints", allowed);
    }
    snake.joints = static_cast<int>(value->get());
  }
  if (top.has("link_length") == top.has("link_lengths")) {
    top.refuse(top.has("link_lengths") ? "link_lengths" : "link_length",
               "one of link_length and link_lengths must be given");
  }
  const bool is_free = snake.base == SnakeBase::Free;
  const int links = snake.joints + (is_free ? 1 : 0);
  if (top.has("link_length")) {
    snake.link_lengths.assign(static_cast<std::size_t>(links),
                              top.required_number("link_length", kLength));
  } else {
    snake.link_lengths = top.numbers("link_lengths", kLength);
    if (static_cast<int>(snake.link_lengths.size()) != links) {
      top.refuse("link_lengths",
                 fmt::format("must be {} lengths, from the tail{}", links,
                             is_free ? ": one more than joints" : ", one for each joint"));
    }
  }
  if (!is_free) snake.link_lengths.insert(snake.link_lengths.begin(), 0.0);
}

void read_physics(const Fields& top, SnakeDescription& snake) {
  const auto number = [&top](std::string_view key, double& value, const Allowed& allowed) {
    value = top.number(key, value, allowed);
  };
  const std::string shape = top.text("shape", "capsule");
  if (shape != "capsule" && shape != "box") {
    top.refuse("shape", "must be \"capsule\" or \"box\"");
  }
  snake.shape = shape == "box" ? LinkShape::Box : LinkShape::Capsule;
  if (snake.shape == LinkShape::Capsule && top.has("half_width")) {
    top.refuse("half_width", "needs shape = \"box\"");
  }
  number("radius", snake.radius, kLength);
  number("half_width", snake.half_width, kLength);
  number("link_mass", snake.link_mass, kMass);
  number("joint_limit", snake.joint_limit, kJointLimit);
  number("gain", snake.gain, kPositive);
  number("damping_ratio", snake.damping_ratio, kNotNegative);
  number("torque_limit", snake.torque_limit, kPositive);
  number("joint_damping", snake.joint_damping, kNotNegative);
  number("armature", snake.armature, kNotNegative);
  number("friction", snake.friction, kNotNegative);
  snake.self_collision = top.boolean("self_collision", snake.self_collision);
}

void read_base(const Fields& base, SnakeDescription& snake) {
  base.refuse_unknown(kBaseKeys);
  const std::string kind = base.text("kind", "free");
  if (kind != "free" && kind != "carriage") {
    base.refuse("kind", "must be \"free\" or \"carriage\"");
  }
  if (kind == "free") {
    for (const auto& [key, node] : base.table()) {
      if (key.str() != "kind") base.refuse(key.str(), "needs kind = \"carriage\"");
    }
    return;
  }
  snake.base = SnakeBase::Carriage;
  snake.feed_limit = base.required_number("feed", kPositive);
  snake.carriage_mass = base.number("carriage_mass", snake.carriage_mass, kMass);
  snake.feed_gain = base.number("feed_gain", snake.feed_gain, kPositive);
  snake.feed_force_limit = base.number("feed_force_limit", snake.feed_force_limit, kPositive);
}

SnakeScales read_scales(const Fields& fields, const SnakeDescription& snake) {
  fields.refuse_unknown(kScaleKeys);
  SnakeScales scales;
  scales.floor = fields.text("floor", "");
  if (scales.floor.empty()) {
    fields.refuse("floor", "is missing, must name the plane geom of the scene");
  }
  if (snake.shape != LinkShape::Capsule) {
    fields.refuse_object("needs shape = \"capsule\": a box has no first tangent along the link");
  }
  scales.along = fields.number("along", scales.along, {1e-5, 1e9, true, "must be in [1e-5, 1e9]"});
  scales.across =
      fields.number("across", scales.across, {1e-5, 1e9, true, "must be in [1e-5, 1e9]"});
  return scales;
}

StartWave read_wave(const Fields& fields, std::string_view key) {
  const std::vector<double> numbers = fields.numbers(key, kNumber);
  if (numbers.empty()) return {};
  if (numbers.size() > 3) fields.refuse(key, "must be [amplitude, waves, phase]");
  const auto at = [&](std::size_t i) { return i < numbers.size() ? numbers[i] : 0.0; };
  return {.amplitude = at(0), .waves = at(1), .phase = at(2)};
}

void read_coil(const Fields& fields, const SnakeDescription& snake, SnakeStart& start) {
  for (const std::string_view key : {"yaw", "pitch", "roll", "pitch_angle"}) {
    if (fields.has(key)) fields.refuse(key, "must not be given together with coil_radius");
  }
  if (snake.joints < 4) fields.refuse("coil_radius", "needs at least 4 joints");
  start.coil_radius = fields.required_number("coil_radius", kPositive);
  const double usual =
      standard_gait(GaitKind::Helix, snake.joints).lag * snake.joints / (2.0 * std::numbers::pi);
  start.coil_waves = fields.number("coil_waves", usual, kNumber);
  const double lag = lag_of_waves(start.coil_waves, snake.joints);
  const double length = snake.link_lengths.back();
  if (!helix_amplitude(start.coil_radius, lag, length, snake.joints)) {
    fields.refuse("coil_radius",
                  fmt::format("must be one that links of {} m can coil to with {:.3g} waves",
                              length, start.coil_waves));
  }
}

SnakeStart read_start(const Fields& fields, const SnakeDescription& snake) {
  fields.refuse_unknown(kStartKeys);
  SnakeStart start;
  start.yaw = read_wave(fields, "yaw");
  start.pitch = read_wave(fields, "pitch");
  start.angles = fields.numbers("angles", kNumber);
  if (!start.angles.empty() && start.angles.size() != static_cast<std::size_t>(snake.joints)) {
    fields.refuse("angles", fmt::format("must be {} angles, one for each joint", snake.joints));
  }
  const bool is_free = snake.base == SnakeBase::Free;
  for (const std::string_view key :
       {"position", "roll", "pitch_angle", "heading", "coil_radius", "coil_waves"}) {
    if (!is_free && fields.has(key)) fields.refuse(key, "needs base.kind = \"free\"");
  }
  if (is_free && fields.has("feed")) fields.refuse("feed", "needs base.kind = \"carriage\"");
  const std::vector<double> position = fields.numbers("position", kNumber);
  if (!position.empty()) {
    if (position.size() != 3) fields.refuse("position", "must be three coordinates");
    start.position = Eigen::Vector3d(position[0], position[1], position[2]);
  }
  start.roll = fields.number("roll", 0.0, kNumber);
  start.pitch_angle = fields.number("pitch_angle", 0.0, kNumber);
  start.heading = fields.number("heading", 0.0, kNumber);
  start.feed = fields.number("feed", 0.0, kNotNegative);
  if (start.feed > snake.feed_limit) {
    fields.refuse("feed", fmt::format("must be in [0, {}], the base's feed", snake.feed_limit));
  }
  if (fields.has("coil_radius")) read_coil(fields, snake, start);
  return start;
}

SnakeDescription read_snake(const toml::table& table, std::string_view text,
                            const std::string& file_name, Lines lines) {
  const Fields top(table, file_name, "", lines);
  if (top.text("kind", "") != "snake") top.refuse("kind", "must be \"snake\"");
  top.refuse_unknown(kTopKeys);

  SnakeDescription snake;
  snake.text = std::string(text);
  snake.name = top.text("name", snake.name);
  const auto fields = [&](std::string_view key) {
    return Fields(sub_table(top, key), file_name, std::string(key), lines);
  };
  read_base(fields("base"), snake);
  read_chain(top, snake);
  read_physics(top, snake);
  if (table.contains("scales")) snake.scales = read_scales(fields("scales"), snake);
  if (table.contains("start")) snake.start = read_start(fields("start"), snake);
  if (table.contains("controller")) {
    snake.controller = robot_file_detail::read_controller(fields("controller"));
  }
  return snake;
}

/// Checks the key of an override and puts the value where it names.
void apply_override(toml::table& top, const RobotOverride& change, const std::string& file_name) {
  const auto refuse = [&](const std::string& reason) {
    throw ModelError(fmt::format("{}: {}: {}", file_name, change.key, reason));
  };
  const toml::table value = robot_file_detail::override_value(change, file_name);
  const std::string_view key = change.key;
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) {
    if (!is_known(kTopKeys, key) || is_known(kTables, key)) {
      refuse("unknown key, must be one of: " + robot_file_detail::joined(kTopKeys) +
             " (of a table: TABLE.KEY)");
    }
    top.insert_or_assign(key, *value.get("value"));
    return;
  }
  const std::string_view head = key.substr(0, dot), rest = key.substr(dot + 1);
  if (!is_known(kTables, head)) refuse("unknown table, must be base, scales, start or controller");
  if (head == "controller") {
    if (rest.empty()) refuse("controller.KEY: the key is missing");
  } else {
    const std::span<const std::string_view> known =
        head == "base"     ? std::span<const std::string_view>(kBaseKeys)
        : head == "scales" ? std::span<const std::string_view>(kScaleKeys)
                           : std::span<const std::string_view>(kStartKeys);
    if (!is_known(known, rest))
      refuse("unknown key, must be one of: " + robot_file_detail::joined(known));
  }
  robot_file_detail::ensured_table(top, head).insert_or_assign(rest, *value.get("value"));
}

}  // namespace

SnakeChain SnakeDescription::kinematics() const {
  return SnakeChain({.link_lengths = {link_lengths.begin() + 1, link_lengths.end()},
                     .joint_limit = joint_limit,
                     .joint_limits = {},
                     .rear_length = link_lengths.front()});
}

SnakeDescription parse_snake(std::string_view toml, const std::string& file_name) {
  return read_snake(robot_file_detail::parse_toml(toml, file_name), toml, file_name, Lines::Named);
}

std::string snake_with_overrides(std::string_view toml, std::span<const RobotOverride> overrides,
                                 const std::string& file_name) {
  toml::table table = robot_file_detail::parse_toml(toml, file_name);
  static_cast<void>(read_snake(table, toml, file_name, Lines::Named));
  for (const RobotOverride& change : overrides) apply_override(table, change, file_name);
  std::ostringstream stream;
  stream << table << '\n';
  const std::string text = stream.str();
  static_cast<void>(
      read_snake(robot_file_detail::parse_toml(text, file_name), text, file_name, Lines::Omitted));
  return text;
}

}  // namespace tendril
