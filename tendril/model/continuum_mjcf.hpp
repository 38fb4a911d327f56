#pragma once

// Read robot_mjcf.hpp first.

#include <span>
#include <string>
#include <vector>

#include "tendril/model/continuum_file.hpp"

namespace tendril {

/// Names of the elements of a continuum robot's MJCF. Sections and links are counted from 1. An
/// attach prefix stands before every one of them; the controller's plugin instance is `controller`.
namespace names {
inline constexpr const char* kBase = "base";  ///< root body, to be attached
inline constexpr const char* kCarriage =
    "carriage";  ///< body that feeds and spins (only with feed or spin)
inline constexpr const char* kFeed = "feed";              ///< slide joint and its actuator
inline constexpr const char* kSpin = "spin";              ///< hinge joint and its actuator
inline constexpr const char* kTip = "tip";                ///< site at the tip, z along the backbone
inline constexpr const char* kController = "controller";  ///< plugin instance
inline constexpr const char* kRobot = "robot";      ///< tuple that names the base: this is a robot
inline constexpr const char* kPayload = "payload";  ///< body and geom at the tip
inline constexpr const char* kSuction = "suction";  ///< body, geom and actuator at the tip
/// Body and geom of the palm; tendon and actuator of the opening.
inline constexpr const char* kGripper = "gripper";
inline constexpr const char* kGripperOpening = "gripper_opening";  ///< sensor
inline constexpr const char* kGripperForce = "gripper_force";      ///< sensor
inline constexpr const char* kGrasp = "grasp";  ///< site in the middle between the fingers
inline constexpr const char* kRoot = "root";    ///< geom of the body's part before the first joint
/// "s1"
[[nodiscard]] std::string section(int i);
/// Body "s1_l1", at the joints of the link, and its geom: from there to the next joints.
[[nodiscard]] std::string link(int i, int j);
/// Joint "s1_l1_x", axis 'x' or 'y'; with link servos also the actuator. A link whose bend share is
/// 0 has no hinges.
[[nodiscard]] std::string hinge(int i, int j, char axis);
/// Joint "s1_l1_twist" of a section that is not rigid in torsion.
[[nodiscard]] std::string twist(int i, int j);
/// Joint "s1_l1_z" of an extensible section.
[[nodiscard]] std::string slide(int i, int j);
/// Tendon and actuator "s1_x", "s1_y" (section servos).
[[nodiscard]] std::string bend(int i, char axis);
/// Tendon and actuator "s1_z" of an extensible section.
[[nodiscard]] std::string length(int i);
/// Sensors "T_length" and "T_tension" of the tendon T of the file.
[[nodiscard]] std::string tendon_length(const std::string& tendon);
[[nodiscard]] std::string tendon_tension(const std::string& tendon);
/// Tendon "T_friction_1": friction of the tendon T in section i.
[[nodiscard]] std::string tendon_friction(const std::string& tendon, int i);
/// Sensors "C_pressure" and "C_volume" of the chamber C of the file.
[[nodiscard]] std::string chamber_pressure(const std::string& chamber);
[[nodiscard]] std::string chamber_volume(const std::string& chamber);
inline constexpr const char* kStart = "start";  ///< keyframe of the file's start pose
/// Body, geom and slide "gripper_finger_1" or 2.
[[nodiscard]] std::string finger(int i);
/// Site "s1_end", z along the backbone.
[[nodiscard]] std::string section_end(int i);
}  // namespace names

/// How one section is divided into links; computed from the sub-section weights.
struct LinkLayout {
  std::vector<double> length;  ///< fraction of the section's length, sum 1
  std::vector<double>
      bend_fraction;  ///< fraction of the section's bend angle at each link's joint, sum 1
};

/// Every sub-section gets one link; each further link goes to the sub-section whose links are the
/// longest (the first of equals). Within a sub-section the links are equal.
/// @param links  at least the number of sub-sections; else ModelError
[[nodiscard]] LinkLayout link_layout(const Section& section, int links);
/// Of a section of the robot, from 0; the links of one whose stiffness tapers are equal.
[[nodiscard]] LinkLayout link_layout(const ContinuumDescription& robot, std::size_t section);

/// The MJCF document a robot stands for: sections as chains of mid-jointed links with two hinges
/// each in alternating axis order, servos, telescopic slides, feed under a carriage, excludes,
/// explicit inertias, the controller's plugin instance with its sensors, and the recommended
/// options. Complete: it loads alone and attaches by its body `base`. The same description gives
/// the same text.
///
/// Sign convention: the sum of a section's y hinges is u = theta cos(phi), the sum of its x hinges
/// is -v = -theta sin(phi). Rest length of a section in the model: SC + SD/2; the slides of a
/// section sum to s - SD/2.
///
/// Actuators and their ctrl, limits included:
///
///     feed            h [m]                in [0, feed limit]
///     spin            omega0 [rad]         in [-4 pi, 4 pi]
///     s1_x, s1_y      -v, u [rad]          section servos, |ctrl| <= max(1.5 thetaMax, 1)
///     s1_l1_x, _y     the link's share of the same; link servos
///     s1_z            s - SD/2 [m]         in [-SD/2, SD/2]
///
///     s1_x, s1_y      their moments [N m]  with bend_command "moment", |ctrl| <= bend_torque_limit
///     s1_z            force [N]            with length_command "force", |ctrl| <=
///     length_force_limit
///
///     T               change of length [m], or tension [N] in [0, max_tension]; tendon T
///     C               pressure [Pa] in [min_pressure, max_pressure]; chamber C
///
///     suction         part of its largest force, in [0, 1]
///     gripper         opening [m], in [0, opening]
///
/// Their order is feed, spin, then section by section x, y, z (link servos: x, y of each link, then
/// z), then the tendons and the chambers as in the file, then the suction or the gripper. Sections
/// with `bend_servo` false have no servos x, y, those with `length_servo` false no servo z.
///
/// A tendon is a fixed tendon over the hinges that it runs past; its length is 0 in the straight
/// arm. Its actuator only pulls; with c its command and l its length
///
///     tension = clip(k (l - c) + pretension + k damping_time l', 0, max_tension)   told a length
///     tension = clip(c, 0, max_tension)                                            told a tension
///
/// Of a tendon with `friction_coefficient` there is one more fixed tendon for each section that it
/// runs through, whose length is how far it slides there. Its friction is next to nothing in the
/// model; the controller's plugin sets it in every step.
///
/// A tendon that turns about the backbone is a spatial tendon through sites T_1, T_2, ...: at the
/// base, a quarter of a link before and after every joint, and at its end. Its length in the
/// straight arm is in the actuator's bias, so that the command is the change of length; the sensor
/// T_length measures all of it.
///
/// A chamber is a fixed tendon too, over the hinges and slides of its sections. Its actuator's gear
/// is the chamber's area: its length is the change of volume, its force the pressure p, which
/// follows the command with p' = (c - p) / time_constant, and it lengthens the tendon with the
/// force p area. A McKibben muscle pulls with p area (3 / tan^2 - 1 / sin^2) (1 - e / e_0), e its
/// contraction in units of its length and e_0 the one without load: linear between the two ends of
/// the usual law.
///
/// The gripper's fingers are boxes on two slides, whose sum is the fixed tendon `gripper` and which
/// an equality keeps equal. Its servo F = clip(gain (ctrl - opening), -force, force) is the force
/// on each finger. The damping of the slides, outside that limit, makes `speed` the opening's at
/// `force`.
///
/// In 0 g a servo settles exactly on its ctrl: its gain contains the stiffness of the section,
/// `F = (kp + EI/L) ctrl - kp q - kv q'`. One half of kv is in the actuator, the other is damping
/// of the tendon (link servos: of the hinge), which the force limit does not touch: `biasprm = 0
/// -kp -kv/2`.
///
/// With a torsional stiffness every link with hinges has one more about its axis, which nothing
/// drives, alternately before and after the other two.
///
/// `discrete` integrates a spring K by backward Euler, which damps it by timestep K. The joints
/// have as much less damping than `damping_time` K, at least none: `numerical_damping_time`.
///
/// A planar robot has the y hinges alone. A guide is two frictionless boxes for every axis of
/// bending, `guide_x+`, `guide_x-` (`guide_y+`, `guide_y-`), fixed to the base. With a start pose
/// there is a keyframe `start`; with `bends` in it, the keyframe has these commands and the feed's.
///
/// Source: docs/derivations.md, "Links for a section". Tested by: continuum_model_test,
/// arc_fidelity_test.
[[nodiscard]] std::string continuum_mjcf(const ContinuumDescription& robot,
                                         std::span<const std::string> sensors = {});

/// Iterations of the engine's solver that the model needs.
[[nodiscard]] int solver_iterations(const ContinuumDescription& robot);

}  // namespace tendril
