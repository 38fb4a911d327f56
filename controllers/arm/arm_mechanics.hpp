#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "controllers/arm/section_turns.hpp"
#include "controllers/arm/section_twists.hpp"
#include "controllers/arm/servo.hpp"
#include "controllers/arm/tendon_drive.hpp"
#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// A hinge or slide of a link, and its fraction of the section's bend or length.
struct ArmJoint {
  double fraction = 0.0;        ///< of its coordinate
  double mass = 0.0;            ///< of all bodies that it moves [kg]
  double stiffness = 0.0;       ///< of the joint alone [N m/rad], [N/m]
  double rest = 0.0;            ///< where its spring has no force [rad], [m]
  int link = 0;                 ///< of its section, from 0
  double start = 0.0;           ///< of its link along the straight arm, from the arm's root [m]
  double length = 0.0;          ///< of its link [m]
  int servo = -1;               ///< its own, or -1
  double chain_position = 0.0;  ///< orders the joints from the base to the tip
};

/// One coordinate (u, v or s) of a section: the sum of its joints, and their servo.
struct ArmCoordinate {
  std::vector<ArmJoint> joints;  ///< from the base on
  double sign = 1.0;             ///< joint angle = sign * coordinate
  double offset = 0.0;           ///< coordinate with all joints at 0: half the variable length
  int servo = -1;                ///< that acts on the whole section, or -1
  bool is_motor = false;         ///< that servo is a motor: its command is the moment
  bool is_slide = false;
  bool has_tendons = false;  ///< neither it nor its joints have servos: tendons hold it
  bool is_passive = false;   ///< nothing drives it
  double damping = 0.0;      ///< of its joints in series [N m s/rad], [N s/m]
};

/// Feed or spin of the base.
struct ArmBaseJoint {
  int servo = -1;     ///< -1: the base has no such joint
  double mass = 0.0;  ///< of all bodies that it moves [kg]
};

/// The fraction of a link's length that is outside the guide, which ends `guide_length` [m] past
/// the base, and its derivative with respect to the feed [1/m].
/// @param start   of the link along the straight arm, from the arm's root [m]
/// @param length  of the link [m]
struct Exposure {
  double fraction = 1.0, rate = 0.0;
};
[[nodiscard]] inline Exposure guide_exposure(double guide_length, double feed, double start,
                                             double length) noexcept {
  if (guide_length <= 0.0) return {};
  const double fraction = (feed + start + length - guide_length) / length;
  if (fraction <= 0.0) return {0.0, 0.0};
  return fraction >= 1.0 ? Exposure{} : Exposure{fraction, 1.0 / length};
}

/// The chain of rigid links that models a continuum arm. It computes the measurement of a
/// controller from the joints, and the servos' setpoints from the command. Masses, servos and
/// gravity are those given to the constructor. Source: docs/theory/control.md, "Servo law".
class ArmMechanics {
 public:
  struct Options {
    Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  ///< [m/s^2]; zero: not compensated
    bool velocity_feed_forward = true;
    double guide_length = 0.0;  ///< [m]; 0: none
    CommandKind commands = CommandKind::Setpoints;
  };

  ArmMechanics() = default;
  /// @param coordinates  in the robot's order
  /// @param servos       all servos of the arm; coordinates, joints and base refer to them by index
  /// @param tendons      of the arm
  /// @param turns        of its sections; such an arm has no tendons
  /// @param twists       of its sections; none: they are rigid in torsion
  ArmMechanics(std::vector<ArmCoordinate> coordinates, const ArmBaseJoint& feed,
               const ArmBaseJoint& spin, std::vector<Servo> servos, const Options& options,
               std::vector<ArmTendon> tendons = {}, SectionTurns turns = {},
               SectionTwists twists = {});

  [[nodiscard]] std::span<const ArmCoordinate> coordinates() const noexcept { return coordinates_; }
  [[nodiscard]] std::span<const Servo> servos() const noexcept { return servos_; }
  [[nodiscard]] const SectionTurns& turns() const noexcept { return turns_; }
  /// The frames of the sections, as turned in the last `measure`.
  [[nodiscard]] const TurnedFrames& frames() const noexcept { return frames_; }
  [[nodiscard]] const TendonDrive& tendon_drive() const noexcept { return tendons_; }
  /// Returns whether the tendons feed the errors of the bends back.
  [[nodiscard]] bool tendons_feed_back() const noexcept {
    return options_.commands == CommandKind::Setpoints && tendons_.feeds_back();
  }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] bool has_feed() const noexcept { return feed_.servo >= 0; }
  [[nodiscard]] bool has_spin() const noexcept { return spin_.servo >= 0; }
  [[nodiscard]] const SectionTwists& twists() const noexcept { return twists_; }
  /// Returns the stiffness of a coordinate's joints in series; 0: of none [N m/rad], [N/m].
  [[nodiscard]] static double series_stiffness(const ArmCoordinate& coordinate) noexcept;
  [[nodiscard]] const ArmBaseJoint& feed() const noexcept { return feed_; }
  [[nodiscard]] const ArmBaseJoint& spin() const noexcept { return spin_; }

  /// The state of the chain in one step, filled in by the caller: the joints of all coordinates in
  /// order, then feed and spin (default where there are none). World frame.
  struct State {
    std::vector<JointState> joints;
    JointState feed, spin;
    std::vector<JointState> turns;  ///< of the sections that turn
    TwistState twists;
    std::vector<TendonDrive::Length> tendons;
    Eigen::Vector3d p_WB = Eigen::Vector3d::Zero(), p_WE = Eigen::Vector3d::Zero();
    Eigen::Matrix<double, 3, 3, Eigen::RowMajor> R_WB, R_WE;
  };
  [[nodiscard]] State make_state() const;

  /// Fills in q, q_rate, gravity_moment, base, X_BE, tip_jacobian, gravity_deflection,
  /// uneven_deflection, tip_twist, twist_swing, and the force of the feed servo at its last
  /// setpoint `feed_setpoint` [m]. Allocates nothing.
  void measure(const State& state, double feed_setpoint, ArmMeasurement& out) noexcept;

  /// Fills in tendon_length, tendon_tension and, with the moments of servos and motors in the last
  /// step, moment; `commands`: the last ones of the tendons.
  void measure_actuators(std::span<const double> servo_moments, const State& state,
                         std::span<const double> commands, ArmMeasurement& out) const noexcept;

  /// One setpoint for each servo, for the state of the last `measure`: the command plus velocity
  /// feed-forward and gravity compensation, within the force limits; of a motor the commanded
  /// moment less that of tendons which run past its section. A servo that cannot be driven
  /// (Servo::works) gets the command alone. The commands of the tendons follow (TendonDrive).
  /// @param turns   angles of the sections' turns, in: of the last step, out: of this one [rad]
  /// @param twists  means of SectionTwists, likewise
  void setpoints(const State& state, const ArmMeasurement& measurement, const ArmCommand& command,
                 std::span<double> turns, std::span<double> twists,
                 std::span<double> setpoints) noexcept;

  /// The coordinates commanded by the last `setpoints`, of the joints: where sections turn or
  /// twist, not those of the controller.
  [[nodiscard]] const Eigen::VectorXd& joint_command() const noexcept { return own_.q; }

  /// Moments of the servos and motors at these setpoints on each coordinate [N m], [N]; 0 where it
  /// is no number.
  void servo_moments(const State& state, std::span<const double> setpoints,
                     std::span<double> moments) const noexcept;

  /// Of a joint's link.
  [[nodiscard]] Exposure exposure(const ArmJoint& joint, double feed) const noexcept {
    return guide_exposure(options_.guide_length, feed, joint.start, joint.length);
  }
  /// The fraction of a commanded coordinate that is on links outside the guide.
  [[nodiscard]] double exposed_fraction(const ArmCoordinate& coordinate,
                                        double feed) const noexcept;

 private:
  /// What an uneven load does to a coordinate's joints; world frame.
  struct Sag {
    Eigen::Vector3d of_tip = Eigen::Vector3d::Zero();  ///< displacement [m]
    Eigen::Vector3d turn = Eigen::Vector3d::Zero();    ///< of all that comes after [rad]
    Eigen::Vector3d end = Eigen::Vector3d::Zero();     ///< position of the last joint [m]
  };
  Sag measure_coordinate(std::size_t k, const State& state, ArmMeasurement& out) noexcept;
  void measure_twists(const State& state, ArmMeasurement& out) noexcept;
  void measure_base(const State& state, double feed_setpoint, ArmMeasurement& out) const noexcept;

  void command_tendons(const State& state, const ArmCommand& command,
                       std::span<double> commands) noexcept;
  void command_motor(std::size_t k, const ArmCommand& command,
                     std::span<double> setpoints) const noexcept;
  void command_section(std::size_t k, const State& state, const ArmCommand& command,
                       std::span<double> setpoints) const noexcept;
  void command_joints(std::size_t k, const State& state, double feed, const ArmCommand& command,
                      std::span<double> setpoints) const noexcept;
  void command_base(const State& state, const ArmCommand& command,
                    std::span<double> setpoints) const noexcept;
  void command_turns(const State& state, std::span<const double> turns,
                     std::span<double> setpoints) const noexcept;
  [[nodiscard]] double feed_forward() const noexcept;
  [[nodiscard]] double tendon_load(std::size_t k) const noexcept;
  [[nodiscard]] double compensated(const Servo& servo, double desired, double load, double position,
                                   double velocity) const noexcept;

  std::vector<ArmCoordinate> coordinates_;
  std::vector<std::size_t> first_joint_;  // of each coordinate, in the order of the state's joints
  std::vector<double> stiffness_;         // of each coordinate: its joints in series
  ArmBaseJoint feed_, spin_;
  std::vector<Servo> servos_;
  Options options_;
  std::vector<double> joint_load_;  // of gravity, in the order of the state's joints
  Eigen::VectorXd load_;            // per coordinate: mean, weighted by the fractions
  TendonDrive tendons_;
  TendonDrive::Motion motion_;  // for the tendons
  SectionTurns turns_;
  SectionTwists twists_;
  TurnedFrames frames_;
  ArmCommand own_{0};               // of the joints
  std::vector<double> turn_rates_;  // commanded
};

}  // namespace tendril
