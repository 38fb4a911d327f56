#pragma once

#include <span>
#include <string>

#include "tendril/estimation/joint_observations.hpp"
#include "tendril/model/sensor.hpp"

namespace tendril {

/// What an estimator makes of the `[[sensor]]`s of a robot that measure these joints. Of two
/// encoders of a joint the last counts.
/// @param timestep  of the simulation [s]
[[nodiscard]] JointObservations joint_observations(std::span<const RobotSensor> sensors,
                                                   std::span<const std::string> joints,
                                                   double timestep);

}  // namespace tendril
