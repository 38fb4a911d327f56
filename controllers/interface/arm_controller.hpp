#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <string_view>
#include <vector>

#include "controllers/interface/common_rows.hpp"
#include "controllers/interface/controller.hpp"
#include "controllers/interface/fields.hpp"
#include "controllers/interface/scene_query.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/actuation.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/serial_chain.hpp"

namespace tendril {

/// A point where the arm touches another body; base frame.
struct MeasuredContact {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();
  double depth = 0.0, force = 0.0, arc_length = 0.0;
  bool is_guide = false, is_fixed = false;

  static constexpr const char* kName = "MeasuredContact";
  static constexpr const char* kMeaning = "A point where the arm touches another body; base frame.";
  static constexpr auto fields() {
    using C = MeasuredContact;
    return std::tuple{
        field("position", &C::position, "m", ""),
        field("normal", &C::normal, "", "unit, towards the arm"),
        field("depth", &C::depth, "m", "overlap"),
        field("force", &C::force, "N",
              "normal force; its link's in the previous step, in equal parts for the contacts of "
              "the link"),
        field("arc_length", &C::arc_length, "m",
              "of the touching link's middle along the arm, from its root"),
        field("is_guide", &C::is_guide, "", "with the guide that feeds the arm"),
        field("is_fixed", &C::is_fixed, "", "with a body that no force moves")};
  }
};

/// Largest number of contacts measured in one step; if there are more, those nearest to the base
/// are kept.
inline constexpr int kMaxMeasuredContacts = 64;

/// Measurement of an arm in one step, as its controller gets it. Everything is in the robot's base
/// frame B (the body `base`, to which the feed and the arm are mounted) and in SI units. `fields`
/// says what each member is; n is the robot's coordinate count, t its number of tendons and
/// chambers.
struct ArmMeasurement {
  double time = 0.0, timestep = 0.0;
  BaseState base;
  double feed_force = 0.0;
  bool has_target = false;
  std::vector<MeasuredContact> contacts;
  const Obstacles* obstacles = nullptr;
  Eigen::VectorXd q, q_rate;
  Eigen::VectorXd moment, gravity_moment;
  Eigen::VectorXd tendon_length, tendon_tension;
  Eigen::Isometry3d X_BE = Eigen::Isometry3d::Identity();
  Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_jacobian;
  Eigen::Vector3d gravity_deflection = Eigen::Vector3d::Zero();
  Eigen::Matrix<double, 3, Eigen::Dynamic> uneven_deflection;
  double tip_twist = 0.0;
  Eigen::VectorXd twist_swing;
  Eigen::Matrix<double, 6, Eigen::Dynamic> tip_response;
  double fundamental_mode_damping = std::numeric_limits<double>::infinity();
  double swing_period = 0.0;
  /// Positions of the joints that carry the base, from the root of their chain on [rad], [m], and
  /// the longest lag of their servos [s]; none unless the controller asked for them
  /// (`SceneQuery::carrier`).
  SerialChain::Positions carrier;
  double carrier_lag = 0.0;

  static constexpr const char* kName = "ArmMeasurement";
  static constexpr const char* kMeaning =
      "What a controller measures of a continuum arm in one step: in the frame of its base, SI "
      "units. n: the robot's `coordinate_count`; t: its tendons and chambers.";
  static constexpr auto fields() {
    using M = ArmMeasurement;
    using extent::n, extent::t;
    return std::tuple{
        field("time", &M::time, "s", "simulated time"),
        field("timestep", &M::timestep, "s", "of the simulation"),
        field(
            "feed", [](auto& m) -> auto& { return m.base.feed; }, "m", "of the base")
            .with_channel("feed"),
        field(
            "spin", [](auto& m) -> auto& { return m.base.spin; }, "rad", "of the base"),
        field("feed_force", &M::feed_force, "N", "of the feed servo; 0 without a feed")
            .with_channel("force"),
        field("has_target", &M::has_target, "", "the controller has a target"),
        field("contacts", &M::contacts, "",
              "at this step's positions, ordered by arc length; only of a controller with "
              "`senses_contacts`")
            .with_channel("contacts"),
        field(
            "obstacles", &M::obstacles, "",
            "at their present poses, the same shapes in the same order in every step; none unless "
            "the controller asked for them (setting `avoidance`)"),
        field("q", &M::q, {n}, "rad, m", "smooth coordinates u, v (and s) of each section")
            .with_channel("q"),
        field("q_rate", &M::q_rate, {n}, "rad/s, m/s", "their rates").with_channel("q_rate"),
        field("moment", &M::moment, {n}, "N m, N",
              "of all actuators on the coordinates, positive where they do work as q grows: of "
              "servos and motors in the last step, of tendons at tendon_tension")
            .with_channel("moment"),
        field("gravity_moment", &M::gravity_moment, {n}, "N m, N",
              "of gravity on the coordinates; 0 without the setting `gravity_compensation`")
            .with_channel("gravity_moment"),
        field("tendon_length", &M::tendon_length, {t}, "m",
              "changes from the straight arm: tendons, then chambers, in the order of the file")
            .with_channel("tendon_length"),
        field("tendon_tension", &M::tendon_tension, {t}, "N",
              "at the last commands; of a chamber, which pushes, minus pressure times area")
            .with_channel("tendon_tension"),
        field("tip", &M::X_BE, "", "pose of the tip")
            .with_channel("tip")
            .with_direction("tip_direction"),
        field("target", &M::X_BG, "", "pose of the target body").with_channel("target"),
        field("tip_jacobian", &M::tip_jacobian, {6, n + 2}, "",
              "derivative of tip position and tip rotation vector with respect to q, feed and "
              "spin, of the measured shape"),
        field("gravity_deflection", &M::gravity_deflection, "m",
              "of the tip, which servos cannot compensate: gravity bends sections with servos of "
              "whole "
              "sections unevenly, and twists them within; predicted from the measured shape"),
        field("uneven_deflection", &M::uneven_deflection, {3, n}, "m",
              "the same for the ends of the sections: column k is the part of coordinate k in the "
              "displacement of the end of its section against that of the section before; twist is "
              "in the columns of u"),
        field("tip_twist", &M::tip_twist, "rad",
              "rotation of the tip about its axis against the frames of q, which do not twist, by "
              "sections that are not rigid in torsion"),
        field("twist_swing", &M::twist_swing, {6}, "m, rad",
              "displacement and rotation of the tip by the twist that swings: without what gravity "
              "does, and without the mean of the rest (docs/theory/control.md, \"Tip integral\")"),
        field("tip_response", &M::tip_response, {6, n + 1}, "",
              "derivative of the tip pose in equilibrium with respect to the commanded q and the "
              "feed, contacts kept (docs/theory/obstacles.md, \"Commands of an arm in contact\"); "
              "only of a controller with `senses_contacts`"),
        field("fundamental_mode_damping", &M::fundamental_mode_damping, "1/s",
              "2 zeta omega of the slowest oscillation of the straight arm, its base held; "
              "infinite: unknown; the same in every step"),
        field("swing_period", &M::swing_period, "s",
              "of the slowest oscillation of the straight arm, if it takes longer than two periods "
              "to "
              "decay to 3 %; 0: it does not; the same in every step")};
  }

  /// The angle is that between the tangents.
  [[nodiscard]] TipAndTarget tip_and_target() const noexcept {
    const Eigen::Vector3d tip = X_BE.linear().col(2), target = X_BG.linear().col(2);
    return {X_BE.translation(), X_BG.translation(),
            std::atan2(tip.cross(target).norm(), tip.dot(target)), has_target};
  }

  explicit ArmMeasurement(const RobotSizes& sizes) {
    set_sizes(*this, sizes);
    contacts.reserve(kMaxMeasuredContacts);
  }
};

/// Command of an arm's controller in one step. To setpoints the servo law (arm_mechanics.hpp) adds
/// velocity feed-forward and gravity compensation; moments and tensions are commanded to the
/// actuators as they are, within their limits. `fields` says what each member is.
struct ArmCommand {
  Eigen::VectorXd q, q_rate;
  Eigen::VectorXd moment, tension;
  Eigen::VectorXd plan;
  bool has_plan = true;
  BaseState base;
  double feed_rate = 0.0;
  /// Positions and planned rates of the joints that carry the base, if the controller asked for
  /// them; those measured and 0 on entry.
  SerialChain::Positions carrier, carrier_rate;

  static constexpr const char* kName = "ArmCommand";
  static constexpr const char* kMeaning =
      "What a controller commands in one step; zeros on entry, but q the measured one of a "
      "controller that commands moments or tensions.";
  static constexpr auto fields() {
    using C = ArmCommand;
    using extent::n, extent::t;
    return std::tuple{
        field("q", &C::q, {n}, "rad, m", "smooth coordinates, corrections included"),
        field("q_rate", &C::q_rate, {n}, "1/s", "their planned rates"),
        field("moment", &C::moment, {n}, "N m, N",
              "of a controller that commands moments, on the coordinates; tendons and chambers "
              "share them, a coordinate with a servo takes q"),
        field("tension", &C::tension, {t}, "N",
              "of a controller that commands tensions, as `tendon_tension` of the measurement"),
        field("plan", &C::plan, {n}, "rad, m",
              "the planned pose without corrections; only for drawing"),
        field("has_plan", &C::has_plan, "", "`plan` is to be drawn"),
        field(
            "feed", [](auto& c) -> auto& { return c.base.feed; }, "m", "of the base"),
        field(
            "spin", [](auto& c) -> auto& { return c.base.spin; }, "rad", "of the base"),
        field("feed_rate", &C::feed_rate, "m/s", "planned")};
  }

  explicit ArmCommand(const RobotSizes& sizes) { set_sizes(*this, sizes); }
};

/// Resistance of the body to a bend or the length of a section, without gravity: the moment
/// stiffness (q - rest) + damping q' holds it.
struct BodySpring {
  double stiffness = 0.0, damping = 0.0, rest = 0.0, lag = 0.0;
  bool driven = true;

  static constexpr const char* kName = "BodySpring";
  static constexpr const char* kMeaning =
      "What the body does against a bend or the length of a section: the moment stiffness (q - "
      "rest) + damping q' holds it.";
  static constexpr auto fields() {
    using B = BodySpring;
    return std::tuple{field("stiffness", &B::stiffness, "N m/rad, N/m", ""),
                      field("damping", &B::damping, "N m s/rad, N s/m", ""),
                      field("rest", &B::rest, "rad, m", "where it has no force"),
                      field("lag", &B::lag, "s",
                            "with which moments follow their commands, of the slowest chamber"),
                      field("driven", &B::driven, "",
                            "commands move it both ways by itself; else it is a bend of a passive "
                            "section, or of one with fewer tendons than directions, and follows "
                            "its command as far as they can")};
  }

  /// The moment that moves it, against the moment of gravity.
  [[nodiscard]] double moment(double q, double rate, double gravity) const noexcept {
    return stiffness * (q - rest) + (damping + lag * stiffness) * rate - gravity;
  }
  /// The largest part of its stiffness that can be fed back, along with this part of its damping,
  /// and is stable in spite of the lag whatever its inertia. Source: docs/theory/chain.md,
  /// "Chambers".
  [[nodiscard]] double largest_gain(double damping_gain) const noexcept {
    return lag > 0.0 ? (1.0 + damping_gain) * damping / (stiffness * lag)
                     : std::numeric_limits<double>::infinity();
  }
};

/// Contacts that a controller works by: of the tip; the force on what it holds, of which the
/// moments of its drives tell; those along a body that rests on them, of which it has a model.
enum class ContactNeed { None, Tip, Grip, Body };

class ArmController;

/// The arguments from which an arm's controller is constructed; valid only during the call.
/// `fields` says what its numbers are.
struct ArmContext {
  using Interface = ArmController;

  const ContinuumRobot& robot;
  const Settings& settings;
  double timestep;
  double feed_force_limit = std::numeric_limits<double>::infinity();
  double guide_length = 0.0, guide_clearance = 0.0;
  double body_radius = 0.0, bending_stiffness = 0.0;
  std::string_view name = {};  ///< of the robot
  std::span<const BodySpring> springs = {};
  const Actuation& actuation = kMovesAll;  ///< what the drives move
  int tendon_count = 0;
  bool sees_contacts = true;  ///< false: by sensors, which tell of no contact of the body
  SceneQuery& scene = empty_scene();

  static constexpr const char* kKind = "continuum";
  static constexpr const char* kName = "ArmContext";
  static constexpr const char* kMeaning = "What a controller of an arm is made with.";
  static constexpr auto fields() {
    using C = ArmContext;
    return std::tuple{
        field("timestep", &C::timestep, "s", "of the simulation"),
        field("feed_force_limit", &C::feed_force_limit, "N",
              "of the feed servo; infinite without one"),
        field("guide_length", &C::guide_length, "m",
              "of the guide that the arm is fed through; 0: none"),
        field("guide_clearance", &C::guide_clearance, "m", "between body and guide on each side"),
        field("body_radius", &C::body_radius, "m", "largest of the sections"),
        field("bending_stiffness", &C::bending_stiffness, "N m^2", "EI of the last section"),
        field("tendon_count", &C::tendon_count, "", "tendons and chambers"),
        field("springs", &C::springs, "", "what the body does against each coordinate")};
  }
  [[nodiscard]] RobotSizes sizes() const noexcept {
    return {robot.coordinate_count(), tendon_count};
  }
};

/// A controller of a continuum arm: measured state and target in, section commands out, once per
/// step. Implement this interface to write your own controller;
/// apps/examples/03_custom_controller.cpp is a complete one. Memory and failures: Controller.
class ArmController : public Controller {
 public:
  using Context = ArmContext;
  using Measurement = ArmMeasurement;
  using Command = ArmCommand;

  /// Of all its controllers: settings, and quantities that are reported.
  static constexpr SettingInfo kCommonSettings[] = {common::kRobot,
                                                    common::kMeasured,
                                                    common::kGravityCompensation,
                                                    common::kVelocityFeedForward,
                                                    common::following_tolerance("0.05"),
                                                    common::kFollowingTime,
                                                    common::kMeasurementFaults,
                                                    common::kSensorSeed};
  static constexpr Quantity kCommonQuantities[] = {
      quantity::kStatus,
      common::kTarget,
      {"command", "rad, m", "commanded coordinates u, v (and s) of each section", kPerCoordinate},
      {"measured", "rad, m", "the same, as the controller sees it", kPerCoordinate},
      common::kMeasuredTip,
      common::kFollowingError};

  /// One step. On entry `command` and `report` have default values and the right size, and
  /// `next_memory` is a copy of `memory`.
  virtual void update(const ArmMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, ArmCommand& command,
                      ControllerReport& report) = 0;
  /// Moments need motors (`bend_command = "moment"`) or tendons and chambers instead of bend
  /// servos; they and tensions need tendons commanded in tension. Setpoints need no motors. All
  /// else is refused when the model is loaded. On entry to `update`, q of a controller that does
  /// not command setpoints is the measured one: it is what the robot is assumed to be commanded.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
  /// Tells whether it needs contacts and tip_response in its measurement.
  [[nodiscard]] virtual bool senses_contacts() const noexcept { return false; }
  /// The contacts without which its task is nothing: by sensors it works if they tell of these, or
  /// without knowing those along the body.
  [[nodiscard]] virtual ContactNeed needs_contacts() const noexcept { return ContactNeed::None; }
  /// Tells whether it needs tip_response too.
  [[nodiscard]] virtual bool senses_response() const noexcept { return senses_contacts(); }
  /// Points of the path that the task follows, base frame, for drawing; at most `points.size()`.
  /// Returns the number of points written.
  [[nodiscard]] virtual int path(std::span<const double> /*memory*/,
                                 std::span<Eigen::Vector3d> /*points*/) const noexcept {
    return 0;
  }
};

}  // namespace tendril
