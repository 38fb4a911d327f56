#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// What a controller sees of the arm in one step: spans into memory that the caller owns, valid during the call.
/// Poses and vectors are in the robot's base frame B (the mount of the arm, fixed to its parent body), SI units.
struct ArmMeasurement {
  double time = 0.0;      ///< [s]
  double timestep = 0.0;  ///< [s], since the last update
  Eigen::VectorXd q;      ///< measured smooth coordinates: u, v (and s) of each section
  Eigen::Isometry3d X_BE = Eigen::Isometry3d::Identity();  ///< measured tip pose
  BaseState base;         ///< measured feed and spin
  double feed_force = 0.0;     ///< force of the feed servo for its present command, limits included [N]
  Eigen::MatrixXd tip_jacobian;  ///< 6 x (n + 2): d(tip position, tip turn)/d(q, feed, spin) of the measured shape
  Eigen::VectorXd gravity_load;  ///< n: gravity moment (u, v) [N m] and force (s) [N] on each coordinate, mean over its joints
};

/// What a controller asks for in one step.
struct ArmCommand {
  Eigen::VectorXd q;        ///< n: wanted smooth coordinates
  Eigen::VectorXd q_rate;   ///< n: their planned rates, for velocity feed-forward [1/s]
  BaseState base;           ///< wanted feed and spin
  double feed_rate = 0.0;   ///< [m/s]
};

/// What a controller tells about one step; becomes sensor data.
struct ControllerReport {
  int status = 0;             ///< 0 working, 1 not converged, 2 jammed, 3 invalid target, 4 finished
  int iterations = 0;         ///< of the inverse kinematics in this step
  double tip_error = 0.0;     ///< distance of the measured tip from where the task wants it now [m]
  double angle_error = 0.0;   ///< [rad]
  double progress = 0.0;      ///< of the task, 0..1
  Eigen::Vector3d target = Eigen::Vector3d::Zero();  ///< where the task wants the tip now, base frame [m]
};

}  // namespace tendril
