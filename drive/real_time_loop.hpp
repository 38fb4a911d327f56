#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "drive/drive_loop.hpp"
#include "drive/robot_link.hpp"
#include "drive/target_table.hpp"

namespace tendril {

/// How a loop kept its time.
struct LoopTimes {
  long steps = 0;
  long skipped = 0;        ///< because a step before took too long
  double mean_late = 0.0;  ///< of a step against its time [s]
  double longest_late = 0.0;
  double longest_step = 0.0;  ///< time that a step took [s]
};

/// What happened in a step.
struct LoopStep {
  double time = 0.0, late = 0.0;    ///< of its begin: since the start, and against its time [s]
  double duration = 0.0;            ///< [s]
  std::span<const double> message;  ///< that came (RobotMessage); empty: none
  std::span<const double> commands;
};

struct RealTimeOptions {
  double timestep = 0.01;  ///< that of the driver [s]
  double duration = 0.0;   ///< [s]; 0: until `stop`
  const std::atomic<bool>* stop = nullptr;
  TargetTable targets = {};  ///< where the robot tells of none
  /// Called after each step, in the time of the loop.
  std::function<void(const LoopStep&)> on_step = {};
  /// Called about ten times a second, between steps.
  std::function<void(double time)> on_progress = {};
};

/// Runs a driver against a robot at a fixed rate by the system's monotonic clock: at each step
/// takes what has come, makes the step, and sends the commands. Until the first message it asks for
/// one. When it ends it lets the robot hold. It ends too when the link has failed. A step that
/// comes late is made at once; those that it took the time of are left out.
[[nodiscard]] LoopTimes run_real_time(DriveLoop& loop, RobotLink& link,
                                      const RealTimeOptions& options);

}  // namespace tendril
