#pragma once

#include <string>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// Names the first number of a state that is outside its limits by more than `tolerance` (rad or
/// m), with its value and what is allowed: `section 2: theta = 1.2 rad, must be in [0, 0.4] at s =
/// 0.01 m of 0.03 m`. Empty: none is. The feed of the base counts, directions do not.
///
/// @param states  one state per section, finite
/// Tested by: limit_violation_test.
[[nodiscard]] std::string limit_violation(const ContinuumRobot& robot, SectionStates states,
                                          const BaseState& base = {}, double tolerance = 1e-9);

}  // namespace tendril
