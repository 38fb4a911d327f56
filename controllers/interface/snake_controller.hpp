#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <string_view>
#include <vector>

#include "controllers/interface/common_rows.hpp"
#include "controllers/interface/controller.hpp"
#include "controllers/interface/fields.hpp"
#include "controllers/interface/scene_query.hpp"
#include "controllers/interface/settings.hpp"

namespace tendril {

/// Measurement of a snake in one step, as its controller gets it; world frame, SI units. `fields`
/// says what each member is; n is the number of joints.
struct SnakeMeasurement {
  double time = 0.0, timestep = 0.0;
  double feed = 0.0, upright = 1.0;
  bool has_target = false;
  Eigen::VectorXd q, q_rate;
  Eigen::VectorXd torque, gravity_torque;
  Eigen::Isometry3d X_WT = Eigen::Isometry3d::Identity();
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();
  Eigen::Vector3d center_of_mass = Eigen::Vector3d::Zero();
  Eigen::Vector3d p_WG = Eigen::Vector3d::Zero();

  static constexpr const char* kName = "SnakeMeasurement";
  static constexpr const char* kMeaning =
      "What a controller measures of a snake in one step: world frame, SI units. n: number of "
      "joints.";
  static constexpr auto fields() {
    using M = SnakeMeasurement;
    using extent::n;
    return std::tuple{
        field("time", &M::time, "s", "simulated time"),
        field("timestep", &M::timestep, "s", "of the simulation"),
        field("feed", &M::feed, "m", "of the carriage; 0 without one").with_channel("feed"),
        field("upright", &M::upright, "",
              "mean over the links of the cosine between their z axes and the world's"),
        field("has_target", &M::has_target, "", "the controller has a target"),
        field("q", &M::q, {n}, "rad", "joint angles").with_channel("q"),
        field("q_rate", &M::q_rate, {n}, "rad/s", "their rates").with_channel("q_rate"),
        field("torque", &M::torque, {n}, "N m", "of the joints' actuators in the last step")
            .with_channel("torque"),
        field("gravity_torque", &M::gravity_torque, {n}, "N m",
              "of gravity on what each joint moves, towards the head")
            .with_channel("gravity_torque"),
        field("tail", &M::X_WT, "", "pose of the tail end of link 0, x forward"),
        field("tip", &M::X_WE, "", "pose of the head end of the last link").with_channel("tip"),
        field("center_of_mass", &M::center_of_mass, "m", ""),
        field("target", &M::p_WG, "m", "position of the target body").with_channel("target")};
  }

  [[nodiscard]] TipAndTarget tip_and_target() const noexcept {
    return {X_WE.translation(), p_WG, kUnknown, has_target};
  }

  explicit SnakeMeasurement(const RobotSizes& sizes) { set_sizes(*this, sizes); }
};

/// Command of a snake's controller in one step: setpoints of the position servos, to which the
/// plugin adds lag and gravity compensation; or torques. `fields` says what each member is.
struct SnakeCommand {
  Eigen::VectorXd q, q_rate;
  Eigen::VectorXd torque;
  double feed = 0.0, feed_rate = 0.0;
  double gravity_factor = 0.0;

  static constexpr const char* kName = "SnakeCommand";
  static constexpr const char* kMeaning =
      "What a controller commands in one step; zeros on entry, but q the measured one of a "
      "controller that commands torques.";
  static constexpr auto fields() {
    using C = SnakeCommand;
    using extent::n;
    return std::tuple{
        field("q", &C::q, {n}, "rad", "joint angles; the servos keep them inside the joint limits"),
        field("q_rate", &C::q_rate, {n}, "rad/s", "planned rates; 0: no lag compensation"),
        field("torque", &C::torque, {n}, "N m",
              "of a controller that commands torques, within the torque limit"),
        field("feed", &C::feed, "m", "of the carriage"),
        field("feed_rate", &C::feed_rate, "m/s", "planned"),
        field("gravity_factor", &C::gravity_factor, "",
              "fraction of the links' gravity load that is compensated")};
  }

  explicit SnakeCommand(const RobotSizes& sizes) { set_sizes(*this, sizes); }
};

class SnakeController;

/// What of the pose of a free snake a controller works by.
enum class PoseNeed {
  None,      ///< nothing: it moves the joints
  OnGround,  ///< orientation, and position on the ground
  OnPole,    ///< the height on a pole
};

/// The arguments from which a snake's controller is constructed; valid only during the call.
struct SnakeContext {
  using Interface = SnakeController;

  /// a_0 .. a_n [m]; a_0 is 0 unless the base is free, a_1, a_3, ... are 0 with universal joints.
  std::span<const double> link_lengths;
  double joint_limit;  ///< [rad]
  double radius;
  bool is_free;
  const Settings& settings;
  double timestep;
  double feed_limit = 0.0;     ///< of a carriage; 0 without one
  std::string_view name = {};  ///< of the robot
  /// Middle of the snake where it starts, and height of the ground there, world frame [m].
  Eigen::Vector2d start_center = Eigen::Vector2d::Zero();
  double ground_height = 0.0;
  SceneQuery& scene = empty_scene();

  static constexpr const char* kKind = "snake";
  static constexpr const char* kName = "SnakeContext";
  static constexpr const char* kMeaning = "What a controller of a snake is made with.";
  static constexpr auto fields() {
    using C = SnakeContext;
    return std::tuple{field("timestep", &C::timestep, "s", "of the simulation"),
                      field("radius", &C::radius, "m", "of the links"),
                      field("feed_limit", &C::feed_limit, "m", "of the carriage; 0 without one"),
                      field("is_free", &C::is_free, "", "neither fixed nor on a carriage")};
  }
  [[nodiscard]] bool is_fixed() const noexcept { return !is_free && feed_limit == 0.0; }
  [[nodiscard]] int joints() const noexcept { return static_cast<int>(link_lengths.size()) - 1; }
  [[nodiscard]] RobotSizes sizes() const noexcept { return joints(); }
};

/// A controller of a snake: measured state in, joint angles out, once per step. Memory and
/// failures: Controller.
class SnakeController : public Controller {
 public:
  using Context = SnakeContext;
  using Measurement = SnakeMeasurement;
  using Command = SnakeCommand;

  /// Of all its controllers: settings, and quantities that are reported.
  static constexpr SettingInfo kCommonSettings[] = {
      common::kRobot,         common::following_tolerance("0.3"),
      common::kFollowingTime, common::kMeasurementFaults,
      common::kSensorSeed,    common::kMeasured};
  static constexpr Quantity kCommonQuantities[] = {
      quantity::kStatus,
      {"target", "m", "desired position now, world", 3},
      {"command", "rad", "commanded joint angles", kPerCoordinate},
      {"measured", "rad", "the same, as the controller sees it", kPerCoordinate},
      common::kMeasuredTip,
      common::kJointMargin,
      {"upright", "", "mean over the links of the cosine between their z axes and the world's"},
      common::kFollowingError};

  /// One step. On entry `command` and `report` have default values, and `next_memory` is a copy of
  /// `memory`.
  virtual void update(const SnakeMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory, SnakeCommand& command,
                      ControllerReport& report) = 0;
  /// Moments: torques of the joints, of a snake with `joint_command = "torque"`; else setpoints.
  /// The other one is refused when the model is loaded. On entry to `update`, q of a controller of
  /// torques is the measured one.
  [[nodiscard]] virtual CommandKind commands() const noexcept { return CommandKind::Setpoints; }
  /// What a free snake that sees its sensors must know of its pose.
  [[nodiscard]] virtual PoseNeed pose_need() const noexcept { return PoseNeed::OnGround; }
  /// Points of the path that the task follows, world frame, for drawing; at most `points.size()`.
  /// Returns the number of points written.
  [[nodiscard]] virtual int path(const SnakeMeasurement& /*measurement*/,
                                 std::span<const double> /*memory*/,
                                 std::span<Eigen::Vector3d> /*points*/) const noexcept {
    return 0;
  }
};

}  // namespace tendril
