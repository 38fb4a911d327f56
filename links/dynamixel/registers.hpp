#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace tendril::dynamixel {

/// A register of a servo: `size` bytes from `address` on, the low byte first.
struct Register {
  std::string_view name;
  int address = 0;
  int size = 0;       ///< 1, 2 or 4
  double unit = 1.0;  ///< of one count, in SI
};

/// Registers of the X series that are used here. Source: [DynamixelX], the control tables.
namespace registers {
inline constexpr double kStep = 2.0 * std::numbers::pi / 4096.0;             // rad
inline constexpr double kSpeedStep = 0.229 * 2.0 * std::numbers::pi / 60.0;  // 0.229 rpm in rad/s
inline constexpr Register kModelNumber{"model_number", 0, 2};
inline constexpr Register kReturnDelay{"return_delay", 9, 1, 2e-6};  // s
inline constexpr Register kOperatingMode{"operating_mode", 11, 1};
inline constexpr Register kTorqueEnable{"torque_enable", 64, 1};
inline constexpr Register kHardwareError{"hardware_error", 70, 1};
inline constexpr Register kWatchdog{"bus_watchdog", 98, 1, 0.02};  // s
inline constexpr Register kGoalCurrent{"goal_current", 102, 2};    // unit of the model
inline constexpr Register kGoalPosition{"goal_position", 116, 4, kStep};
inline constexpr Register kPresentCurrent{"present_current", 126, 2};  // unit of the model
inline constexpr Register kPresentVelocity{"present_velocity", 128, 4, kSpeedStep};
inline constexpr Register kPresentPosition{"present_position", 132, 4, kStep};
}  // namespace registers

/// Values of `operating_mode`. Both turn as often as -256 to 256 times.
enum class OperatingMode { ExtendedPosition = 4, CurrentBasedPosition = 5 };

/// Largest goal position of these modes, in steps.
inline constexpr int kMaxGoal = 1'048'575;

/// Servos with the same control table and the same unit of current.
struct ModelFamily {
  std::string_view name;
  std::array<int, 4> model_numbers;  ///< 0: none
  double current_unit = 0.0;         ///< [A]
};

inline constexpr std::array kModelFamilies{
    ModelFamily{"xl330", {1190, 1200}, 1.0e-3},
    ModelFamily{"xc330", {1210, 1220, 1230, 1240}, 1.0e-3},
    ModelFamily{"xm430", {1020, 1030}, 2.69e-3},
    ModelFamily{"xm540", {1120, 1130}, 2.69e-3},
};

}  // namespace tendril::dynamixel
