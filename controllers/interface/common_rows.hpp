#pragma once

// Rows of the settings and quantities that all controllers of robots of one kind have.

#include <limits>

#include "controllers/interface/controller.hpp"
#include "controllers/interface/settings.hpp"

namespace tendril::common {

inline constexpr SettingInfo kRobot =
    setting::text("robot", "", "text of the robot file; written by the decoder");
inline constexpr SettingInfo kMeasurementFaults = setting::text(
    "measurement_faults", "",
    "faults of its measurements; written from the `[[fault]]` tables of an experiment");
inline constexpr SettingInfo kSensorSeed = setting::integer(
    "sensor_seed", "0", 0, std::numeric_limits<int>::max(),
    "of the noise and the dropouts of its `[[sensor]]`s; an experiment gives its own seed");
inline constexpr SettingInfo kMeasured = setting::choice(
    "measured", "truth sensors",
    "what the controller sees: the state of the simulation, or what an estimator makes of the "
    "readings of its `[[sensor]]`s");
inline constexpr SettingInfo kGravityCompensation = setting::flag(
    "gravity_compensation", true, "setpoints compensate the gravity load of each servo");
inline constexpr SettingInfo kVelocityFeedForward = setting::flag(
    "velocity_feed_forward", true, "setpoints compensate the servos' lag behind a planned motion");

/// The tolerance has a default for each kind of robot: in this project's scenes the smallest error
/// within a second is at most 0.03 rad, 0.045 rad for soft rods. Gaits are not compensated for lag:
/// joints of snakes are up to 0.24 rad behind.
constexpr SettingInfo following_tolerance(const char* default_value) {
  return setting::number("following_tolerance", "rad", default_value, kPositive,
                         "largest `following_error` of a robot that follows its commands");
}
inline constexpr SettingInfo kFollowingTime = setting::number(
    "following_time", "s", "1", kNotNegative,
    "status 8 when `following_error` exceeds `following_tolerance` for longer than this");

inline constexpr Quantity kTarget{"target", "m", "desired tip position now, in the base frame", 3};
inline constexpr Quantity kJointMargin{"joint_margin", "rad",
                                       "smallest distance of a joint from the ends of its range"};

inline constexpr Quantity kMeasuredTip{
    "measured_tip", "m", "tip position as the controller sees it, with the faults of an experiment",
    3};

inline constexpr Quantity kFollowingError{
    "following_error", "rad",
    "largest distance of a coordinate from its command, without those that a contact may hold "
    "back, "
    "or of the tip from a target at which the command has arrived; 5 cm count as 1 rad",
    1, "max"};

}  // namespace tendril::common
