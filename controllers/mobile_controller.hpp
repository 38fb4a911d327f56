#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>

#include "controllers/controller.hpp"
#include "controllers/settings.hpp"
#include "tendril/mobile/mobile_body.hpp"
#include "tendril/mobile/mobile_result.hpp"
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

/// What a controller tells about one step; becomes sensor data.
struct MobileReport {
  /// Working: on its way; Finished: the tool is where the target is, within tolerance; NotReached:
  /// `reason` says why; InvalidTarget: not finite or no rotation.
  ControllerStatus status = ControllerStatus::Working;
  MobileStatus reason = MobileStatus::Converged;  ///< of the last solution
  int iterations = 0;                             ///< of the inverse kinematics in this step
  double tip_error = 0.0;    ///< distance of the measured tool from the target [m]
  double angle_error = 0.0;  ///< angle of the measured tool from the target's orientation [rad]
  int arrivals = 0;          ///< targets that the tool has come to rest at
  /// Largest errors after an arrival, from `settle_time` after it until the target moves away
  /// again, of all arrivals [m], [rad].
  double settled_error = 0.0, settled_angle_error = 0.0;
  double base_travel = 0.0;  ///< way of the platform so far [m]
  int branch_switches = 0;  ///< changes of the arm's plane from one side of the target to the other
  int searches = 0;         ///< for poses and ways among obstacles, all steps together
  double clearance = 0.0;   ///< of the commanded pose from obstacles [m]; 1 m or more: 1
};

/// A controller of an arm on a mobile platform: measured state and target in, setpoints out, once
/// per step. Memory, purity and failures are as for `Controller`.
class MobileController {
 public:
  virtual ~MobileController() = default;

  [[nodiscard]] virtual int memory_size() const noexcept = 0;
  /// Fills the memory with its start values.
  virtual void reset(std::span<double> memory) const noexcept = 0;
  /// One step: `command` and `report` come in as default values of the right size, `next_memory` as
  /// a copy of `memory`.
  virtual void update(const MobileMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, MobileCommand& command,
                      MobileReport& report) = 0;
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

}  // namespace tendril
