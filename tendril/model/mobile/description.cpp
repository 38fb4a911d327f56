#include "tendril/model/mobile/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <numbers>

#include "tendril/model/mobile/sensors.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr std::string_view kTable = "table";
constexpr KeyInfo kTopKeys[]{{"kind", "", "`\"mobile\"`", "required"},
                             {"name", "", "of the model"},
                             {"self_collision", "", "parts that are not neighbors collide"},
                             {"platform", "", kTable, kTable},
                             {"arm", "", kTable, kTable},
                             {"yaw", "", kTable, kTable},
                             {"link", "", kTable, kTable},
                             {"tool", "", kTable, kTable},
                             {"sensor", "", kTable, kTable},
                             {"start", "", kTable, kTable},
                             {"controller", "", kTable, kTable}};
constexpr KeyInfo kPlatformKeys[]{{"length", "m", "along x"},
                                  {"width", "m", "along y"},
                                  {"height", "m", "of the top above the floor"},
                                  {"mass", "kg", "of the platform"},
                                  {"clearance", "m", "of the underside above the floor"},
                                  {"wheel_radius", "m", "of the drawn wheels; 0: none"},
                                  {"gain", "N/m", "of the position servos of the slides"},
                                  {"force_limit", "N", "of these servos"},
                                  {"turn_gain", "N m/rad", "of the position servo of the heading"},
                                  {"turn_torque_limit", "N m", "of this servo"},
                                  {"damping_time", "s", "kv / kp of the three servos"},
                                  {"speed_limit", "m/s", "for controllers"},
                                  {"acceleration_limit", "m/s^2", "for controllers"},
                                  {"turn_speed_limit", "rad/s", "for controllers"},
                                  {"turn_acceleration_limit", "rad/s^2", "for controllers"}};
constexpr KeyInfo kArmKeys[]{
    {"mount", "m", "position of the yaw axis on the platform", "`[0, 0]`"},
    {"shoulder_height", "m", "of the first hinge above the floor"},
    {"shoulder_offset", "m", "of the first hinge from the yaw axis"},
    {"tool_tilt", "rad", "from the last link to the tool axis, in the plane of the arm"},
    {"speed_limit", "rad/s", "of every joint, for controllers"},
    {"acceleration_limit", "rad/s^2", "of every joint, for controllers"},
    {"priorities", "",
     "of FABRIK, one for each `[[link]]`: above 1 the link keeps its direction, below 1 it "
     "rotates; "
     "those of the first and the last one have no effect "
     "([priorities](../guide/mobile.md#priorities))",
     "all 1"},
    {"joint_command", "",
     "`\"torque\"`: motors instead of servos, whose commands are torques in N m ([moments and "
     "torques](#moments-and-torques)), for controllers of your own that command torques"}};
/// Keys of a joint and the part behind it.
constexpr KeyInfo kYawKeys[]{
    {"limits", "rad", "`[min, max]` of the joint, min < max", "required"},
    {"mass", "kg", "of the part"},
    {"radius", "m",
     "of the capsule that represents the part. That of the tool ends at the tool point"},
    {"gain", "N m/rad", "of the position servo"},
    {"damping_time", "s", "kv / kp"},
    {"torque_limit", "N m", "of the joint"},
    {"joint_damping", "N m s/rad", "of the joint"},
    {"armature", "kg m^2", "of the joint"}};
/// Keys of a link and of the tool.
constexpr auto kLinkKeys = [] {
  std::array<KeyInfo, std::size(kYawKeys) + 1> keys{
      KeyInfo{"length", "m",
              "of a link: to the next hinge; of the last link: to the tool point; of the tool: its "
              "part of the last link"}};
  std::copy(std::begin(kYawKeys), std::end(kYawKeys), keys.begin() + 1);
  return keys;
}();
/// Keys of [arm] with a continuum arm.
constexpr KeyInfo kMountKeys[]{
    {"file", "", "robot file of `kind = \"continuum\"`, relative to the folder of this file",
     "required"},
    {"mount", "m", "position of the arm's base on the platform; z counts from the floor",
     "`[0, 0, 0]`"},
    {"angles", "rad",
     "roll, pitch, yaw of its base: Rz(yaw) Ry(pitch) Rx(roll). 0: the arm points up; pitch = "
     "pi/2: forwards",
     "`[0, 0, 0]`"}};
constexpr KeyInfo kStartKeys[]{
    {"x", "m", "of the platform, in the frame of the body `base`"},
    {"y", "m", "the same"},
    {"heading", "rad", "the same"},
    {"joints", "rad", "yaw, one for each link, roll, inside the limits", "nearest to 0"}};

constexpr Range kLength{1e-3, 1e3};
constexpr Range kPlace{-1e3, 1e3};
constexpr Range kOffset{0.0, 1e3};
constexpr Range kPriority{0.0, MobileRobot::kMaxPriority, true};
constexpr Range kTilt{-0.5 * std::numbers::pi, 0.5 * std::numbers::pi};
constexpr Range kHeading{-1e6, 1e6};
constexpr Range kAngle{-4.0 * std::numbers::pi, 4.0 * std::numbers::pi};

/// A thick tool's capsule keeps this part of its length for the rounded end: it has an axis.
constexpr double kLongestToolEnd = 0.999;

JointLimits read_limits(const Fields& fields) {
  constexpr const char* kAllowed = "must be [min, max] with min < max, both in [-4 pi, 4 pi]";
  if (!fields.has("limits")) fields.missing("limits", fmt::format("is missing, {}", kAllowed));
  const std::vector<double> limits = fields.numbers("limits", kAngle);
  if (limits.size() != 2 || !(limits[0] < limits[1])) fields.refuse("limits", kAllowed);
  return {.min = limits[0], .max = limits[1]};
}

ArmPartPhysics read_part(const Fields& fields, bool is_motor) {
  ArmPartPhysics part;
  for (const char* key : {"gain", "damping_time"}) {
    if (is_motor && fields.has(key))
      fields.refuse(key, "needs [arm] joint_command = \"angle\": a motor has no gains");
  }
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("mass", part.mass, kMass);
  number("radius", part.radius, kLength);
  number("gain", part.joint.gain, kPositiveNumber);
  number("damping_time", part.joint.damping_time, kNotNegativeNumber);
  number("torque_limit", part.joint.torque_limit, kPositiveNumber);
  number("joint_damping", part.joint.joint_damping, kNotNegativeNumber);
  number("armature", part.joint.armature, kNotNegativeNumber);
  return part;
}

void read_platform(const Fields& fields, MobileDescription& robot) {
  fields.refuse_unknown(kPlatformKeys);
  PlatformPhysics& platform = robot.platform;
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
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
  number("speed_limit", robot.speeds.platform_speed, kPositiveNumber);
  number("acceleration_limit", robot.speeds.platform_acceleration, kPositiveNumber);
  number("turn_speed_limit", robot.speeds.turn_speed, kPositiveNumber);
  number("turn_acceleration_limit", robot.speeds.turn_acceleration, kPositiveNumber);
  number("gain", platform.gain, kPositiveNumber);
  number("force_limit", platform.force_limit, kPositiveNumber);
  number("turn_gain", platform.turn_gain, kPositiveNumber);
  number("turn_torque_limit", platform.turn_torque_limit, kPositiveNumber);
  number("damping_time", platform.damping_time, kNotNegativeNumber);
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
  robot.speeds.joint_speed =
      fields.number("speed_limit", robot.speeds.joint_speed, kPositiveNumber);
  robot.speeds.joint_acceleration =
      fields.number("acceleration_limit", robot.speeds.joint_acceleration, kPositiveNumber);
  robot.joint_motors = fields.choice<bool>("joint_command", {{"angle", false}, {"torque", true}});
  if (parameters.shoulder_height <= parameters.platform_height)
    fields.refuse("shoulder_height", "must be above the platform");
}

std::vector<double> read_priorities(const Fields& arm, std::size_t links) {
  std::vector<double> priorities = arm.numbers("priorities", kPriority);
  if (!priorities.empty() && priorities.size() != links)
    arm.refuse("priorities", fmt::format("must be {} numbers, one for each [[link]], each {}",
                                         links, to_string(kPriority)));
  return priorities;
}

MountedArm read_mount(const FileContents& file) {
  const Fields fields = file.top.table("arm");
  fields.refuse_unknown(kMountKeys);
  MountedArm arm;
  arm.file = fields.text("file", "");
  const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
  arm.X_PB.translation() = fields.vector("mount", kPlace).value_or(zero);
  const Eigen::Vector3d angles =
      fields.vector("angles", kPlace).value_or(zero);  // roll, pitch, yaw
  arm.X_PB.linear() = (Eigen::AngleAxisd(angles.z(), Eigen::Vector3d::UnitZ()) *
                       Eigen::AngleAxisd(angles.y(), Eigen::Vector3d::UnitY()) *
                       Eigen::AngleAxisd(angles.x(), Eigen::Vector3d::UnitX()))
                          .toRotationMatrix();
  const std::filesystem::path name = arm.file;
  arm.file = (std::filesystem::path(file.top.file_name()).parent_path() / name).string();
  // Files that the arm's file names are next to it.
  const FileReader sibling = [&](const std::string& other) {
    return file.read((name.parent_path() / other).string());
  };
  // An experiment's faults are those of all robots, and each takes its own from them. What
  // controllers see is the same for the platform and the arm, and so is that there are none.
  const auto is_of_both = [](const Override& change) {
    const auto* const text = std::get_if<std::string>(&change.value.data);
    return change.key == "controller.measurement_faults" || change.key == "controller.measured" ||
           (change.key == "controller.plugin" && text != nullptr &&
            ControllerConfig::is_none(*text));
  };
  std::vector<Override> common;
  std::ranges::copy_if(file.overrides, std::back_inserter(common), is_of_both);
  arm.robot = parse_as<ContinuumDescription>(file.read(name.string()), arm.file, common, sibling);
  if (arm.robot.kinematics().last_turning() >= 0)
    fields.refuse("file", "a section of the arm turns on its base, must bend on a platform");
  return arm;
}

MobileStart read_start(const Fields& fields, const MobileDescription& robot) {
  fields.refuse_unknown(kStartKeys);
  MobileStart start = robot.start_pose();
  start.base.x = fields.number("x", 0.0, kAnyNumber);
  start.base.y = fields.number("y", 0.0, kAnyNumber);
  start.base.heading = fields.number("heading", 0.0, kHeading);
  if (!fields.has("joints")) return start;
  start.joints = fields.numbers("joints", kAnyNumber);
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
void read_joints(const Fields& top, MobileDescription& robot) {
  read_arm(top.table("arm"), robot);
  const Fields yaw = top.table("yaw");
  yaw.refuse_unknown(kYawKeys);
  robot.parameters.yaw = read_limits(yaw);
  robot.column = read_part(yaw, robot.joint_motors);

  const std::vector<Fields> links = top.tables("link");
  if (links.size() < 2 || links.size() > static_cast<std::size_t>(MobileRobot::kMaxLinks)) {
    top.missing("link", fmt::format("{} of them, must be 2 to {}: [[link]]", links.size(),
                                    MobileRobot::kMaxLinks));
  }
  for (const Fields& link : links) {
    link.refuse_unknown(kLinkKeys);
    robot.parameters.links.push_back(
        {.length = link.required_number("length", kLength), .limits = read_limits(link)});
    robot.links.push_back(read_part(link, robot.joint_motors));
  }

  robot.parameters.priorities = read_priorities(top.table("arm"), links.size());

  const Fields tool = top.table("tool");
  tool.refuse_unknown(kLinkKeys);
  robot.parameters.roll = read_limits(tool);
  robot.tool = read_part(tool, robot.joint_motors);
  robot.tool_length = tool.required_number("length", kLength);
  if (!(robot.tool_length < robot.parameters.links.back().length))
    tool.refuse("length", "must be below the last link's, of which it is a part");

  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", top.file_name(), error.what()));
  }
}

}  // namespace

MobileDescription MobileDescription::read(const FileContents& file) {
  const Fields& top = file.top;
  top.refuse_unknown(kTopKeys);
  top.refuse_below({"self_collision"});
  MobileDescription robot;
  robot.text = file.text;
  robot.name = top.text("name", robot.name);
  robot.self_collision = top.boolean("self_collision", robot.self_collision);
  const bool is_mounted = top.table("arm").has("file");
  for (const std::string_view key : {"platform", "arm", "yaw", "tool"}) {
    if (!top.has(key) && !(is_mounted && (key == "yaw" || key == "tool")))
      top.missing(key, fmt::format("is missing, must be a table, [{}]", key));
  }
  read_platform(top.table("platform"), robot);
  if (is_mounted) {
    for (const std::string_view key : {"yaw", "link", "tool", "self_collision", "start"}) {
      if (top.has(key)) top.refuse(key, "is for an arm of joints; this one has a file, arm.file");
    }
    robot.mounted = read_mount(file);
  } else {
    read_joints(top, robot);
  }
  if (top.has("start")) robot.start = read_start(top.table("start"), robot);
  robot.sensors = read_mobile_sensors(top, robot);
  robot.controller = read_controller(file);
  return robot;
}

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
  return {.arm = mounted->robot.kinematics(), .X_PB = mounted->X_PB};
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

EngineNeeds MobileDescription::engine_needs() const {
  return mounted ? mounted->robot.engine_needs() : EngineNeeds();
}

Surroundings MobileDescription::surroundings() const {
  const double arm = mounted ? rest_length(mounted->robot) : kinematics().reach();
  const double reach = arm + parameters.platform_length;
  return {.target = {2.0 * reach, 0.0, 2.0 * parameters.platform_height},
          .reach = reach,
          .floor = "floor"};
}

}  // namespace tendril
