#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <string_view>

#include "controllers/interface/common_rows.hpp"
#include "controllers/interface/controller.hpp"
#include "controllers/interface/fields.hpp"
#include "controllers/interface/scene_query.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/mobile/body.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/speed.hpp"

namespace tendril {

/// Measurement of an arm on a mobile platform in one step, as its controller gets it. Everything is
/// in the frame W that the platform's slides move in (the body `base`: fixed, its origin on the
/// floor, z up) and in SI units. `fields` says what each member is; n is the number of the arm's
/// joints, ordered yaw, hinges, roll, and 0 of a platform with a continuum arm.
struct MobileMeasurement {
  double time = 0.0, timestep = 0.0;
  bool has_target = false;
  const Obstacles* obstacles = nullptr;
  PlatformPose base, base_velocity;
  Eigen::VectorXd q, q_velocity;
  Eigen::VectorXd gravity_torque;
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();

  static constexpr const char* kName = "MobileMeasurement";
  static constexpr const char* kMeaning =
      "What a controller measures of a robot on a platform in one step: in the frame that the "
      "platform moves in, SI units. n: number of the arm's joints, 0 of a platform with a "
      "continuum arm.";
  static constexpr auto fields() {
    using M = MobileMeasurement;
    using extent::n;
    return std::tuple{
        field("time", &M::time, "s", "simulated time"),
        field("timestep", &M::timestep, "s", "of the simulation"),
        field("has_target", &M::has_target, "", "the controller has a target"),
        field("obstacles", &M::obstacles, "",
              "at their present poses, the same shapes in the same order in every step; none "
              "unless the "
              "controller asked for them (setting `avoidance`)"),
        field("base", &M::base, "m, rad", "x, y and heading, which is continuous, not wrapped")
            .with_channel("base"),
        field("base_velocity", &M::base_velocity, "m/s, rad/s", "its rates")
            .with_channel("base_velocity"),
        field("q", &M::q, {n}, "rad", "joint angles").with_channel("q"),
        field("q_velocity", &M::q_velocity, {n}, "rad/s", "their rates").with_channel("q_rate"),
        field("gravity_torque", &M::gravity_torque, {n}, "N m",
              "of gravity on what each joint moves; 0 without the setting "
              "`gravity_compensation`")
            .with_channel("gravity_torque"),
        field("tip", &M::X_WE, "", "pose of the tool, its axis along x").with_channel("tip"),
        field("target", &M::X_WG, "", "pose of the target body, the desired one of the tool")
            .with_channel("target")};
  }

  [[nodiscard]] TipAndTarget tip_and_target() const noexcept {
    return {X_WE.translation(), X_WG.translation(), rotation_angle(X_WE.linear(), X_WG.linear()),
            has_target};
  }

  explicit MobileMeasurement(const RobotSizes& sizes) { set_sizes(*this, sizes); }
};

/// Command of a mobile robot's controller in one step: setpoints of the position servos, and
/// planned rates, from which the plugin computes lag compensation; or torques of the joints.
/// `fields` says what each member is.
struct MobileCommand {
  PlatformPose base, base_rate;
  Eigen::VectorXd q, q_rate;
  Eigen::VectorXd torque;

  static constexpr const char* kName = "MobileCommand";
  static constexpr const char* kMeaning =
      "What a controller commands in one step; on entry the measured configuration.";
  static constexpr auto fields() {
    using C = MobileCommand;
    using extent::n;
    return std::tuple{
        field("base", &C::base, "m, rad", "x, y and heading, continuous with the measured one"),
        field("base_rate", &C::base_rate, "m/s, rad/s", "planned rates"),
        field("q", &C::q, {n}, "rad", "joint angles inside their limits"),
        field("q_rate", &C::q_rate, {n}, "rad/s", "planned rates"),
        field("torque", &C::torque, {n}, "N m",
              "of a controller that commands torques, within the torque limits")};
  }

  explicit MobileCommand(const RobotSizes& sizes) { set_sizes(*this, sizes); }
};

class MobileController;

/// The arguments from which a mobile controller is constructed; valid only during the call.
struct MobileContext {
  using Interface = MobileController;

  const MobileRobot& robot;
  const MobileSpeedLimits& limits;
  std::span<const BodyCapsule> capsules;  ///< the arm's body; empty: `standard_capsules`
  const Settings& settings;
  double timestep;
  std::string_view name = {};  ///< of the robot
  /// Start pose of the robot file: x, y [m], heading, joint angles [rad].
  std::span<const double> start = {};
  SceneQuery& scene = empty_scene();

  static constexpr const char* kKind = "mobile";
  static constexpr const char* kName = "MobileContext";
  static constexpr const char* kMeaning = "What a controller of a mobile robot is made with.";
  static constexpr auto fields() {
    using C = MobileContext;
    return std::tuple{
        field("timestep", &C::timestep, "s", "of the simulation"),
        field(
            "limits", [](auto& c) -> auto& { return c.limits; }, "", "largest speeds"),
        field("capsules", &C::capsules, "", "the arm's body, for `Obstacles.clearance`")};
  }
  [[nodiscard]] RobotSizes sizes() const noexcept { return robot.joint_count(); }
};

/// The arguments from which the controller of a platform with a continuum arm is constructed; the
/// arm has its own controller. Valid only during the call.
struct PlatformContext {
  using Interface = MobileController;

  const MobileContinuum& robot;
  const MobileSpeedLimits& limits;
  double platform_length, platform_width;
  const Settings& settings;
  double timestep;
  std::string_view name = {};  ///< of the robot
  double platform_height = 0.1;
  double arm_radius = 0.0;
  SceneQuery& scene = empty_scene();

  static constexpr const char* kKind = "platform";
  static constexpr const char* kName = "PlatformContext";
  static constexpr const char* kMeaning =
      "What a controller of a platform with a continuum arm is made with.";
  static constexpr auto fields() {
    using C = PlatformContext;
    return std::tuple{
        field("timestep", &C::timestep, "s", "of the simulation"),
        field(
            "limits", [](auto& c) -> auto& { return c.limits; }, "", "largest speeds"),
        field("platform_length", &C::platform_length, "m", ""),
        field("platform_width", &C::platform_width, "m", ""),
        field("platform_height", &C::platform_height, "m", ""),
        field("arm_radius", &C::arm_radius, "m", "of the arm's body")};
  }
  [[nodiscard]] RobotSizes sizes() const noexcept { return 0; }
};

/// A controller of an arm on a mobile platform, or of the platform alone: measured state and target
/// in, setpoints out, once per step. Memory and failures: Controller.
class MobileController : public Controller {
 public:
  using Context = MobileContext;
  using Measurement = MobileMeasurement;
  using Command = MobileCommand;

  /// Of all its controllers: settings, and quantities that are reported.
  static constexpr SettingInfo kCommonSettings[] = {
      common::kRobot,
      setting::text("arm", "",
                    "text of the robot file of a continuum arm on the platform; written by the "
                    "decoder"),
      common::kGravityCompensation,
      common::kVelocityFeedForward,
      setting::number(
          "limit_margin", "rad", "0.002", {0.0, 0.5},
          "the controller uses joint ranges that are smaller by this at either end, so that "
          "the servos' overshoot remains within the robot's"),
      common::following_tolerance("0.05"),
      common::kFollowingTime,
      common::kMeasurementFaults,
      common::kSensorSeed,
      common::kMeasured};
  static constexpr Quantity kCommonQuantities[] = {
      quantity::kStatus,
      {"command", "m, rad", "commanded x, y, heading of the platform and joint angles",
       kPerCoordinate},
      {"measured", "m, rad", "the same, as the controller sees it", kPerCoordinate},
      common::kMeasuredTip,
      common::kJointMargin,
      {"speed_utilization", "", "largest ratio of a measured speed to its limit"},
      common::kFollowingError};

  /// One step. On entry `command` and `report` have default values and the right size, and
  /// `next_memory` is a copy of `memory`.
  virtual void update(const MobileMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, MobileCommand& command,
                      ControllerReport& report) = 0;
  /// Torques need motors instead of the joints' servos (`joint_command = "torque"`), setpoints
  /// servos; all else is refused when the model is loaded. The platform takes setpoints always.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
};

}  // namespace tendril
