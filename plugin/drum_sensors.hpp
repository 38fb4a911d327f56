#pragma once

#include <mujoco/mujoco.h>

#include <string_view>
#include <vector>

#include "plugin/robot_names.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// Encoders at the drums of tendons: how much of a tendon is paid out, more than in the straight
/// arm at the pretension. Between drum and body the tendon is a spring k with a damper, so with its
/// length l, the pretension p and the tension T
///
///     drum = l + damping_time l' - (T - p) / k.
///
/// That is the command c of the actuator. A drum whose motor is at its largest tension is dragged
/// to where the tendon has this tension, and a weakened one gives way. A slack tendon leaves its
/// drum alone: there T is what the formula of the actuator has without its lower limit, below 0.
/// Tested by: sensor_readings_test.
class DrumSensors {
 public:
  /// Throws ModelError if an element is missing in a compiled model.
  DrumSensors(const mjModel* m, const RobotNames& names, const RobotDescription& robot);
  /// Writes the sensors; after the commands of the step.
  void write(const mjModel* m, mjData* d) const noexcept;

 private:
  struct Drum {
    int address;  // in sensordata
    int actuator, tendon;
    double stiffness, pretension, damping_time;
  };
  std::vector<Drum> drums_;
};

/// Whether a robot has such a sensor, by its name without prefix.
[[nodiscard]] bool is_drum_sensor(const RobotDescription& robot, std::string_view name);

}  // namespace tendril
