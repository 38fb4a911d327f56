#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <string_view>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "controllers/interface/scene_query.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// A point where the arm touches another body; base frame.
struct MeasuredContact {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< [m]
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();   ///< unit, towards the arm
  double depth = 0.0;                                  ///< overlap [m]
  /// Normal force [N]: its link's in the previous step, in equal parts for the contacts of the
  /// link.
  double force = 0.0;
  double arc_length = 0.0;  ///< of the touching link's middle along the arm, from its root [m]
  bool is_guide = false;    ///< with the guide that feeds the arm
};

/// Largest number of contacts measured in one step; if there are more, those nearest to the base
/// are kept.
inline constexpr int kMaxMeasuredContacts = 64;

/// What a controller measures of the arm in one step. Everything is in the robot's base frame B
/// (the body `base`, to which the feed and the arm are mounted) and in SI units. `n` is the robot's
/// coordinate count.
struct ArmMeasurement {
  double time = 0.0;       ///< simulated time [s]
  double timestep = 0.0;   ///< [s]
  Eigen::VectorXd q;       ///< n: measured smooth coordinates u, v (and s) of each section
  Eigen::VectorXd q_rate;  ///< n: their rates [rad/s], [m/s]
  /// n: moments [N m] and forces [N] on the coordinates, positive where they do work as q grows: of
  /// all actuators (servos and motors: in the last step, tendons: tendon_tension); and of gravity,
  /// 0 without the setting `gravity_compensation`.
  Eigen::VectorXd moment, gravity_moment;
  BaseState base;                                          ///< measured feed and spin
  Eigen::Isometry3d X_BE = Eigen::Isometry3d::Identity();  ///< measured tip pose
  /// 6 x (n + 2): derivative of tip position (rows 0-2) and tip rotation vector (rows 3-5) with
  /// respect to q, feed and spin, of the measured shape.
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_jacobian;
  /// Gravitational deflection of the tip [m]: what remains because gravity bends a section unevenly
  /// while one servo acts on all of it. Predicted from the measured shape; zero where every link
  /// has its own servo.
  Eigen::Vector3d gravity_deflection = Eigen::Vector3d::Zero();
  /// 3 x n, column k: the part of the same kind that coordinate k has in the displacement of its
  /// own section's end [m]; what is beyond is displaced alike.
  Eigen::Matrix<double, 3, Eigen::Dynamic> uneven_deflection;
  /// At this step's positions, ordered by arc length; only for a controller that `senses_contacts`.
  std::vector<MeasuredContact> contacts;
  /// 6 x (n + 1): derivative of the tip pose in equilibrium, rows as above, with respect to the
  /// commanded q and the feed, present contacts kept; only for a controller that `senses_response`.
  /// docs/derivations.md, "Commands of an arm in contact".
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_response;
  /// Damping 2 zeta omega of the arm's slowest swing, straight and with its base held [1/s];
  /// infinity: unknown. The same in every step.
  double fundamental_mode_damping = std::numeric_limits<double>::infinity();
  /// Changes of the tendons' lengths from the straight arm [m], and their tensions at the last
  /// commands [N], in the order of the robot file, the chambers after them: a chamber pushes, its
  /// tension is minus pressure times area. Empty without tendons and chambers.
  Eigen::VectorXd tendon_length, tendon_tension;
  double feed_force = 0.0;  ///< force of the feed servo [N]; 0 without a feed
  bool has_target = false;  ///< the controller asked for a target (SceneQuery::measure_target)
  Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();  ///< its pose
  /// Obstacles at their present poses; null unless the controller asked for them
  /// (SceneQuery::measure_obstacles).
  const Obstacles* obstacles = nullptr;

  explicit ArmMeasurement(int n, int tendons = 0)
      : q(Eigen::VectorXd::Zero(n)),
        q_rate(q),
        moment(q),
        gravity_moment(q),
        tip_jacobian(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 2)),
        uneven_deflection(Eigen::Matrix<double, 3, Eigen::Dynamic>::Zero(3, n)),
        tip_response(Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n + 1)),
        tendon_length(Eigen::VectorXd::Zero(tendons)),
        tendon_tension(tendon_length) {
    contacts.reserve(kMaxMeasuredContacts);
  }
};

/// What a controller commands in one step. To setpoints the servo law (arm_mechanics.hpp) adds
/// velocity feed-forward and gravity compensation; moments and tensions are what the actuators are
/// told, within their limits.
struct ArmCommand {
  Eigen::VectorXd q;       ///< n: desired smooth coordinates, corrections included
  Eigen::VectorXd q_rate;  ///< n: their planned rates [1/s]
  /// n: of a controller of moments, as ArmMeasurement::moment; tendons and chambers share them
  /// (TensionDistribution), a coordinate with a servo takes q.
  Eigen::VectorXd moment;
  Eigen::VectorXd tension;  ///< of a controller of tensions [N], as ArmMeasurement::tendon_tension
  Eigen::VectorXd plan;     ///< n: the planned pose without corrections; only for drawing
  bool has_plan = true;     ///< plan is to be drawn
  BaseState base;           ///< desired feed and spin
  double feed_rate = 0.0;   ///< [m/s]

  explicit ArmCommand(int n)
      : q(Eigen::VectorXd::Zero(n)),
        q_rate(Eigen::VectorXd::Zero(n)),
        moment(Eigen::VectorXd::Zero(n)),
        plan(Eigen::VectorXd::Zero(n)) {}
};

/// What the body does against a bend or the length of a section, without gravity: the moment
/// stiffness (q - rest) + damping q' holds it.
struct BodySpring {
  double stiffness = 0.0;  ///< [N m/rad], [N/m]
  double damping = 0.0;    ///< [N m s/rad], [N s/m]
  double rest = 0.0;       ///< where it has no force [rad], [m]
  double lag = 0.0;        ///< with which moments follow their commands: of the slowest chamber [s]

  /// The moment that moves it, against the moment of gravity.
  [[nodiscard]] double moment(double q, double rate, double gravity) const noexcept {
    return stiffness * (q - rest) + (damping + lag * stiffness) * rate - gravity;
  }
  /// The largest part of its stiffness that can be fed back, beside this part of its damping, and
  /// is stable in spite of the lag whatever its inertia. Source: docs/derivations.md, "Chambers".
  [[nodiscard]] double largest_gain(double damping_gain) const noexcept {
    return lag > 0.0 ? (1.0 + damping_gain) * damping / (stiffness * lag)
                     : std::numeric_limits<double>::infinity();
  }
};

/// The arguments from which an arm's controller is constructed; valid only during the call.
struct ArmContext {
  const ContinuumRobot& robot;
  const Settings& settings;
  double timestep;  ///< of the simulation [s]
  /// Of the feed servo [N]; infinity without one.
  double feed_force_limit = std::numeric_limits<double>::infinity();
  double guide_length = 0.0;       ///< of the guide that the arm is fed through [m]; 0: none
  double guide_clearance = 0.0;    ///< between body and guide on each side [m]
  double body_radius = 0.0;        ///< largest of the arm's sections [m]
  double bending_stiffness = 0.0;  ///< EI of the arm's last section [N m^2]
  std::string_view name = {};      ///< of the robot
  std::span<const BodySpring> springs = {};  ///< n, of the coordinates
  int tendon_count = 0;                      ///< and chambers
  SceneQuery& scene = empty_scene();
};

/// A controller of a continuum arm: measured state and target in, section commands out, once per
/// step. Implement this interface to write your own controller;
/// apps/examples/03_custom_controller.cpp is a complete one. Memory and failures: Controller.
class ArmController : public Controller {
 public:
  using Context = ArmContext;
  using Measurement = ArmMeasurement;
  using Command = ArmCommand;

  /// One step. On entry `command` and `report` have default values and the right size, and
  /// `next_memory` is a copy of `memory`.
  virtual void update(const ArmMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, ArmCommand& command,
                      ControllerReport& report) = 0;
  /// Moments need motors (`bend_command = "moment"`) or tendons and chambers in the place of bend
  /// servos; they and tensions need tendons that are told tensions. Setpoints need no motors. All
  /// else is refused when the model is loaded. On entry to `update`, q of a controller that does
  /// not command setpoints is the measured one: it is what the robot is taken to be told.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
  /// Whether it needs contacts and tip_response in its measurement.
  [[nodiscard]] virtual bool senses_contacts() const noexcept { return false; }
  /// Whether it needs tip_response too.
  [[nodiscard]] virtual bool senses_response() const noexcept { return senses_contacts(); }
  /// Points of the path that the task follows, base frame, for drawing; at most `points.size()`.
  /// Returns the number of points written.
  [[nodiscard]] virtual int path(std::span<const double> /*memory*/,
                                 std::span<Eigen::Vector3d> /*points*/) const noexcept {
    return 0;
  }
};

}  // namespace tendril
