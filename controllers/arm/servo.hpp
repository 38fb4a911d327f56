#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tendril {

/// A position servo as simulated: with setpoint c, position q and velocity q'
///
///     F = gain c + offset - stiffness q - damping q',   within the force limits
///
/// where gain = stiffness + the passive stiffness of joints and tendon, so that the position
/// settles at the setpoint. Source: docs/theory/control.md, "Servo law".
struct Servo {
  double gain = 0.0;             ///< [N m/rad] or [N/m]
  double stiffness = 0.0;        ///< kp, the same units
  double damping = 0.0;          ///< kv, inside the force limits
  double passive_damping = 0.0;  ///< of joints and tendon, outside them
  double offset = 0.0;           ///< what a body bent by nature needs to be straight [N m]
  double min_force = -std::numeric_limits<double>::infinity();
  double max_force = std::numeric_limits<double>::infinity();

  /// Setpoints keep the force within this fraction of its limits: a saturated servo is integrated
  /// without its own damping and oscillates between its limits.
  static constexpr double kFractionOfLimit = 0.98;

  /// Returns whether it can be driven.
  [[nodiscard]] bool works() const noexcept { return gain > 0.0 && std::isfinite(gain); }
  /// T_v: time by which a steady motion lags behind the setpoint [s].
  [[nodiscard]] double lag() const noexcept { return (passive_damping + damping) / gain; }
  [[nodiscard]] double force(double setpoint, double position, double velocity) const noexcept {
    const double force = gain * setpoint + -stiffness * position + -damping * velocity + offset;
    return std::clamp(force, min_force, max_force);
  }
  /// The setpoint for which the joint is at `desired` and moves at `rate` under `load`; `desired`
  /// alone for a servo that cannot be driven.
  [[nodiscard]] double setpoint(double desired, double rate, double load) const noexcept {
    return works() ? desired + lag() * rate - load / gain : desired;
  }
  /// The setpoint nearest to `desired` for which the servo remains within its force range.
  [[nodiscard]] double unsaturated(double desired, double position,
                                   double velocity) const noexcept {
    if (!(max_force > min_force) || !std::isfinite(max_force)) return desired;
    const double passive = -stiffness * position + -damping * velocity + offset;
    const double low = (kFractionOfLimit * min_force - passive) / gain;
    const double high = (kFractionOfLimit * max_force - passive) / gain;
    return std::clamp(desired, low, high);
  }
};

/// State of a joint of the simulated chain in one step; world frame, SI units.
struct JointState {
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();
  Eigen::Vector3d anchor = Eigen::Vector3d::Zero();
  Eigen::Vector3d center_of_mass = Eigen::Vector3d::Zero();  ///< of all bodies that the joint moves
  double position = 0.0, velocity = 0.0;
};

/// Torque [N m] or force [N] along the axis of a joint due to gravity on the bodies that it moves.
/// @param mass  of all these bodies [kg]
[[nodiscard]] inline double gravity_load(const JointState& joint, double mass,
                                         const Eigen::Vector3d& gravity, bool is_slide) noexcept {
  return is_slide ? mass * joint.axis.dot(gravity)
                  : mass * joint.axis.dot((joint.center_of_mass - joint.anchor).cross(gravity));
}

}  // namespace tendril
