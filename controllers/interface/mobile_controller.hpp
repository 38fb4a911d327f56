#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <string_view>

#include "controllers/interface/controller.hpp"
#include "controllers/interface/scene_query.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/mobile/body.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/speed.hpp"

namespace tendril {

/// What a controller measures of an arm on a mobile platform in one step. Everything is in the
/// frame W that the platform's slides move in (the body `base`: fixed, its origin on the floor, z
/// up) and in SI units. `n` is the number of the arm's joints, ordered yaw, hinges, roll.
struct MobileMeasurement {
  double time = 0.0;           ///< simulated time [s]
  double timestep = 0.0;       ///< [s]
  PlatformPose base;           ///< heading continuous, not wrapped
  PlatformPose base_velocity;  ///< [m/s], [rad/s]
  Eigen::VectorXd q;           ///< n: joint angles [rad]
  Eigen::VectorXd q_velocity;  ///< n [rad/s]
  /// n: of gravity on what each joint moves [N m]; 0 without the setting `gravity_compensation`.
  Eigen::VectorXd gravity_torque;
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();  ///< of the tool, its axis along x
  bool has_target = false;  ///< the controller asked for a target (SceneQuery::measure_target)
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();  ///< its pose, desired pose of the tool
  /// Obstacles at their present poses; null unless the controller asked for them
  /// (SceneQuery::measure_obstacles).
  const Obstacles* obstacles = nullptr;

  explicit MobileMeasurement(int n)
      : q(Eigen::VectorXd::Zero(n)), q_velocity(q), gravity_torque(q) {}
};

/// What a controller commands in one step: setpoints of the position servos, and planned rates,
/// from which the plugin computes lag compensation; or torques of the joints.
struct MobileCommand {
  PlatformPose base;       ///< heading continuous with the measured one
  PlatformPose base_rate;  ///< [m/s], [rad/s]
  Eigen::VectorXd q;       ///< n [rad], inside the joint limits
  Eigen::VectorXd q_rate;  ///< n [rad/s]
  Eigen::VectorXd torque;  ///< n: of a controller of moments [N m], within the torque limits

  explicit MobileCommand(int n) : q(Eigen::VectorXd::Zero(n)), q_rate(q), torque(q) {}
};

/// The arguments from which a mobile controller is constructed; valid only during the call.
struct MobileContext {
  const MobileRobot& robot;
  const MobileSpeedLimits& limits;
  std::span<const BodyCapsule> capsules;  ///< the arm's body; empty: `standard_capsules`
  const Settings& settings;
  double timestep;             ///< of the simulation [s]
  std::string_view name = {};  ///< of the robot
  /// Where the robot file starts: x, y [m], heading, joint angles [rad].
  std::span<const double> start = {};
  SceneQuery& scene = empty_scene();
};

/// The arguments from which the controller of a platform with a continuum arm is constructed; the
/// arm has its own controller. Valid only during the call.
struct PlatformContext {
  const MobileContinuum& robot;
  const MobileSpeedLimits& limits;
  double platform_length, platform_width;  ///< [m]
  const Settings& settings;
  double timestep;               ///< of the simulation [s]
  std::string_view name = {};    ///< of the robot
  double platform_height = 0.1;  ///< [m]
  double arm_radius = 0.0;       ///< of the arm's body [m]
  SceneQuery& scene = empty_scene();
};

/// A controller of an arm on a mobile platform, or of the platform alone: measured state and target
/// in, setpoints out, once per step. Memory and failures: Controller.
class MobileController : public Controller {
 public:
  using Context = MobileContext;
  using Measurement = MobileMeasurement;
  using Command = MobileCommand;

  /// One step. On entry `command` and `report` have default values and the right size, and
  /// `next_memory` is a copy of `memory`.
  virtual void update(const MobileMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, MobileCommand& command,
                      ControllerReport& report) = 0;
  /// Torques need motors in the place of the joints' servos (`joint_command = "torque"`), setpoints
  /// servos; all else is refused when the model is loaded. The platform takes setpoints always.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
};

}  // namespace tendril
