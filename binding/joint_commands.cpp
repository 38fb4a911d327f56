#include "binding/joint_commands.hpp"

#include "tendril/model_error.hpp"

namespace tendril {

void require_joint_commands(const std::string& controller, const char* key, bool has_motors,
                            CommandKind commands) {
  const bool torques = commands != CommandKind::Setpoints;
  if (torques == has_motors) return;
  const auto word = [](bool motors) { return motors ? "\"torque\"" : "\"angle\""; };
  throw ModelError(std::string("robot: ") + key + " = " + word(has_motors) + ": must be " +
                   word(torques) + ": " + controller + " commands " +
                   (torques ? "torques" : "setpoints"));
}

}  // namespace tendril
