#include "tendril/model/mobile/mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "tendril/model/mjcf_document.hpp"

namespace tendril {

namespace names {
std::string arm_link(int i) { return fmt::format("link_{}", i); }
std::string arm_joint(int j) { return fmt::format("joint_{}", j); }
}  // namespace names

namespace {

constexpr double kLimitExcess = 0.5;   // [rad] that a setpoint may exceed: it carries the weight
constexpr double kMastRadius = 0.025;  // [m], under a mounted arm
constexpr const char* kBright = "0.93 0.45 0.12 1";
constexpr const char* kDark = "0.22 0.23 0.26 1";
constexpr const char* kFingers = "0.6 0.62 0.65 1";

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Writes the elements of a mobile robot; one function for each group of them.
class Writer {
 public:
  Writer(const MobileDescription& robot, MjcfDocument& mjcf)
      : robot_(robot),
        parameters_(robot.parameters),
        mjcf_(mjcf),
        capsules_(robot.capsules()),
        joints_(robot.mounted ? 0 : static_cast<int>(parameters_.links.size()) + 2),
        start_(robot.start.value_or(MobileStart{})) {
    start_.joints.resize(index(joints_), 0.0);
  }

  void write(std::span<const std::string> sensors) {
    mjcf_.set_options(100);
    XmlNode& base = mjcf_.worldbody.add("body", {{"name", names::kBase}});
    mjcf_.add_controller(robot_.controller, base, robot_.text, sensors,
                         robot_.mounted ? robot_.mounted->robot.text : std::string());
    XmlNode& body = platform(base);
    if (robot_.mounted) {
      mounted_arm(*robot_.mounted, body);
    } else {
      arm(body);
      excludes();
    }
    write_sensors(robot_.sensors, robot_.controller.plugin, mjcf_);
    mjcf_.declare_robot();
    if (robot_.start) mjcf_.keyframe = Keyframe::PositionsAndCommands;
  }

 private:
  [[nodiscard]] int links() const { return joints_ - 2; }

  XmlNode& platform(XmlNode& base) {
    const PlatformPhysics& p = robot_.platform;
    const PlatformPose& start = start_.base;
    XmlNode& body = base.add("body", {{"name", names::kPlatform}});
    platform_joint(names::kPlatformX, "slide", "1 0 0", p.gain, p.force_limit, start.x, body);
    platform_joint(names::kPlatformY, "slide", "0 1 0", p.gain, p.force_limit, start.y, body);
    platform_joint(names::kHeading, "hinge", "0 0 1", p.turn_gain, p.turn_torque_limit,
                   start.heading, body);
    touches(body.add("geom", {{"name", names::kPlatform},
                              {"type", "box"},
                              {"pos", {0, 0, 0.5 * (parameters_.platform_height + p.clearance)}},
                              {"size",
                               {0.5 * parameters_.platform_length, 0.5 * parameters_.platform_width,
                                0.5 * (parameters_.platform_height - p.clearance)}},
                              {"mass", p.mass},
                              {"rgba", kBright}}));
    if (p.wheel_radius > 0.0) wheels(body);
    return body;
  }

  void platform_joint(const char* name, const char* type, const char* axis, double gain,
                      double limit, double start, XmlNode& body) {
    mjcf_.add_joint(body, {{"name", name}, {"type", type}, {"axis", axis}}, exact({start}));
    mjcf_.add_joint_servo(name, gain, limit, exact({start}))
        .set("kv", gain * robot_.platform.damping_time);
  }

  /// Adds four wheels, which are only drawn. They are inside the box as seen from above, all but a
  /// little.
  void wheels(XmlNode& body) {
    const double half_length = 0.5 * parameters_.platform_length;
    const double half_width = 0.5 * parameters_.platform_width;
    const double radius = robot_.platform.wheel_radius, width = 0.15 * half_width;
    for (const double sx : {1.0, -1.0}) {
      for (const double sy : {1.0, -1.0}) {
        const double x = sx * (half_length - 1.3 * radius), y = sy * (half_width - 0.9 * width);
        only_drawn(body.add("geom", {{"type", "cylinder"},
                                     {"pos", {x, y, radius}},
                                     {"size", {radius, width}},
                                     {"xyaxes", {1, 0, 0, 0, 0, 1}},
                                     {"rgba", kDark}}));
      }
    }
  }

  /// Lets a geom meet others as parts of the robot do.
  void touches(XmlNode& geom) const {
    geom.set("condim", 3)
        .set("friction", 0.7)
        .set("contype", robot_.self_collision ? 3 : 1)
        .set("conaffinity", robot_.self_collision ? 3 : 2)
        .set(stiff_contact());
  }
  static void only_drawn(XmlNode& geom) {
    geom.set("contype", 0).set("conaffinity", 0).set("mass", 0);
  }

  void mounted_arm(const MountedArm& arm, XmlNode& body) {
    mjcf_.asset.add("model", {{"name", names::kArm}, {"file", arm.file}});
    const Eigen::Isometry3d& X = arm.X_PB;
    const Eigen::Vector3d p = X.translation(), x = X.linear().col(0), y = X.linear().col(1);
    if (p.z() > parameters_.platform_height) {  // a mast
      only_drawn(body.add(
          "geom",
          {{"type", "cylinder"},
           {"fromto", exact({p.x(), p.y(), parameters_.platform_height, p.x(), p.y(), p.z()})},
           {"size", kMastRadius},
           {"rgba", kDark}}));
    }
    body.add("frame", {{"pos", exact({p.x(), p.y(), p.z()})},
                       {"xyaxes", exact({x.x(), x.y(), x.z(), y.x(), y.y(), y.z()})}})
        .add("attach", {{"model", names::kArm},
                        {"body", names::kBase},
                        {"prefix", fmt::format("{}_", names::kArm)}});
  }

  /// Adds joint j, from 1, with its servo or motor.
  void joint(int j, const char* axis, XmlNode& body) {
    const std::string name = names::arm_joint(j);
    const JointPhysics& physics = robot_.joint(j - 1);
    const JointLimits& limits = limits_of(j);
    const std::string start = exact({start_.joints[index(j - 1)]});
    mjcf_.add_joint(body,
                    {{"name", name},
                     {"axis", axis},
                     {"range", exact({limits.min, limits.max})},
                     {"damping", physics.joint_damping},
                     {"armature", physics.armature}},
                    start);
    if (robot_.joint_motors)
      mjcf_.add_motor(name, "joint", physics.torque_limit, 0.0);
    else
      mjcf_.add_joint_servo(name, physics.gain, physics.torque_limit, start)
          .set("kv", physics.gain * physics.damping_time)
          .set("ctrlrange", exact({limits.min - kLimitExcess, limits.max + kLimitExcess}));
  }

  [[nodiscard]] const JointLimits& limits_of(int j) const {
    if (j == 1) return parameters_.yaw;
    return j == joints_ ? parameters_.roll : parameters_.links[index(j - 2)].limits;
  }

  /// Adds part k of the arm: column, links, tool.
  XmlNode& capsule(int k, const std::string& name, double mass, XmlNode& body) {
    const auto& [frame, start, end, radius] = capsules_[index(k)];
    XmlNode& geom = body.add(
        "geom", {{"name", name},
                 {"type", "capsule"},
                 {"fromto", exact({start.x(), start.y(), start.z(), end.x(), end.y(), end.z()})},
                 {"size", radius},
                 {"mass", mass}});
    touches(geom);
    return geom;
  }

  /// Adds the nested parts of the arm.
  void arm(XmlNode& platform) {
    XmlNode* body = &platform.add(
        "body",
        {{"name", names::kColumn},
         {"pos", exact({parameters_.mount_x, parameters_.mount_y, parameters_.shoulder_height})}});
    joint(1, "0 0 1", *body);
    capsule(0, names::kColumn, robot_.column.mass, *body).set("rgba", kDark);
    for (int i = 1; i <= links(); ++i) {
      const double before = i == 1 ? 0.0 : parameters_.links[index(i - 2)].length;
      body = &body->add(
          "body", {{"name", names::arm_link(i)},
                   {"pos", exact({i == 1 ? parameters_.shoulder_offset : 0.0, 0.0, before})}});
      joint(i + 1, "0 1 0", *body);
      capsule(i, names::arm_link(i), robot_.links[index(i - 1)].mass, *body)
          .set("rgba", i % 2 == 1 ? kBright : kDark);
    }
    tool(*body);
  }

  /// Adds a capsule that ends at the tool point, and in it a palm with two fingers.
  void tool(XmlNode& last_link) {
    const double tilt = parameters_.tool_tilt, length = robot_.tool_length;
    XmlNode& body = last_link.add(
        "body", {{"name", names::kTool},
                 {"pos", exact({0.0, 0.0, parameters_.links.back().length})},
                 {"xyaxes", exact({std::sin(tilt), 0.0, std::cos(tilt)}) + " 0 1 0"}});
    joint(joints_, "1 0 0", body);
    constexpr int kNotDrawn = 3;  // group
    capsule(joints_ - 1, names::kTool, robot_.tool.mass, body).set("group", kNotDrawn);
    const double palm = 0.25 * length, finger = 0.3 * length, width = 0.6 * robot_.tool.radius;
    box({-0.85 * length, 0, 0}, {palm, 1.3 * width, width}, kDark, body);
    for (const double side : {1.0, -1.0})
      box({-finger, side * width, 0}, {finger, 0.2 * width, 0.5 * width}, kFingers, body);
    body.add("site", {{"name", names::kTip}, {"size", 0.004}, {"rgba", "0.95 0.35 0.15 1"}});
  }

  static void box(XmlText position, XmlText size, const char* color, XmlNode& body) {
    only_drawn(body.add("geom", {{"type", "box"},
                                 {"pos", std::move(position)},
                                 {"size", std::move(size)},
                                 {"rgba", color}}));
  }

  void excludes() {
    mjcf_.exclude(names::kPlatform, names::kColumn);
    mjcf_.exclude(names::kPlatform, names::arm_link(1));
    mjcf_.exclude(names::kColumn, names::arm_link(1));
    for (int i = 2; i <= links(); ++i) mjcf_.exclude(names::arm_link(i - 1), names::arm_link(i));
    mjcf_.exclude(names::arm_link(links()), names::kTool);
  }

  const MobileDescription& robot_;
  const MobileRobotParameters& parameters_;
  MjcfDocument& mjcf_;
  std::vector<BodyCapsule> capsules_;
  int joints_;
  MobileStart start_;
};

}  // namespace

void MobileDescription::write(MjcfDocument& mjcf, std::span<const std::string> quantities) const {
  Writer(*this, mjcf).write(quantities);
}

std::string mobile_mjcf(const MobileDescription& robot, std::span<const std::string> sensors) {
  MjcfDocument mjcf("robot", robot.name);
  robot.write(mjcf, sensors);
  return mjcf.text();
}

}  // namespace tendril
