#include "tendril/robot_file/mobile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numbers>
#include <sstream>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/controller_table.hpp"
#include "tendril/robot_file/overrides.hpp"
#include "tendril/robot_file/toml_fields.hpp"

namespace tendril {
namespace {

using robot_file_detail::Allowed;
using robot_file_detail::Fields;
using robot_file_detail::kLargestNumber;
using robot_file_detail::kNotNegative;
using robot_file_detail::kPositive;
using robot_file_detail::Lines;
using robot_file_detail::sub_table;

constexpr std::array<std::string_view, 10> kTopKeys{
    "kind", "name", "self_collision", "platform", "arm",
    "yaw",  "link", "tool",           "start",    "controller"};
constexpr std::array<std::string_view, 15> kPlatformKeys{"length",
                                                         "width",
                                                         "height",
                                                         "mass",
                                                         "clearance",
                                                         "wheel_radius",
                                                         "gain",
                                                         "force_limit",
                                                         "turn_gain",
                                                         "turn_torque_limit",
                                                         "damping_time",
                                                         "speed_limit",
                                                         "acceleration_limit",
                                                         "turn_speed_limit",
                                                         "turn_acceleration_limit"};
constexpr std::array<std::string_view, 6> kArmKeys{"mount",           "shoulder_height",
                                                   "shoulder_offset", "tool_tilt",
                                                   "speed_limit",     "acceleration_limit"};
constexpr std::array<std::string_view, 8> kYawKeys{"limits",        "mass",         "radius",
                                                   "gain",          "damping_time", "torque_limit",
                                                   "joint_damping", "armature"};
/// Of a link and of the tool.
constexpr std::array<std::string_view, 9> kLinkKeys{"length",       "limits",        "mass",
                                                    "radius",       "gain",          "damping_time",
                                                    "torque_limit", "joint_damping", "armature"};
/// Of [arm] with a continuum arm.
constexpr std::array<std::string_view, 3> kMountKeys{"file", "mount", "angles"};
constexpr std::array<std::string_view, 4> kStartKeys{"x", "y", "heading", "joints"};
constexpr std::array<std::string_view, 6> kTables{"platform", "arm",   "yaw",
                                                  "tool",     "start", "controller"};

constexpr Allowed kNumber{-kLargestNumber, kLargestNumber, true, "must be a number"};
constexpr Allowed kLength{1e-3, 1e3, true, "must be in [1e-3, 1e3]"};
constexpr Allowed kPlace{-1e3, 1e3, true, "must be in [-1e3, 1e3]"};
constexpr Allowed kOffset{0.0, 1e3, true, "must be in [0, 1e3]"};
constexpr Allowed kMass{1e-6, kLargestNumber, true, "must be in [1e-6, 1e9]"};
constexpr Allowed kTilt{-0.5 * std::numbers::pi, 0.5 * std::numbers::pi, true,
                        "must be in [-pi/2, pi/2]"};
constexpr Allowed kHeading{-1e6, 1e6, true, "must be in [-1e6, 1e6]"};

/// A thick tool's capsule keeps this part of its length for the rounded end: it has an axis.
constexpr double kLongestToolEnd = 0.999;

bool is_known(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

JointLimits read_limits(const Fields& fields) {
  constexpr double kLargestAngle = 4.0 * std::numbers::pi;
  constexpr const char* kAllowed = "must be [min, max] with min < max, both in [-4 pi, 4 pi]";
  if (!fields.has("limits")) fields.refuse("limits", fmt::format("is missing, {}", kAllowed));
  const std::vector<double> limits =
      fields.numbers("limits", {-kLargestAngle, kLargestAngle, true, kAllowed});
  if (limits.size() != 2 || !(limits[0] < limits[1])) fields.refuse("limits", kAllowed);
  return {.min = limits[0], .max = limits[1]};
}

ArmPartPhysics read_part(const Fields& fields) {
  ArmPartPhysics part;
  const auto number = [&fields](std::string_view key, double& value, const Allowed& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("mass", part.mass, kMass);
  number("radius", part.radius, kLength);
  number("gain", part.joint.gain, kPositive);
  number("damping_time", part.joint.damping_time, kNotNegative);
  number("torque_limit", part.joint.torque_limit, kPositive);
  number("joint_damping", part.joint.joint_damping, kNotNegative);
  number("armature", part.joint.armature, kNotNegative);
  return part;
}

void read_platform(const Fields& fields, MobileDescription& robot) {
  fields.refuse_unknown(kPlatformKeys);
  PlatformPhysics& platform = robot.platform;
  const auto number = [&fields](std::string_view key, double& value, const Allowed& allowed) {
    value = fields.number(key, value, allowed);
  };
  robot.parameters.platform_length = fields.required_number("length", kLength);
  robot.parameters.platform_width = fields.required_number("width", kLength);
  robot.parameters.platform_height = fields.required_number("height", kLength);
  number("mass", platform.mass, kMass);
  number("clearance", platform.clearance, kOffset);
  if (!(platform.clearance < robot.parameters.platform_height))
    fields.refuse("clearance", "must be below the platform's height");
  number("wheel_radius", platform.wheel_radius, kOffset);
  number("speed_limit", robot.speeds.platform_speed, kPositive);
  number("acceleration_limit", robot.speeds.platform_acceleration, kPositive);
  number("turn_speed_limit", robot.speeds.turn_speed, kPositive);
  number("turn_acceleration_limit", robot.speeds.turn_acceleration, kPositive);
  number("gain", platform.gain, kPositive);
  number("force_limit", platform.force_limit, kPositive);
  number("turn_gain", platform.turn_gain, kPositive);
  number("turn_torque_limit", platform.turn_torque_limit, kPositive);
  number("damping_time", platform.damping_time, kNotNegative);
}

void read_arm(const Fields& fields, MobileDescription& robot) {
  MobileRobotParameters& parameters = robot.parameters;
  fields.refuse_unknown(kArmKeys);
  const std::vector<double> mount = fields.numbers("mount", kPlace);
  if (!mount.empty()) {
    if (mount.size() != 2) fields.refuse("mount", "must be [x, y] on the platform");
    parameters.mount_x = mount[0];
    parameters.mount_y = mount[1];
  }
  parameters.shoulder_height = fields.required_number("shoulder_height", kLength);
  parameters.shoulder_offset = fields.number("shoulder_offset", 0.0, kOffset);
  parameters.tool_tilt = fields.number("tool_tilt", 0.0, kTilt);
  robot.speeds.joint_speed = fields.number("speed_limit", robot.speeds.joint_speed, kPositive);
  robot.speeds.joint_acceleration =
      fields.number("acceleration_limit", robot.speeds.joint_acceleration, kPositive);
  if (parameters.shoulder_height <= parameters.platform_height)
    fields.refuse("shoulder_height", "must be above the platform");
}

MountedArm read_mount(const Fields& fields) {
  fields.refuse_unknown(kMountKeys);
  MountedArm arm;
  arm.file = fields.text("file", "");
  const auto three = [&fields](std::string_view key, const char* allowed) -> Eigen::Vector3d {
    const std::vector<double> numbers = fields.numbers(key, kPlace);
    if (numbers.empty()) return Eigen::Vector3d::Zero();
    if (numbers.size() != 3) fields.refuse(key, allowed);
    return {numbers[0], numbers[1], numbers[2]};
  };
  arm.X_PB.translation() = three("mount", "must be [x, y, z] on the platform");
  const Eigen::Vector3d angles = three("angles", "must be [roll, pitch, yaw]");
  arm.X_PB.linear() = (Eigen::AngleAxisd(angles.z(), Eigen::Vector3d::UnitZ()) *
                       Eigen::AngleAxisd(angles.y(), Eigen::Vector3d::UnitY()) *
                       Eigen::AngleAxisd(angles.x(), Eigen::Vector3d::UnitX()))
                          .toRotationMatrix();
  return arm;
}

MobileStart read_start(const Fields& fields, const MobileDescription& robot) {
  fields.refuse_unknown(kStartKeys);
  MobileStart start = robot.start_pose();
  start.base.x = fields.number("x", 0.0, kNumber);
  start.base.y = fields.number("y", 0.0, kNumber);
  start.base.heading = fields.number("heading", 0.0, kHeading);
  if (!fields.has("joints")) return start;
  start.joints = fields.numbers("joints", kNumber);
  const MobileRobot kinematics = robot.kinematics();
  const int count = kinematics.joint_count();
  if (static_cast<int>(start.joints.size()) != count)
    fields.refuse("joints", fmt::format("must be {} angles: yaw, one for each link, roll", count));
  for (int j = 0; j < count; ++j) {
    const JointLimits& limits = kinematics.joint_limits(j);
    if (limits.contains(start.joints[static_cast<std::size_t>(j)])) continue;
    fields.refuse("joints",
                  fmt::format("angle {} must be in [{}, {}]", j + 1, limits.min, limits.max));
  }
  return start;
}

/// An arm of joints: [arm], [yaw], [[link]], [tool].
void read_joints(const Fields& top, MobileDescription& robot, const std::string& file_name,
                 Lines lines) {
  const auto fields = [&](std::string_view key) {
    return Fields(sub_table(top, key), file_name, std::string(key), lines);
  };
  read_arm(fields("arm"), robot);
  const Fields yaw = fields("yaw");
  yaw.refuse_unknown(kYawKeys);
  robot.parameters.yaw = read_limits(yaw);
  robot.column = read_part(yaw);

  const toml::node* links = top.table().get("link");
  if (links == nullptr) top.refuse("link", "is missing, two [[link]] at least");
  if (!links->is_array_of_tables()) top.refuse("link", "must be tables, each headed [[link]]");
  const toml::array& all = *links->as_array();
  if (all.size() < 2 || all.size() > static_cast<std::size_t>(MobileRobot::kMaxLinks)) {
    throw ModelError(fmt::format("{}: link: {} of them, must be 2 to {}", file_name, all.size(),
                                 MobileRobot::kMaxLinks));
  }
  for (const toml::node& node : all) {
    const std::string object = fmt::format("link {}", robot.links.size() + 1);
    const Fields link(*node.as_table(), file_name, object, lines);
    link.refuse_unknown(kLinkKeys);
    robot.parameters.links.push_back(
        {.length = link.required_number("length", kLength), .limits = read_limits(link)});
    robot.links.push_back(read_part(link));
  }

  const Fields tool = fields("tool");
  tool.refuse_unknown(kLinkKeys);
  robot.parameters.roll = read_limits(tool);
  robot.tool = read_part(tool);
  robot.tool_length = tool.required_number("length", kLength);
  if (!(robot.tool_length < robot.parameters.links.back().length))
    tool.refuse("length", "must be below the last link's, of which it is a part");

  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", file_name, error.what()));
  }
}

MobileDescription read_mobile(const toml::table& table, std::string_view text,
                              const std::string& file_name, Lines lines) {
  const Fields top(table, file_name, "", lines);
  if (top.text("kind", "") != "mobile") top.refuse("kind", "must be \"mobile\"");
  top.refuse_unknown(kTopKeys);

  MobileDescription robot;
  robot.text = std::string(text);
  robot.name = top.text("name", robot.name);
  robot.self_collision = top.boolean("self_collision", robot.self_collision);
  const auto fields = [&](std::string_view key) {
    return Fields(sub_table(top, key), file_name, std::string(key), lines);
  };
  const bool is_mounted = fields("arm").has("file");
  for (const std::string_view key : {"platform", "arm", "yaw", "tool"}) {
    if (!top.has(key) && !(is_mounted && (key == "yaw" || key == "tool")))
      top.refuse(key, fmt::format("is missing, must be a table, [{}]", key));
  }
  read_platform(fields("platform"), robot);
  if (is_mounted) {
    for (const std::string_view key : {"yaw", "link", "tool", "self_collision", "start"}) {
      if (top.has(key)) top.refuse(key, "is for an arm of joints; this one has a file, arm.file");
    }
    robot.mounted = read_mount(fields("arm"));
  } else {
    read_joints(top, robot, file_name, lines);
  }
  if (table.contains("start")) robot.start = read_start(fields("start"), robot);
  if (table.contains("controller"))
    robot.controller = robot_file_detail::read_controller(fields("controller"));
  return robot;
}

/// The keys of a table of the file; none for the controller, whose keys are its own.
std::span<const std::string_view> keys_of(std::string_view table, bool is_mounted) {
  if (table == "platform") return kPlatformKeys;
  if (table == "arm" && is_mounted) return kMountKeys;
  if (table == "arm") return kArmKeys;
  if (table == "yaw") return kYawKeys;
  if (table == "start") return kStartKeys;
  return table == "controller" ? std::span<const std::string_view>() : kLinkKeys;
}

/// The tables that an override of `link.NUMBER.KEY` changes.
std::vector<toml::table*> link_tables(toml::table& top, std::string_view number,
                                      const std::string& place) {
  if (!top.contains("link")) throw ModelError(place + "the robot has no links");
  toml::array& links = *top.get("link")->as_array();
  std::vector<toml::table*> tables;
  if (number == "*") {
    for (toml::node& link : links) tables.push_back(link.as_table());
    return tables;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (error != std::errc{} || end != number.data() + number.size() || index < 1 ||
      index > links.size()) {
    throw ModelError(
        fmt::format("{}'{}' is no link, must be * or in [1, {}]", place, number, links.size()));
  }
  return {links.get(index - 1)->as_table()};
}

/// Checks the key of an override and puts the value where it names.
void apply_override(toml::table& top, const RobotOverride& change, const std::string& file_name) {
  const std::string place = fmt::format("{}: {}: ", file_name, change.key);
  const auto refuse = [&](const std::string& reason) { throw ModelError(place + reason); };
  const toml::table value = robot_file_detail::override_value(change, file_name);
  const std::string_view key = change.key;
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) {
    if (!is_known(kTopKeys, key) || is_known(kTables, key) || key == "link")
      refuse("unknown key, must be one of: kind, name, self_collision (of a table: TABLE.KEY)");
    top.insert_or_assign(key, *value.get("value"));
    return;
  }
  const std::string_view head = key.substr(0, dot);
  std::string_view rest = key.substr(dot + 1);
  std::vector<toml::table*> tables;
  if (head == "link") {
    const auto second_dot = rest.find('.');
    tables = link_tables(top, rest.substr(0, second_dot), place);
    rest = second_dot == std::string_view::npos ? "" : rest.substr(second_dot + 1);
  } else if (is_known(kTables, head)) {
    tables = {&robot_file_detail::ensured_table(top, head)};
  } else {
    refuse("unknown table, must be link or one of: " + robot_file_detail::joined(kTables));
  }
  if (head == "controller") {
    if (rest.empty()) refuse("controller.KEY: the key is missing");
  } else {
    const auto keys = keys_of(head, top.get("arm")->as_table()->contains("file"));
    if (!is_known(keys, rest))
      refuse("unknown key, must be one of: " + robot_file_detail::joined(keys));
  }
  for (toml::table* table : tables) table->insert_or_assign(rest, *value.get("value"));
}

}  // namespace

const JointPhysics& MobileDescription::joint(int j) const noexcept {
  if (j == 0) return column.joint;
  const auto link = static_cast<std::size_t>(j - 1);
  return link < links.size() ? links[link].joint : tool.joint;
}

MobileRobot MobileDescription::kinematics() const {
  if (mounted) throw ModelError(name + ": its arm is a continuum arm, must be one of joints");
  return MobileRobot(parameters);
}

MobileContinuum MobileDescription::continuum() const {
  if (!mounted) throw ModelError(name + ": its arm is one of joints, must be a continuum arm");
  return {.arm = parse_robot(mounted->text, mounted->file).kinematics(), .X_PB = mounted->X_PB};
}

std::vector<BodyCapsule> MobileDescription::capsules() const {
  if (mounted) return {};
  const double down = parameters.platform_height - parameters.shoulder_height;
  std::vector<BodyCapsule> all{
      {.frame = 1, .start = {0.0, 0.0, down}, .end = {0.0, 0.0, 0.0}, .radius = column.radius}};
  const int count = static_cast<int>(links.size());
  for (int i = 0; i < count; ++i) {
    const auto link = static_cast<std::size_t>(i);
    const double length = parameters.links[link].length - (i == count - 1 ? tool_length : 0.0);
    all.push_back({.frame = i + 2,
                   .start = {0.0, 0.0, 0.0},
                   .end = {0.0, 0.0, length},
                   .radius = links[link].radius});
  }
  all.push_back({.frame = count + 2,
                 .start = {-tool_length, 0.0, 0.0},
                 .end = {-std::min(tool.radius, kLongestToolEnd * tool_length), 0.0, 0.0},
                 .radius = tool.radius});
  return all;
}

MobileStart MobileDescription::start_pose() const {
  if (start) return *start;
  MobileStart pose;
  if (mounted) return pose;
  const MobileRobot robot = kinematics();
  for (int j = 0; j < robot.joint_count(); ++j)
    pose.joints.push_back(std::clamp(0.0, robot.joint_limits(j).min, robot.joint_limits(j).max));
  return pose;
}

MobileDescription parse_mobile(std::string_view toml, const std::string& file_name) {
  return read_mobile(robot_file_detail::parse_toml(toml, file_name), toml, file_name, Lines::Named);
}

void read_arm_file(MobileDescription& robot, const std::filesystem::path& folder) {
  if (!robot.mounted) return;
  MountedArm& arm = *robot.mounted;
  arm.file = (folder / arm.file).string();
  arm.text = robot_file_detail::read_text(arm.file);
  static_cast<void>(parse_robot(arm.text, arm.file));
}

MobileDescription load_mobile(const std::filesystem::path& file) {
  MobileDescription robot = parse_mobile(robot_file_detail::read_text(file), file.string());
  read_arm_file(robot, file.parent_path());
  return robot;
}

std::string mobile_with_overrides(std::string_view toml, std::span<const RobotOverride> overrides,
                                  const std::string& file_name) {
  toml::table table = robot_file_detail::parse_toml(toml, file_name);
  static_cast<void>(read_mobile(table, toml, file_name, Lines::Named));
  for (const RobotOverride& change : overrides) apply_override(table, change, file_name);
  std::ostringstream stream;
  stream << table << '\n';
  const std::string text = stream.str();
  static_cast<void>(
      read_mobile(robot_file_detail::parse_toml(text, file_name), text, file_name, Lines::Omitted));
  return text;
}

}  // namespace tendril
