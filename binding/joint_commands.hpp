#pragma once

#include <string>

#include "controllers/interface/controller.hpp"

namespace tendril {

/// Refuses a controller that commands other than what the joints take.
/// @param key  of the robot file, that chooses between servos and motors
void require_joint_commands(const std::string& controller, const char* key, bool has_motors,
                            CommandKind commands);

}  // namespace tendril
