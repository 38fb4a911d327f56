#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/mobile/kinematics.hpp"
#include "tendril/mobile/youbot_targets.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kKinematicsTolerance = 1e-12;  // rounding: the text has all digits
const std::string kYoubot = "models/youbot.toml";

/// A small robot with a line for each field, to be changed by the cases.
const std::string kPlatform =
    "kind = \"mobile\"\n"
    "[platform]\nlength = 0.5\nwidth = 0.4\nheight = 0.1\n";
const std::string kArm = "[arm]\nshoulder_height = 0.3\n";
const std::string kYaw = "[yaw]\nlimits = [-3, 3]\n";
const std::string kLinks =
    "[[link]]\nlength = 0.2\nlimits = [-1, 2]\n[[link]]\nlength = 0.3\nlimits = [-2, 1]\n";
const std::string kTool = "[tool]\nlength = 0.1\nlimits = [-3, 3]\n";
const std::string kSmall = kPlatform + kArm + kYaw + kLinks + kTool;

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(parse_as<MobileDescription>(toml, "m.toml"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

/// Puts the robot of a simulation into a pose.
void pose(Simulation& s, const PlatformPose& base, JointAngles joints) {
  const auto set = [&](const std::string& name, double value) {
    s.data->qpos[s.model->jnt_qposadr[s.id(mjOBJ_JOINT, name)]] = value;
  };
  set(names::kPlatformX, base.x);
  set(names::kPlatformY, base.y);
  set(names::kHeading, base.heading);
  for (std::size_t j = 0; j < joints.size(); ++j)
    set(names::arm_joint(static_cast<int>(j) + 1), joints[j]);
  mj_forward(s.model.get(), s.data.get());
}

std::vector<double> random_joints(const MobileRobot& robot, SplitMix64& random) {
  std::vector<double> joints;
  for (int j = 0; j < robot.joint_count(); ++j)
    joints.push_back(random.uniform(robot.joint_limits(j).min, robot.joint_limits(j).max));
  return joints;
}

}  // namespace

TEST_CASE("mobile file: what is refused, and how it is said", "[mjcf]") {
  struct Case {
    std::string name;
    std::string toml;
    std::string message;  ///< start of it
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"no kind", "name = \"m\"\n", "m.toml:1: kind: is missing, must be \"mobile\""},
      {"no platform", "kind = \"mobile\"\n", "m.toml:1: platform: is missing"},
      {"unknown key", "color = 1\n" + kSmall, "m.toml:1: unknown key 'color'"},
      {"platform without width",
       "kind = \"mobile\"\n[platform]\nlength = 1\n[arm]\n[yaw]\n[tool]\n",
       "m.toml:2: platform: width: is missing"},
      {"clearance above the top", kPlatform + "clearance = 0.1\n" + kArm + kYaw + kLinks + kTool,
       "m.toml:6: platform: clearance = 0.1: must be below"},
      {"NaN", kPlatform + "mass = nan\n" + kArm + kYaw + kLinks + kTool,
       "m.toml:6: platform: mass = nan: must be in"},
      {"stationary platform", kPlatform + "speed_limit = 0\n" + kArm + kYaw + kLinks + kTool,
       "m.toml:6: platform: speed_limit = 0: must be in (0, 1e9]"},
      {"shoulder inside the platform",
       kPlatform + "[arm]\nshoulder_height = 0.1\n" + kYaw + kLinks + kTool,
       "m.toml:7: arm: shoulder_height = 0.1: must be above the platform"},
      {"mount", kPlatform + kArm + "mount = [1]\n" + kYaw + kLinks + kTool,
       "m.toml:8: arm: mount = [ 1 ]: must be [x, y]"},
      {"priorities of too few links",
       kPlatform + kArm + "priorities = [3]\n" + kYaw + kLinks + kTool,
       "m.toml:8: arm: priorities = [ 3 ]: must be 2 numbers, one for each [[link]], each in "
       "(0, 1000]"},
      {"no priorities", kPlatform + kArm + "priorities = []\n" + kYaw + kLinks + kTool,
       "m.toml:8: arm: priorities = []: must be a list of numbers, not empty"},
      {"priority of zero", kPlatform + kArm + "priorities = [1, 0]\n" + kYaw + kLinks + kTool,
       "m.toml:8: arm: priorities = [ 1, 0 ]: must be in (0, 1000]"},
      {"limits the wrong way around",
       kPlatform + kArm + "[yaw]\nlimits = [1, -1]\n" + kLinks + kTool,
       "m.toml:9: yaw: limits = [ 1, -1 ]: must be [min, max] with min < max"},
      {"limits of nothing", kPlatform + kArm + "[yaw]\nlimits = [1, 1]\n" + kLinks + kTool,
       "m.toml:9: yaw: limits = [ 1, 1 ]: must be [min, max]"},
      {"no limits", kPlatform + kArm + "[yaw]\n" + kLinks + kTool,
       "m.toml:8: yaw: limits: is missing"},
      {"no links", kPlatform + kArm + kYaw + kTool, "m.toml:1: link: 0 of them, must be 2 to 32"},
      {"one link", kPlatform + kArm + kYaw + "[[link]]\nlength = 1\nlimits = [0, 1]\n" + kTool,
       "m.toml:1: link: 1 of them, must be 2 to 32"},
      {"link of no length",
       kPlatform + kArm + kYaw + kLinks + "[[link]]\nlength = 0\nlimits = [0, 1]\n" + kTool,
       "m.toml:17: link 3: length = 0: must be in [0.001, 1000]"},
      {"yaw that has a length", kPlatform + kArm + "[yaw]\nlength = 1\n" + kLinks + kTool,
       "m.toml:9: yaw: unknown key 'length'"},
      {"tool longer than its link",
       kPlatform + kArm + kYaw + kLinks + "[tool]\nlength = 0.3\nlimits = [-1, 1]\n",
       "m.toml:17: tool: length = 0.3: must be below the last link's"},
      {"start of too few joints", kSmall + "[start]\njoints = [0, 0]\n",
       "m.toml:20: start: joints = [ 0, 0 ]: must be 4 angles"},
      {"start outside a limit", kSmall + "[start]\njoints = [0, 0, 1.5, 0]\n",
       "m.toml:20: start: joints = [ 0, 0, 1.5, 0 ]: angle 3 must be in [-2, 1]"},
      {"controller without plugin", kSmall + "[controller]\ntarget = \"t\"\n",
       "m.toml:19: controller: plugin: is missing"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THAT(refusal(c.toml), StartsWith(c.message));
    CHECK_THAT(refusal(c.toml), !Contains("\n"));
  }
}

TEST_CASE("mobile file: a continuum arm comes from a separate file", "[mjcf]") {
  const std::string arm = "[arm]\nfile = \"arm_mixed.toml\"\n";
  const auto file = parse_as<MobileDescription>(
      kPlatform + arm + "mount = [0.1, 0.2, 0.3]\nangles = [0, 1.5707963267948966, 0]\n",
      "models/m.toml");
  REQUIRE(file.mounted);
  CHECK_THROWS_WITH(file.kinematics(), Contains("must be one of joints"));
  CHECK(file.start_pose().joints.empty());
  CHECK(file.mounted->file == "models/arm_mixed.toml");
  const MobileContinuum robot = file.continuum();
  CHECK(robot.arm.section_count() == 3);
  CHECK((robot.X_PB * Eigen::Vector3d::UnitZ()).isApprox(Eigen::Vector3d(1.1, 0.2, 0.3)));
  CHECK_THAT(mobile_mjcf(file), Contains("<attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>"));
  CHECK_THROWS_WITH(parse_as<MobileDescription>(kSmall, "m.toml").continuum(),
                    Contains("must be a continuum arm"));

  CHECK_THAT(refusal(kPlatform + arm + kYaw), StartsWith("m.toml:8: yaw = "));
  CHECK_THAT(refusal(kPlatform + arm + "[start]\nx = 1\n"), Contains("start"));
  CHECK_THAT(refusal(kPlatform + arm + "shoulder_height = 1\n"),
             StartsWith("m.toml:8: arm: unknown key 'shoulder_height'"));
  CHECK_THAT(refusal(kPlatform + arm + "mount = [1, 2]\n"),
             StartsWith("m.toml:8: arm: mount = [ 1, 2 ]: must be 3 numbers"));
  CHECK_THROWS_WITH(parse_robot(kPlatform + "[arm]\nfile = \"none.toml\"\n", "models/m.toml"),
                    Contains("models/none.toml: No such file or directory"));
  CHECK_THROWS_WITH(parse_robot(kPlatform + "[arm]\nfile = \"youbot.toml\"\n", "models/m.toml"),
                    Contains("this file is a mobile robot"));
  const auto read = [](const std::string& name) {
    return name == "one.toml" ? "[[section]]\nconstant_length = 0.1\nbend_limit = 1\n" : "";
  };
  const Override change{"arm.file", {"one.toml"}, "--set"};
  const auto changed =
      parse_as<MobileDescription>(kPlatform + arm, "m.toml", std::span(&change, 1), read);
  CHECK(changed.mounted->file == "one.toml");
  CHECK(changed.continuum().arm.section_count() == 1);
  const Override link{"link.1.mass", {1.0}, "--set"};
  CHECK_THROWS_WITH(parse_robot(kPlatform + arm, "models/m.toml", std::span(&link, 1)),
                    Contains("models/m.toml: link = ") && Contains("is for an arm of joints"));
}

TEST_CASE("mobile file: overrides change what they name and nothing unknown", "[mjcf]") {
  const auto changed = [](const std::string& key, const std::string& value) {
    const Override change{key, Value::parse(value), "--set"};
    return parse_as<MobileDescription>(kSmall, "m.toml", std::span(&change, 1));
  };
  CHECK(changed("self_collision", "true").self_collision);
  CHECK(changed("platform.mass", "7").platform.mass == 7.0);
  CHECK(changed("arm.speed_limit", "0.5").speeds.joint_speed == 0.5);
  CHECK(changed("yaw.gain", "7").column.joint.gain == 7.0);
  CHECK(changed("tool.radius", "0.02").tool.radius == 0.02);
  CHECK(changed("link.2.mass", "3").links[1].mass == 3.0);
  CHECK(changed("link.2.mass", "3").links[0].mass == 1.0);
  CHECK(changed("link.*.mass", "3").links[0].mass == 3.0);
  CHECK(changed("start.heading", "2").start->base.heading == 2.0);
  CHECK(changed("controller.plugin", "tendril.mobile").controller.plugin == "tendril.mobile");
  for (const char* key : {"color", "link", "link.3.mass", "link.0.mass", "link.2", "link.2.color",
                          "platform", "platform.color", "wheels.count", "controller."}) {
    CAPTURE(key);
    CHECK_THROWS_AS(changed(key, "1"), ModelError);
  }
  CHECK_THROWS_WITH(changed("platform.mass", "-1"),
                    StartsWith("--set: m.toml: platform: mass = -1: must"));
}

TEST_CASE("mobile file: the kind chooses the reader", "[mjcf]") {
  const ModelDescription model = parse_model(kSmall, "m.toml");
  CHECK(kind_name(model) == "mobile");
  CHECK_THAT(model_mjcf(model), Contains("name=\"heading\""));
  const RobotDescription robot = parse_robot(kSmall + "[controller]\nplugin = \"p\"\n", "m.toml");
  CHECK(controller_of(robot).plugin == "p");
  CHECK_THROWS_WITH(parse_as<ContinuumDescription>(kSmall, "m.toml"),
                    Contains("this file is a mobile robot"));
}

TEST_CASE("mobile file: the youBot of models/ is the library's", "[mjcf]") {
  const MobileDescription file = load_as<MobileDescription>(kYoubot);
  const MobileRobotParameters& read = file.parameters;
  const MobileRobotParameters desired = youbot();
  CHECK(read.mount_x == desired.mount_x);
  CHECK(read.mount_y == desired.mount_y);
  CHECK(read.shoulder_height == desired.shoulder_height);
  CHECK(read.shoulder_offset == desired.shoulder_offset);
  CHECK(read.tool_tilt == desired.tool_tilt);
  CHECK(read.platform_length == desired.platform_length);
  CHECK(read.platform_width == desired.platform_width);
  CHECK(read.platform_height == desired.platform_height);
  REQUIRE(read.links.size() == desired.links.size());
  for (std::size_t i = 0; i < desired.links.size(); ++i)
    CHECK(read.links[i].length == desired.links[i].length);
  const MobileRobot a(read), b(desired);
  for (int j = 0; j < b.joint_count(); ++j) {
    CHECK(a.joint_limits(j).min == Approx(b.joint_limits(j).min).epsilon(1e-15));
    CHECK(a.joint_limits(j).max == Approx(b.joint_limits(j).max).epsilon(1e-15));
  }
  const MobileSpeedLimits speeds;  // its defaults are the youBot's
  CHECK(file.speeds.platform_speed == speeds.platform_speed);
  CHECK(file.speeds.platform_acceleration == speeds.platform_acceleration);
  CHECK(file.speeds.turn_speed == speeds.turn_speed);
  CHECK(file.speeds.turn_acceleration == speeds.turn_acceleration);
  CHECK(file.speeds.joint_speed == Approx(speeds.joint_speed).epsilon(1e-3));
  CHECK(file.speeds.joint_acceleration <= speeds.joint_acceleration);
  for (std::size_t j = 0; j < 5; ++j)
    CHECK(file.start->joints[j] == Approx(youbot_start_joints()[j]).epsilon(1e-15));
}

TEST_CASE("mobile file: the youBots of the scenes are that of models/", "[mjcf]") {
  const auto model = [](const std::string& name) {
    MobileDescription robot = load_as<MobileDescription>(name);
    robot.controller = {};
    return mobile_mjcf(robot);
  };
  CHECK(model("scenes/youbot_targets/youbot.toml") == model(kYoubot));
  CHECK(model("scenes/youbot_clutter/youbot.toml") == model(kYoubot));
}

TEST_CASE("mobile model: the engine's kinematics are the library's", "[mjcf]") {
  const std::string text = GENERATE(
      std::string(), kSmall,
      kPlatform + kArm + "mount = [0.1, -0.05]\nshoulder_offset = 0.04\ntool_tilt = 0.3\n" + kYaw +
          kLinks + "[[link]]\nlength = 0.17\nlimits = [-1.3, 1.7]\n" + kLinks + kTool);
  const MobileDescription file = text.empty() ? load_as<MobileDescription>(kYoubot)
                                              : parse_as<MobileDescription>(text, "m.toml");
  const MobileRobot robot = file.kinematics();
  Simulation s(mobile_mjcf(file));
  SplitMix64 random(7);
  std::vector<Eigen::Isometry3d> frames(static_cast<std::size_t>(frame_count(robot)));
  for (int round = 0; round < 50; ++round) {
    const PlatformPose base{
        .x = random.uniform(-2, 2), .y = random.uniform(-2, 2), .heading = random.uniform(-7, 7)};
    const std::vector<double> joints = random_joints(robot, random);
    pose(s, base, joints);
    CHECK(s.site_pose(names::kTip).isApprox(tool_pose(robot, base, joints), kKinematicsTolerance));
    mobile_frames(robot, base, joints, frames);
    std::vector<std::string> bodies{names::kPlatform, names::kColumn};
    for (int i = 1; i <= robot.link_count(); ++i) bodies.push_back(names::arm_link(i));
    for (std::size_t f = 0; f < bodies.size(); ++f) {
      const int body = s.id(mjOBJ_BODY, bodies[f]);
      const Eigen::Vector3d p(s.data->xpos + 3 * body);
      const Eigen::Matrix3d R =
          Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(s.data->xmat + 9 * body);
      CAPTURE(bodies[f]);
      CHECK((p - frames[f].translation()).norm() < kKinematicsTolerance);
      CHECK((R - frames[f].linear()).norm() < kKinematicsTolerance);
    }
  }
}

TEST_CASE("mobile model: an attached robot is where it is put", "[mjcf]") {
  const MobileDescription file = load_as<MobileDescription>(kYoubot);
  std::string xml = mobile_mjcf(file);
  const std::string base = "<body name=\"base\">";
  xml.replace(xml.find(base), base.size(), "<body name=\"base\" pos=\"1 2 0\" euler=\"0 0 0.5\">");
  Simulation s(xml);
  const PlatformPose at{.x = 0.3, .y = -0.2, .heading = 0.7};
  pose(s, at, *&file.start->joints);
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  X_WB.translation() = Eigen::Vector3d(1, 2, 0);
  X_WB.linear() = Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  const Eigen::Isometry3d desired = X_WB * tool_pose(file.kinematics(), at, file.start->joints);
  CHECK(s.site_pose(names::kTip).isApprox(desired, kKinematicsTolerance));
}

TEST_CASE("mobile model: masses, limits and servos are those of the file", "[mjcf]") {
  const MobileDescription file = load_as<MobileDescription>(kYoubot);
  const Simulation s(mobile_mjcf(file));
  CHECK(s.model->nv == 8);
  CHECK(s.model->nu == 8);
  CHECK(s.total_mass() == Approx(21 + 1.39 + 1.318 + 0.821 + 0.769 + 0.687));
  const MobileRobot robot = file.kinematics();
  for (int j = 0; j < robot.joint_count(); ++j) {
    const int joint = s.id(mjOBJ_JOINT, names::arm_joint(j + 1));
    CHECK(s.model->jnt_limited[joint] == 1);
    CHECK(s.model->jnt_range[2 * joint] == robot.joint_limits(j).min);
    CHECK(s.model->jnt_range[2 * joint + 1] == robot.joint_limits(j).max);
    const int actuator = s.id(mjOBJ_ACTUATOR, names::arm_joint(j + 1));
    CHECK(s.model->actuator_gainprm[actuator * mjNGAIN] == file.joint(j).gain);
    CHECK(s.model->actuator_forcerange[2 * actuator + 1] == file.joint(j).torque_limit);
  }
  for (const char* name : {names::kPlatformX, names::kPlatformY, names::kHeading})
    CHECK(s.model->jnt_limited[s.id(mjOBJ_JOINT, name)] == 0);
}

TEST_CASE("mobile model: no part of a robot at rest touches the floor or itself", "[mjcf]") {
  MobileDescription file = load_as<MobileDescription>(kYoubot);
  file.self_collision = GENERATE(false, true);
  std::string xml = mobile_mjcf(file);
  xml.insert(xml.find("<body name=\"base\">"),
             "<geom name=\"floor\" type=\"plane\" size=\"3 3 0.1\"/>");
  Simulation s(xml);
  CHECK(s.data->ncon == 0);
  pose(s, {}, file.start->joints);
  CHECK(s.data->ncon == 0);
  // The tool pushed into the floor is felt, and into the platform if the robot feels itself.
  const MobileRobot robot = file.kinematics();
  pose(s, {}, std::vector<double>{0.0, 1.5, 1.2, 0.4, 0.0});
  CHECK(tool_pose(robot, {}, std::vector<double>{0.0, 1.5, 1.2, 0.4, 0.0}).translation().z() < 0.0);
  CHECK(s.data->ncon > 0);
  pose(s, {}, std::vector<double>{2.9, 1.2, 1.2, 0.0, 0.0});
  CHECK((s.data->ncon > 0) == file.self_collision);
}

TEST_CASE("mobile model: servos bring the robot to the start's setpoints in 0 g", "[mjcf]") {
  MobileDescription file = load_as<MobileDescription>(kYoubot);
  Simulation s(mobile_mjcf(file));
  s.set_gravity(Eigen::Vector3d::Zero());
  const MobileStart start = file.start_pose();
  s.set_ctrl(names::kPlatformX, 0.1);
  s.set_ctrl(names::kHeading, 0.2);
  for (int j = 0; j < 5; ++j)
    s.set_ctrl(names::arm_joint(j + 1), start.joints[static_cast<std::size_t>(j)]);
  s.run(2.0);
  constexpr double kSettled = 1e-6;  // [m], [rad]: two seconds are fifty lags of the servos
  const PlatformPose base{.x = 0.1, .y = 0.0, .heading = 0.2};
  const Eigen::Isometry3d desired = tool_pose(file.kinematics(), base, start.joints);
  CHECK((s.site_pose(names::kTip).matrix() - desired.matrix()).norm() < kSettled);
}
