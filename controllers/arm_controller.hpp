#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "controllers/controller.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// A place where the arm touches something else; base frame.
struct MeasuredContact {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< [m]
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();   ///< unit, towards the arm
  double depth = 0.0;                                  ///< overlap [m]
  double arc_length = 0.0;  ///< of the touching link's middle along the arm, from its root [m]
  bool is_guide = false;    ///< with the guide that feeds the arm
};

/// Most contacts that are measured in one step; of more, those nearest to the base.
inline constexpr int kMaxMeasuredContacts = 64;

/// What a controller sees of the arm in one step. Everything is in the robot's base frame B (the
/// body `base`, to which the feed and the arm are mounted) and in SI units. `n` is the robot's
/// coordinate count.
struct ArmMeasurement {
  double time = 0.0;      ///< simulated time [s]
  double timestep = 0.0;  ///< [s]
  Eigen::VectorXd q;      ///< n: measured smooth coordinates u, v (and s) of each section
  BaseState base;         ///< measured feed and spin
  Eigen::Isometry3d X_BE = Eigen::Isometry3d::Identity();  ///< measured tip pose
  /// 6 x (n + 2): derivative of tip position (rows 0-2) and tip rotation vector (rows 3-5) with
  /// respect to q, feed and spin, of the measured shape.
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_jacobian;
  /// Tip displacement [m] that gravity causes by bending the inside of the sections unevenly,
  /// predicted from the measured shape; zero where every link is compensated by its own servo.
  Eigen::Vector3d sag = Eigen::Vector3d::Zero();
  /// Of this step's positions, by arc length; only for a controller that `senses_contacts`.
  std::vector<MeasuredContact> contacts;
  /// 6 x (n + 1): derivative of the tip pose in equilibrium, rows as above, with respect to the
  /// commanded q and the feed, present contacts kept; only for a controller that `senses_contacts`.
  /// docs/derivations.md, "Commands of an arm in contact".
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_response;
  double feed_force = 0.0;  ///< force of the feed servo [N]; 0 without a feed
  bool has_target = false;  ///< a target body is configured
  Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();  ///< its pose
  /// What the arm must keep away from, where it is now; null when the controller has not asked for
  /// it (setting `avoidance`). The same shapes in the same order as in ArmContext.
  const Obstacles* obstacles = nullptr;

  explicit ArmMeasurement(int n)
      : q(Eigen::VectorXd::Zero(n)),
        tip_jacobian(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 2)),
        tip_response(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 1)) {
    contacts.reserve(kMaxMeasuredContacts);
  }
};

/// What a controller asks for in one step. The servo law (arm_mechanics.hpp) adds what the servos
/// need: velocity feed-forward and gravity compensation.
struct ArmCommand {
  Eigen::VectorXd q;       ///< n: desired smooth coordinates, corrections included
  Eigen::VectorXd q_rate;  ///< n: their planned rates [1/s]
  Eigen::VectorXd plan;    ///< n: the pose that the task plans, without corrections; only drawn
  bool has_plan = true;    ///< plan is to be drawn
  BaseState base;          ///< desired feed and spin
  double feed_rate = 0.0;  ///< [m/s]

  explicit ArmCommand(int n)
      : q(Eigen::VectorXd::Zero(n)),
        q_rate(Eigen::VectorXd::Zero(n)),
        plan(Eigen::VectorXd::Zero(n)) {}
};

/// What an arm's controller is made from; it lives only during the call.
struct ArmContext {
  const ContinuumRobot& robot;
  const Settings& settings;
  double timestep;  ///< of the simulation [s]
  /// Of the feed servo [N]; infinity without one.
  double feed_force_limit = std::numeric_limits<double>::infinity();
  double guide_length = 0.0;             ///< of the guide that the arm is fed through [m]; 0: none
  double guide_clearance = 0.0;          ///< between body and guide on each side [m]
  double body_radius = 0.0;              ///< largest of the arm's sections [m]
  double bending_stiffness = 0.0;        ///< EI of the arm's last section [N m^2]
  const Obstacles* obstacles = nullptr;  ///< as in ArmMeasurement
  int moving_obstacles = 0;  ///< the first so many of them may change their pose in the base frame
};

/// A controller of a continuum arm: measured state and target in, section commands out, once per
/// step. This is the interface to implement for a controller of your own; see
/// apps/examples/03_custom_controller.cpp for a whole one. Memory and failures: Controller.
class ArmController : public Controller {
 public:
  using Context = ArmContext;
  using Measurement = ArmMeasurement;
  using Command = ArmCommand;

  /// One step: `command` and `report` come in as default values of the right size, `next_memory` as
  /// a copy of `memory`.
  virtual void update(const ArmMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, ArmCommand& command,
                      ControllerReport& report) = 0;
  /// Whether it needs contacts and tip_response in its measurement.
  [[nodiscard]] virtual bool senses_contacts() const noexcept { return false; }
  /// Points of the path that the task follows, base frame, for drawing; at most `points.size()`.
  /// Returns how many were written.
  [[nodiscard]] virtual int path(std::span<const double> /*memory*/,
                                 std::span<Eigen::Vector3d> /*points*/) const noexcept {
    return 0;
  }
};

}  // namespace tendril
