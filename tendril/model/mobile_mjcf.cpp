#include "tendril/model/mobile_mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "tendril/model/continuum_mjcf.hpp"
#include "tendril/model/mjcf_writer.hpp"

namespace tendril {

namespace names {
std::string arm_link(int i) { return fmt::format("link_{}", i); }
std::string arm_joint(int j) { return fmt::format("joint_{}", j); }
}  // namespace names

namespace {

constexpr double kBeyondLimit = 0.5;  // [rad] that a setpoint may lie beyond: it carries the weight
constexpr double kMastRadius = 0.025;  // [m], under a mounted arm
constexpr const char* kBrightLooks = "rgba=\"0.93 0.45 0.12 1\"";
constexpr const char* kDarkLooks = "rgba=\"0.22 0.23 0.26 1\"";
constexpr const char* kFingerLooks = "rgba=\"0.6 0.62 0.65 1\"";
constexpr const char* kNoContact = "contype=\"0\" conaffinity=\"0\" mass=\"0\"";

/// Writes the document; one function for each of its parts, in their order.
class Writer : MjcfWriter {
 public:
  explicit Writer(const MobileDescription& robot)
      : robot_(robot),
        parameters_(robot.parameters),
        capsules_(robot.capsules()),
        joints_(robot.mounted ? 0 : static_cast<int>(parameters_.links.size()) + 2) {}

  std::string document(std::span<const std::string> sensor_names) {
    constexpr int kIterations = 100;
    begin("robot", robot_.name, kIterations);
    extension(robot_.controller, robot_.text,
              robot_.mounted ? &robot_.mounted->robot.text : nullptr);
    if (robot_.mounted) {
      line("  <asset>\n    <model name=\"{}\" file=\"{}\"/>\n  </asset>", names::kArm,
           xml_escaped(robot_.mounted->file));
    }
    line("  <worldbody>");
    line("    <body name=\"{}\">", names::kBase);
    controller_plugin(robot_.controller);
    platform();
    if (robot_.mounted) {
      mounted_arm();
    } else {
      arm();
    }
    line("    </body>\n  </worldbody>");
    if (!robot_.mounted) contacts();
    actuators();
    sensors(robot_.controller, sensor_names);
    start();
    return end();
  }

 private:
  [[nodiscard]] int links() const { return joints_ - 2; }

  [[nodiscard]] std::string collision() const {
    const int affinity = robot_.self_collision ? 3 : 2, type = robot_.self_collision ? 3 : 1;
    return fmt::format("condim=\"3\" friction=\"0.7\" contype=\"{}\" conaffinity=\"{}\" {}", type,
                       affinity, kStiffContact);
  }

  void platform() {
    const PlatformPhysics& p = robot_.platform;
    const double half_length = 0.5 * parameters_.platform_length;
    const double half_width = 0.5 * parameters_.platform_width;
    line("      <body name=\"{}\">", names::kPlatform);
    line("        <joint name=\"{}\" type=\"slide\" axis=\"1 0 0\"/>", names::kPlatformX);
    line("        <joint name=\"{}\" type=\"slide\" axis=\"0 1 0\"/>", names::kPlatformY);
    line("        <joint name=\"{}\" type=\"hinge\" axis=\"0 0 1\"/>", names::kHeading);
    line(
        "        <geom name=\"{}\" type=\"box\" pos=\"0 0 {}\" size=\"{} {} {}\" mass=\"{}\" {} "
        "{}/>",
        names::kPlatform, 0.5 * (parameters_.platform_height + p.clearance), half_length,
        half_width, 0.5 * (parameters_.platform_height - p.clearance), p.mass, collision(),
        kBrightLooks);
    if (p.wheel_radius <= 0.0) return;
    // Inside the box as seen from above, all but a little: they show, and nothing else meets them.
    const double width = 0.15 * half_width;
    for (const double sx : {1.0, -1.0}) {
      for (const double sy : {1.0, -1.0}) {
        line(
            "        <geom type=\"cylinder\" pos=\"{} {} {}\" size=\"{} {}\" xyaxes=\"1 0 0 0 0 "
            "1\" {} {}/>",
            sx * (half_length - 1.3 * p.wheel_radius), sy * (half_width - 0.9 * width),
            p.wheel_radius, p.wheel_radius, width, kNoContact, kDarkLooks);
      }
    }
  }

  void mounted_arm() {
    const Eigen::Isometry3d& X = robot_.mounted->X_PB;
    const Eigen::Vector3d p = X.translation(), x = X.linear().col(0), y = X.linear().col(1);
    if (p.z() > parameters_.platform_height) {  // a mast, only drawn
      line("        <geom type=\"cylinder\" fromto=\"{}\" size=\"{}\" {} {}/>",
           exact({p.x(), p.y(), parameters_.platform_height, p.x(), p.y(), p.z()}), kMastRadius,
           kNoContact, kDarkLooks);
    }
    line("        <frame pos=\"{}\" xyaxes=\"{}\">", exact({p.x(), p.y(), p.z()}),
         exact({x.x(), x.y(), x.z(), y.x(), y.y(), y.z()}));
    line("          <attach model=\"{}\" body=\"{}\" prefix=\"{}_\"/>", names::kArm, names::kBase,
         names::kArm);
    line("        </frame>\n      </body>");
  }

  void joint(int j, const char* axis) {
    const JointPhysics& physics = robot_.joint(j - 1);
    const JointLimits& limits = limits_of(j);
    line("        <joint name=\"{}\" axis=\"{}\" range=\"{}\" damping=\"{}\" armature=\"{}\"/>",
         names::arm_joint(j), axis, exact({limits.min, limits.max}), physics.joint_damping,
         physics.armature);
  }

  [[nodiscard]] const JointLimits& limits_of(int j) const {
    if (j == 1) return parameters_.yaw;
    return j == joints_ ? parameters_.roll : parameters_.links[index(j - 2)].limits;
  }

  [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  /// Part k of the arm: column, links, tool.
  void capsule(int k, const std::string& name, double mass, const std::string& looks) {
    const BodyCapsule& c = capsules_[index(k)];
    line("        <geom name=\"{}\" type=\"capsule\" fromto=\"{}\" size=\"{}\" mass=\"{}\" {} {}/>",
         name, exact({c.start.x(), c.start.y(), c.start.z(), c.end.x(), c.end.y(), c.end.z()}),
         c.radius, mass, collision(), looks);
  }

  /// The nested parts of the arm. They are not indented: 32 links would be wider than the screen.
  void arm() {
    line("      <body name=\"{}\" pos=\"{}\">", names::kColumn,
         exact({parameters_.mount_x, parameters_.mount_y, parameters_.shoulder_height}));
    joint(1, "0 0 1");
    capsule(0, names::kColumn, robot_.column.mass, kDarkLooks);
    for (int i = 1; i <= links(); ++i) {
      const double before = i == 1 ? 0.0 : parameters_.links[index(i - 2)].length;
      line("      <body name=\"{}\" pos=\"{}\">", names::arm_link(i),
           exact({i == 1 ? parameters_.shoulder_offset : 0.0, 0.0, before}));
      joint(i + 1, "0 1 0");
      capsule(i, names::arm_link(i), robot_.links[index(i - 1)].mass,
              i % 2 == 1 ? kBrightLooks : kDarkLooks);
    }
    const double tilt = parameters_.tool_tilt;
    line("      <body name=\"{}\" pos=\"{}\" xyaxes=\"{} 0 1 0\">", names::kTool,
         exact({0.0, 0.0, parameters_.links.back().length}),
         exact({std::sin(tilt), 0.0, std::cos(tilt)}));
    joint(joints_, "1 0 0");
    tool();
    line("        <site name=\"{}\" size=\"0.004\" rgba=\"0.95 0.35 0.15 1\"/>", names::kTip);
    raw("      ");
    for (int i = 0; i < joints_ + 1; ++i) raw("</body>");
    raw("\n");
  }

  /// A capsule that ends at the tool point, and in it a palm with two fingers.
  void tool() {
    const double length = robot_.tool_length, radius = robot_.tool.radius;
    capsule(joints_ - 1, names::kTool, robot_.tool.mass, "group=\"3\"");  // not drawn
    const double palm = 0.25 * length, finger = 0.3 * length, width = 0.6 * radius;
    line("        <geom type=\"box\" pos=\"{} 0 0\" size=\"{} {} {}\" {} {}/>", -0.85 * length,
         palm, 1.3 * width, width, kNoContact, kDarkLooks);
    for (const double side : {1.0, -1.0}) {
      line("        <geom type=\"box\" pos=\"{} {} 0\" size=\"{} {} {}\" {} {}/>", -finger,
           side * width, finger, 0.2 * width, 0.5 * width, kNoContact, kFingerLooks);
    }
  }

  void contacts() {
    line("  <contact>");
    exclude(names::kPlatform, names::kColumn);
    exclude(names::kPlatform, names::arm_link(1));
    exclude(names::kColumn, names::arm_link(1));
    for (int i = 2; i <= links(); ++i) exclude(names::arm_link(i - 1), names::arm_link(i));
    exclude(names::arm_link(links()), names::kTool);
    line("  </contact>");
  }

  void servo(const std::string& name, double gain, double damping_time, double limit,
             const std::string& range = "") {
    position_servo(name, gain, limit,
                   fmt::format("kv=\"{}\"{}", number_text(gain * damping_time), range));
  }

  void actuators() {
    const PlatformPhysics& p = robot_.platform;
    line("  <actuator>");
    servo(names::kPlatformX, p.gain, p.damping_time, p.force_limit);
    servo(names::kPlatformY, p.gain, p.damping_time, p.force_limit);
    servo(names::kHeading, p.turn_gain, p.damping_time, p.turn_torque_limit);
    for (int j = 1; j <= joints_; ++j) {
      const JointPhysics& physics = robot_.joint(j - 1);
      const JointLimits& limits = limits_of(j);
      if (robot_.joint_motors) {
        line(
            "    <motor name=\"{0}\" joint=\"{0}\" ctrlrange=\"-{1} {1}\" forcerange=\"-{1} "
            "{1}\"/>",
            names::arm_joint(j), physics.torque_limit);
        continue;
      }
      servo(names::arm_joint(j), physics.gain, physics.damping_time, physics.torque_limit,
            fmt::format(" ctrlrange=\"{}\"",
                        exact({limits.min - kBeyondLimit, limits.max + kBeyondLimit})));
    }
    line("  </actuator>");
  }

  void start() {
    if (!robot_.start) return;
    const MobileStart& pose = *robot_.start;
    std::string qpos = exact({pose.base.x, pose.base.y, pose.base.heading}), ctrl = qpos;
    for (const double angle : pose.joints) {
      qpos += ' ' + exact({angle});
      ctrl += ' ' + exact({robot_.joint_motors ? 0.0 : angle});
    }
    keyframe(qpos, ctrl);
  }

  const MobileDescription& robot_;
  const MobileRobotParameters& parameters_;
  std::vector<BodyCapsule> capsules_;
  int joints_;
};

}  // namespace

std::string mobile_mjcf(const MobileDescription& robot, std::span<const std::string> sensors) {
  return Writer(robot).document(sensors);
}

}  // namespace tendril
