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
  std::size_t first_index = 0;   ///< of the first difference in the first step that has one
  double first_recorded = 0.0, first_command = 0.0;
  DriveLoop::Counts counts;
};

/// Gives the controller of the robot file the readings of the recording, step by step, as the link
/// brings them; of the log of a robot what the driver was told then, whose options hold. Throws
/// ModelError as DrivenRobot, and for options that the log of a robot does not allow, and
/// RolloutFormatError.
/// @param seed  of the link's draws
[[nodiscard]] DriveComparison drive_by_log(
    RolloutReader& reader, const std::filesystem::path& file, const DriveOptions& options,
    std::uint64_t seed, const std::function<void(std::int64_t row, double time)>& on_progress = {});

/// Tells whether a recording is the log of a robot that a driver drove (DriveRecorder).
[[nodiscard]] bool is_drive_log(const RolloutReader& reader);

/// Makes the steps of such a log again, with a driver of the robot file in it. Throws ModelError
/// and RolloutFormatError.
[[nodiscard]] DriveComparison repeat_drive(
    RolloutReader& reader,
    const std::function<void(std::int64_t row, double time)>& on_progress = {});

}  // namespace tendril::simulation
