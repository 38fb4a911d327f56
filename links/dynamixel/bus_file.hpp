#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "links/dynamixel/registers.hpp"

namespace tendril::dynamixel {

/// A servo and what it drives, a `[[servo]]` table of a bus file.
///
///     value = direction * ratio * (angle of the servo - zero)
///
/// The value is that of `ctrl` of the actuator: change of a tendon's length [m], or an angle [rad].
struct ServoDescription {
  int id = 0;
  ModelFamily family;
  std::string actuator;  ///< name in the robot
  bool is_tendon = false;
  double ratio = 1.0;  ///< of a tendon the drum's radius [m/rad], of a joint 1 / gear
  int direction = 1;   ///< 1 or -1
  double zero = 0.0;   ///< angle of the servo at value 0 [rad]
  std::optional<double> current_limit;    ///< [A]; with it the mode is CurrentBasedPosition
  std::optional<double> torque_constant;  ///< [N m/A] at the horn
};

/// A bus file (docs/guide/dynamixel.md).
struct BusDescription {
  std::string port;
  int baud = 1000000;
  double watchdog = 0.1;  ///< a servo stops after such a time without a request [s]
  std::vector<ServoDescription> servos;
};

/// Throws ModelError `<file>:<line>: <object>: <key> = <value>: <what is allowed>`.
[[nodiscard]] BusDescription read_bus_file(const std::filesystem::path& file);
/// The same of its text.
[[nodiscard]] BusDescription parse_bus(std::string_view text, const std::string& file_name);

/// The text of a bus file with other zero angles, one for each servo [rad]; all else stays.
[[nodiscard]] std::string with_zeros(std::string_view text, const std::string& file_name,
                                     std::span<const double> zeros);

}  // namespace tendril::dynamixel
