#pragma once

// Read robot_description.hpp first.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/mobile/body.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/robot.hpp"
#include "tendril/mobile/speed.hpp"
#include "tendril/model/continuum/description.hpp"
#include "tendril/model/robot_kind.hpp"
#include "tendril/model/sensor.hpp"

namespace tendril {

/// A joint of the arm as physics has it.
struct JointPhysics {
  double gain = 500.0;         ///< kp of the position servo [N m/rad], > 0
  double damping_time = 0.04;  ///< kv / kp [s], >= 0
  double torque_limit = 10.0;  ///< [N m], > 0
  double joint_damping = 0.1;  ///< [N m s/rad], >= 0
  double armature = 0.05;      ///< inertia of the drive [kg m^2], >= 0
};

/// The part of the arm that a joint moves: body up to the next joint.
struct ArmPartPhysics {
  JointPhysics joint{};
  double mass = 1.0;     ///< [kg], > 0
  double radius = 0.04;  ///< of the capsule that represents it [m], > 0
};

/// Physics of the platform: two slides and a hinge with servos. Its size is in
/// `MobileRobotParameters`.
struct PlatformPhysics {
  double mass = 21.0;               ///< [kg], > 0
  double clearance = 0.02;          ///< of the box over the floor [m], >= 0, below its height
  double wheel_radius = 0.0475;     ///< of the four wheels, which are only drawn; 0: none [m]
  double gain = 8e4;                ///< kp of either slide's servo [N/m], > 0
  double force_limit = 200.0;       ///< [N], > 0
  double turn_gain = 5e3;           ///< [N m/rad], > 0
  double turn_torque_limit = 60.0;  ///< [N m], > 0
  double damping_time = 0.04;       ///< kv / kp of the three servos [s], >= 0
};

/// The keyframe `start`.
struct MobileStart {
  PlatformPose base{};
  std::vector<double> joints;  ///< one for each, inside the limits [rad]
};

/// A continuum arm on the platform, described by a separate robot file.
struct MountedArm {
  std::string file;  ///< its path
  /// The arm's base frame in the platform's (on the floor, x forward, z up) [m].
  Eigen::Isometry3d X_PB = Eigen::Isometry3d::Identity();
  ContinuumDescription robot;  ///< what the file describes
};

/// A robot file of kind = "mobile", parsed and validated: an arm on a platform, of joints or (if
/// `mounted`) a continuum arm. The names are the keys of the file (docs/reference/robot_file.md).
struct MobileDescription {
  std::string name = "mobile";
  MobileRobotParameters parameters;  ///< what the solvers know of it
  MobileSpeedLimits speeds;          ///< that a controller keeps to
  PlatformPhysics platform;
  ArmPartPhysics column;              ///< moved by the yaw joint: what carries the shoulder
  std::vector<ArmPartPhysics> links;  ///< one for each link of `parameters`
  ArmPartPhysics tool;                ///< moved by the roll joint
  double tool_length = 0.08;          ///< part of the last link's length that the tool takes [m]
  std::optional<MountedArm> mounted;  ///< if given there are no joints, links and tool
  bool joint_motors = false;          ///< instead of the joints' servos: commands are torques
  bool self_collision = false;
  std::optional<MobileStart> start;
  std::vector<RobotSensor> sensors;
  ControllerConfig controller;
  std::string text;  ///< the TOML it was read from

  /// Returns the kinematics of an arm of joints. Throws ModelError for a continuum arm.
  [[nodiscard]] MobileRobot kinematics() const;
  /// Returns the kinematics of a continuum arm. Throws ModelError for an arm of joints.
  [[nodiscard]] MobileContinuum continuum() const;
  /// Physics of joint 0 (yaw) .. link_count + 1 (roll).
  [[nodiscard]] const JointPhysics& joint(int j) const noexcept;
  /// The arm's body as the model's geoms have it: column, links, tool.
  [[nodiscard]] std::vector<BodyCapsule> capsules() const;
  /// Returns the start of the robot: as [start] says, else at the origin with every joint at the
  /// angle nearest to zero.
  [[nodiscard]] MobileStart start_pose() const;

  static constexpr const char* kKind = "mobile";
  static constexpr const char* kWhat = "a mobile robot";
  [[nodiscard]] static MobileDescription read(const FileContents& file);
  void write(MjcfDocument& mjcf, std::span<const std::string> sensors) const;
  [[nodiscard]] EngineNeeds engine_needs() const;
  [[nodiscard]] Surroundings surroundings() const;
};

}  // namespace tendril
