#pragma once

#include <cstdint>
#include <functional>

#include "simulation/drive/driven_robot.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Commands of a driver that was given the readings of a recording, beside the recorded ones.
struct DriveComparison {
  std::int64_t steps = 0;
  std::int64_t equal_steps = 0;  ///< all commands bit for bit
  double largest = 0.0;  ///< difference of a command, in ranges of its actuator if it has one
  std::int64_t first_step = -1;  ///< with a difference; -1: none
  std::string actuator;          ///< of the largest difference
  DriveLoop::Counts counts;
};

/// Gives the controller of the robot file the readings of the recording, step by step, as the link
/// brings them. Throws ModelError as DrivenRobot and RolloutFormatError.
/// @param seed  of the link's draws
[[nodiscard]] DriveComparison drive_by_log(
    RolloutReader& reader, const std::filesystem::path& file, const DriveOptions& options,
    std::uint64_t seed, const std::function<void(std::int64_t row, double time)>& on_progress = {});

}  // namespace tendril::simulation
