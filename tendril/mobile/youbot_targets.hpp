#pragma once

#include <array>
#include <cstdint>

#include "tendril/mobile/result.hpp"

// The targets of the youBot's experiments, for tables, tests and scenes.
namespace tendril {

/// A tool pose as the source prints them: position [m], angles [deg] of `tool_orientation`.
struct ListedToolTarget {
  double x, y, z;
  double roll_deg, pitch_deg, yaw_deg;
};

/// Twenty targets: the first two are the examples of [Mobile]; its other eighteen are not
/// published, these replace them.
[[nodiscard]] const std::array<ListedToolTarget, 20>& listed_youbot_targets() noexcept;

[[nodiscard]] ToolTarget tool_target(const ListedToolTarget& listed) noexcept;

/// Joints that every solve of the experiments starts from, the platform at the origin [rad].
[[nodiscard]] const std::array<double, 5>& youbot_start_joints() noexcept;

/// Target number `index` of the random reachable ones: the tool pose of a random pose, the platform
/// within 1 m of the origin in x and y at any heading, every joint inside its limits by 0.02 rad,
/// the tool 0.03 m or more over the floor. The same on every machine.
[[nodiscard]] ToolTarget random_youbot_target(const MobileRobot& robot, std::uint64_t seed,
                                              std::uint64_t index) noexcept;

}  // namespace tendril
