#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <string_view>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "controllers/interface/scene_query.hpp"
#include "controllers/interface/settings.hpp"

namespace tendril {

/// What a controller measures of a snake in one step; world frame, SI units. `n` is the number of
/// joints.
struct SnakeMeasurement {
  double time = 0.0;       ///< simulated time [s]
  double timestep = 0.0;   ///< [s]
  Eigen::VectorXd q;       ///< n: joint angles [rad]
  Eigen::VectorXd q_rate;  ///< n: [rad/s]
  Eigen::VectorXd torque;  ///< n: of the joints' actuators in the last step [N m]
  Eigen::VectorXd
      gravity_torque;  ///< n: of gravity on what each joint moves, towards the head [N m]
  double feed = 0.0;   ///< of the carriage [m]; 0 without one
  Eigen::Isometry3d X_WT = Eigen::Isometry3d::Identity();    ///< tail end of link 0, x forward
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();    ///< head end of the last link
  Eigen::Vector3d center_of_mass = Eigen::Vector3d::Zero();  ///< [m]
  double upright = 1.0;  ///< mean over the links of the cosine between their z axes and the world's
  bool has_target = false;  ///< the controller asked for a target (SceneQuery::measure_target)
  Eigen::Vector3d p_WG = Eigen::Vector3d::Zero();  ///< its position [m]

  explicit SnakeMeasurement(int n)
      : q(Eigen::VectorXd::Zero(n)), q_rate(q), torque(q), gravity_torque(q) {}
};

/// What a controller commands in one step: setpoints of the position servos, to which the plugin
/// adds lag and gravity compensation; or torques.
struct SnakeCommand {
  Eigen::VectorXd q;            ///< n [rad]; the servos keep them inside the joint limits
  Eigen::VectorXd q_rate;       ///< n: planned rates [rad/s]; 0: no lag compensation
  Eigen::VectorXd torque;       ///< n: of a controller of moments [N m], within the torque limit
  double feed = 0.0;            ///< of the carriage [m]
  double feed_rate = 0.0;       ///< [m/s]
  double gravity_factor = 0.0;  ///< fraction of the links' gravity load that is compensated

  explicit SnakeCommand(int n) : q(Eigen::VectorXd::Zero(n)), q_rate(q), torque(q) {}
};

/// The arguments from which a snake's controller is constructed; valid only during the call.
struct SnakeContext {
  std::span<const double> link_lengths;  ///< a_0 .. a_n [m]; a_0 is 0 for a carriage
  double joint_limit;                    ///< [rad]
  double radius;                         ///< of the links [m]
  bool is_free;                          ///< no carriage
  const Settings& settings;
  double timestep;             ///< of the simulation [s]
  double feed_limit = 0.0;     ///< of the carriage [m]
  std::string_view name = {};  ///< of the robot
  /// Middle of the snake where it starts, and height of the ground there, world frame [m].
  Eigen::Vector2d start_center = Eigen::Vector2d::Zero();
  double ground_height = 0.0;
  SceneQuery& scene = empty_scene();

  [[nodiscard]] int joints() const noexcept { return static_cast<int>(link_lengths.size()) - 1; }
};

/// A controller of a snake: measured state in, joint angles out, once per step. Memory and
/// failures: Controller.
class SnakeController : public Controller {
 public:
  using Context = SnakeContext;
  using Measurement = SnakeMeasurement;
  using Command = SnakeCommand;

  /// One step. On entry `command` and `report` have default values, and `next_memory` is a copy of
  /// `memory`.
  virtual void update(const SnakeMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, SnakeCommand& command,
                      ControllerReport& report) = 0;
  /// Moments: torques of the joints, of a snake with `joint_command = "torque"`; else setpoints.
  /// The other one is refused when the model is loaded. On entry to `update`, q of a controller of
  /// torques is the measured one.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
  /// Points of the path that the task follows, world frame, for drawing; at most `points.size()`.
  /// Returns the number of points written.
  [[nodiscard]] virtual int path(const SnakeMeasurement& /*measurement*/,
                                 std::span<const double> /*memory*/,
                                 std::span<Eigen::Vector3d> /*points*/) const noexcept {
    return 0;
  }
};

}  // namespace tendril
