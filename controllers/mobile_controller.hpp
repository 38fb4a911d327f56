#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>

#include "controllers/controller.hpp"
#include "controllers/settings.hpp"
#include "tendril/mobile/mobile_body.hpp"
#include "tendril/mobile/mobile_continuum_solver.hpp"
#include "tendril/mobile/mobile_speed.hpp"

namespace tendril {

/// What a controller sees of an arm on a mobile platform in one step. Everything is in the frame W
/// that the platform's slides move in (the body `base`: fixed, its origin on the floor, z up) and
/// in SI units. `n` is the number of the arm's joints, ordered yaw, hinges, roll.
struct MobileMeasurement {
  double time = 0.0;                                       ///< simulated time [s]
  double timestep = 0.0;                                   ///< [s]
  PlatformPose base;                                       ///< heading counted on, not wrapped
  PlatformPose base_velocity;                              ///< [m/s], [rad/s]
  Eigen::VectorXd q;                                       ///< n: joint angles [rad]
  Eigen::VectorXd q_velocity;                              ///< n [rad/s]
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();  ///< tool, its axis along x
  bool has_target = false;                                 ///< a target body is configured
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();  ///< its pose: where the tool shall be
  /// What the robot must keep away from, where it is now; null when the controller has not asked
  /// for it (setting `avoidance`).
  const Obstacles* obstacles = nullptr;

  explicit MobileMeasurement(int n)
      : q(Eigen::VectorXd::Zero(n)), q_velocity(Eigen::VectorXd::Zero(n)) {}
};

/// What a controller asks for in one step: setpoints of the position servos, and their planned
/// rates, with which the plugin compensates the servos' lag.
struct MobileCommand {
  PlatformPose base;       ///< heading counted on from the measured one
  PlatformPose base_rate;  ///< [m/s], [rad/s]
  Eigen::VectorXd q;       ///< n [rad], inside the joint limits
  Eigen::VectorXd q_rate;  ///< n [rad/s]

  explicit MobileCommand(int n) : q(Eigen::VectorXd::Zero(n)), q_rate(Eigen::VectorXd::Zero(n)) {}
};

/// What a mobile controller is made from; it lives only during the call.
struct MobileContext {
  const MobileRobot& robot;
  const MobileSpeedLimits& limits;
  std::span<const BodyCapsule> capsules;  ///< the arm's body; empty: `standard_capsules`
  const Settings& settings;
  double timestep;                       ///< of the simulation [s]
  const Obstacles* obstacles = nullptr;  ///< as in MobileMeasurement
};

/// What the controller of a platform with a continuum arm is made from, which has a controller of
/// its own; it lives only during the call.
struct PlatformContext {
  const MobileContinuum& robot;
  const MobileSpeedLimits& limits;
  double platform_length, platform_width;  ///< [m]
  const Settings& settings;
  double timestep;  ///< of the simulation [s]
};

/// A controller of an arm on a mobile platform, or of the platform alone: measured state and target
/// in, setpoints out, once per step. Memory and failures: Controller.
class MobileController : public Controller {
 public:
  using Context = MobileContext;
  using Measurement = MobileMeasurement;
  using Command = MobileCommand;

  /// One step: `command` and `report` come in as default values of the right size, `next_memory` as
  /// a copy of `memory`.
  virtual void update(const MobileMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, MobileCommand& command,
                      ControllerReport& report) = 0;
};

}  // namespace tendril
