#pragma once

namespace tendril {

/// Speed limits of a mobile robot; each > 0. Defaults: the youBot's.
struct MobileSpeedLimits {
  double platform_speed = 0.8;         ///< of the platform's origin over the floor [m/s]
  double platform_acceleration = 1.0;  ///< [m/s^2]
  double turn_speed = 1.2;             ///< of the heading [rad/s]
  double turn_acceleration = 2.0;      ///< [rad/s^2]
  double joint_speed = 1.57;           ///< of every joint of the arm [rad/s]
  double joint_acceleration = 4.0;     ///< [rad/s^2]
};

}  // namespace tendril
