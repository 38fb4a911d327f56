#pragma once

#include <cstdint>
#include <span>

#include "tendril/statuses.hpp"

namespace tendril {

/// What a controller reports about its task. `controller_statuses` has the meanings.
enum class ControllerStatus : std::uint8_t {
  Working = 0,
  Finished = 1,
  NotReached = 2,
  Jammed = 3,
  InvalidTarget = 4,
  Fault = 5,
  TargetBehind = 6,
  PathTooTight = 7,
  NotFollowing = 8,  ///< found by the plugin
  ServoLost = 9,     ///< found by the plugin
  NoProgress = 10,
  Blocked = 11,
  NoContact = 12,
  Swinging = 13,  ///< found by the plugin
};

inline constexpr int kStatusCount = 14;

/// Returns whether a controller reports that nothing is wrong.
[[nodiscard]] constexpr bool is_well(ControllerStatus status) noexcept {
  return status == ControllerStatus::Working || status == ControllerStatus::Finished;
}

/// Rows of the statuses, by number.
[[nodiscard]] std::span<const StatusInfo, kStatusCount> controller_statuses() noexcept;

/// "working", "target not reached", "controller fault" ...
[[nodiscard]] const char* to_string(ControllerStatus status) noexcept;

}  // namespace tendril
