#pragma once

#include <string>
#include <vector>

#include "tendril/model/robot_description.hpp"

namespace tendril {

/// Lists what a model file says that cannot be meant, or that the robot's servos cannot do: one
/// line for each, such as `section 3: can hold 0.81 of its bend_limit of 1.2 rad:
/// bend_torque_limit`. None of them is an error.
/// @param gravity  in which the robot works [m/s^2]
[[nodiscard]] std::vector<std::string> plausibility(const ModelDescription& model,
                                                    double gravity = 9.81);

}  // namespace tendril
