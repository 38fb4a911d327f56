#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "controllers/settings.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/ik/ik_result.hpp"
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

/// Most contacts that are handed on in one step; of more, those nearest to the base.
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
  /// Tip shift [m] that gravity causes by bending the inside of the sections unevenly, predicted
  /// from the measured shape; zero where every link is compensated by its own servo.
  Eigen::Vector3d sag = Eigen::Vector3d::Zero();
  /// Of this step's positions, by arc length; only for a controller that `senses_contacts`.
  std::vector<MeasuredContact> contacts;
  /// 6 x (n + 1): derivative of the tip pose at rest, rows as above, with respect to the commanded
  /// q and the feed, present contacts kept; only for a controller that `senses_contacts`.
  /// docs/derivations-control.md, "Commands of an arm in contact".
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_response;
  double feed_force = 0.0;  ///< force of the feed servo [N]; 0 without a feed
  bool has_target = false;  ///< a target body is configured
  Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();  ///< its pose
  /// What the arm must keep away from, where it is now; null when the controller has not asked for
  /// it (setting `avoidance`). The same shapes in the same order as in ControllerContext.
  const Obstacles* obstacles = nullptr;

  explicit ArmMeasurement(int n)
      : q(Eigen::VectorXd::Zero(n)),
        tip_jacobian(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 2)),
        tip_response(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 1)) {
    contacts.reserve(kMaxMeasuredContacts);
  }
};

/// What a controller asks for in one step. The plugin adds what the servos need (velocity and
/// gravity feed-forward).
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

enum class ControllerStatus : std::uint8_t {
  Working = 0,
  Finished = 1,    ///< the task is done and held
  NotReached = 2,  ///< the inverse kinematics has no pose that meets the target; the nearest one is
                   ///< commanded
  Jammed = 3,      ///< the feed is stopped: tip error or feed force at its limit
  InvalidTarget = 4,  ///< the target is not finite; the last command is held
  Fault = 5,          ///< an internal error; nothing is commanded any more
  TargetBehind = 6,   ///< the path cannot go on to the target: it lies behind the head
  PathTooTight = 7,   ///< nor can it here: it would bend more than the body can
};

/// What a controller tells about one step; becomes sensor data.
struct ControllerReport {
  ControllerStatus status = ControllerStatus::Working;
  int iterations = 0;      ///< of the inverse kinematics in this step
  double tip_error = 0.0;  ///< distance of the measured tip from where the task wants it now [m]
  double angle_error =
      0.0;                ///< angle of the measured tip from the desired direction [rad]; 0 if free
  double progress = 0.0;  ///< of the task, 0..1
  double waypoint_error = 0.0;  ///< tip error when the last hold at a waypoint ended [m]; 0 before
                                ///< and for tasks without such holds
  int contacts_expected = 0;    ///< contacts that a plan has at this moment
  int contacts_made = 0;        ///< of these, those that are there
  int contacts_lost = 0;        ///< of these, those that were there and are no longer
  Eigen::Vector3d target =
      Eigen::Vector3d::Zero();  ///< where the task wants the tip now, base frame [m]
};

/// A controller: measured state and target in, section commands out, once per step. This is the
/// interface to implement for a controller of your own; see apps/examples/03_custom_controller.cpp
/// for a whole one.
///
/// All memory between steps is an array of `memory_size()` doubles that the caller owns (in the
/// plugin: MuJoCo's `plugin_state`), so that saving and restoring the simulation restores the
/// controller. `update` is a pure function of its arguments: it may be called several times for one
/// step. Members that it uses as scratch must not carry anything over. It is called in the step
/// loop: no throw, no allocation, no lock, no print, no clock.
class Controller {
 public:
  virtual ~Controller() = default;

  [[nodiscard]] virtual int memory_size() const noexcept = 0;
  /// Fills the memory with its start values.
  virtual void reset(std::span<double> memory) const noexcept = 0;
  /// One step: `command` and `report` come in as default values of the right size, `next_memory` as
  /// a copy of `memory`. Declare it noexcept where you override it; should it throw after all, or
  /// command what is not finite, the plugin holds the arm's last setpoints and reports `Fault`.
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

/// What a controller is made from. `robot` and `settings` live only during the call.
struct ControllerContext {
  const ContinuumRobot& robot;
  const Settings& settings;
  double timestep;                       ///< of the simulation [s]
  double feed_force_limit;               ///< of the feed servo [N]; infinity without one
  double guide_length = 0.0;             ///< of the guide that the arm is fed through [m]; 0: none
  double guide_clearance = 0.0;          ///< between body and guide on each side [m]
  double body_radius = 0.0;              ///< largest of the arm's sections [m]
  double bending_stiffness = 0.0;        ///< EI of the arm's last section [N m^2]
  const Obstacles* obstacles = nullptr;  ///< as in ArmMeasurement; lives only during the call
  int moving_obstacles = 0;  ///< the first so many of them may change their pose in the base frame
};

}  // namespace tendril
