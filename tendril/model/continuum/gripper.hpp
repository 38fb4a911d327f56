#pragma once

#include <string>

#include "tendril/model/continuum/part.hpp"

namespace tendril {

namespace names {
/// Body and geom of the palm; tendon and actuator of the opening.
inline constexpr const char* kGripper = "gripper";
inline constexpr const char* kGripperOpening = "gripper_opening";  ///< sensor
inline constexpr const char* kGripperForce = "gripper_force";      ///< sensor
inline constexpr const char* kGrasp = "grasp";  ///< site in the middle between the fingers
/// Body, geom and slide "gripper_finger_1" or 2.
[[nodiscard]] std::string finger(int i);
}  // namespace names

/// Two fingers past the tip, which open along its x axis turned by `angle`; the names are the
/// keys of the table [gripper].
///
/// The palm is a box from the tip to the fingers. These are boxes on two slides, whose sum is the
/// fixed tendon `gripper` and which an equality keeps equal. The command of the servo
/// F = clip(gain (ctrl - opening), -force, force) is the opening [m]; F is the force on each
/// finger. The damping of the slides, outside that limit, makes `speed` the opening's at `force`.
struct Gripper final : ArmPart {
  double opening = 0.0;             ///< largest distance between the fingers [m], > 0
  double force = 10.0;              ///< largest one with which each finger presses [N], > 0
  double speed = 0.1;               ///< of the opening at that force [m/s], > 0
  double gain = 2.0e4;              ///< of the opening's servo [N/m], > 0
  double finger_length = 0.04;      ///< along the tip's axis [m], > 0
  double finger_width = 0.012;      ///< of the faces that hold [m], > 0
  double finger_thickness = 0.005;  ///< [m], > 0
  double mass = 0.05;               ///< of all of it [kg], > 0
  double friction = 0.8;            ///< of the fingers, on whatever they touch, > 0
  double angle = 0.0;               ///< about the tip's axis, from x towards y [rad]

  void write(ArmDocument& arm) const override;
  [[nodiscard]] PartLoad load(double tip_radius) const override;
  [[nodiscard]] bool has_joints() const override { return true; }
  [[nodiscard]] bool has_flat_faces() const override { return true; }

  /// Returns the mass of the body that carries the fingers; below, of a finger [kg].
  [[nodiscard]] double palm_mass() const { return 0.6 * mass; }
  [[nodiscard]] double finger_mass() const { return 0.2 * mass; }
  /// The palm's, from the tip to where the fingers begin [m]: it covers the round end of the body.
  [[nodiscard]] static double palm_height(double tip_radius) { return 1.25 * tip_radius; }
};

}  // namespace tendril
