#pragma once

#include <Eigen/Geometry>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "drive/drive_loop.hpp"

namespace tendril {

/// What a robot sends in a step, as numbers: its readings, for each sensor how many new ones there
/// have been, the commands in force, and the pose of the target if it knows one. A message that is
/// lost takes no new reading with it: the next one has it too.
class RobotMessage {
 public:
  explicit RobotMessage(const RobotPorts& ports);

  [[nodiscard]] std::size_t size() const noexcept {
    return readings_ + counts_.size() + actuators_ + kPose;
  }
  /// Writes a message; on the side of the robot.
  /// @param drives  the last of the readings, which are not of sensors
  void pack(std::span<const double> readings, std::span<const bool> arrived,
            std::span<const double> drives, std::span<const double> commands,
            const Eigen::Isometry3d* target, std::span<double> message) noexcept;
  /// Reads one, on the other side; valid until the message changes.
  [[nodiscard]] DriveLoop::Message unpack(std::span<const double> message) noexcept;
  /// The commands in force in a message.
  [[nodiscard]] std::span<const double> commands(std::span<const double> message) const noexcept {
    return message.subspan(readings_ + counts_.size(), actuators_);
  }
  void reset() noexcept;

 private:
  static constexpr std::size_t kPose = 12;  ///< rows of a 3 x 4 matrix; NaN: none

  std::size_t readings_, actuators_;
  std::vector<double> counts_;
  std::unique_ptr<bool[]> arrived_;
  Eigen::Isometry3d target_ = Eigen::Isometry3d::Identity();
};

/// Makes a step of a loop by what has come (DriveLoop::step). From the first message on the
/// commands in force are those that it tells.
/// @param numbers  of a message; empty: none has come
/// @param target   if the message tells of none; null: none
bool step_by_message(DriveLoop& loop, double time, RobotMessage& message,
                     std::span<const double> numbers, const Eigen::Isometry3d* target,
                     std::span<double> commands) noexcept;

}  // namespace tendril
