#include "drive/robot_message.hpp"

#include <algorithm>
#include <limits>

namespace tendril {
namespace {
using Pose = Eigen::Matrix<double, 3, 4, Eigen::RowMajor>;
}

RobotMessage::RobotMessage(const RobotPorts& ports)
    : readings_(ports.reading_count),
      actuators_(ports.actuators.size()),
      counts_(ports.sensor_count, 0.0),
      arrived_(std::make_unique<bool[]>(ports.sensor_count)) {}

void RobotMessage::reset() noexcept { std::ranges::fill(counts_, 0.0); }

void RobotMessage::pack(std::span<const double> readings, std::span<const bool> arrived,
                        std::span<const double> drives, std::span<const double> commands,
                        const Eigen::Isometry3d* target, std::span<double> message) noexcept {
  auto next = std::ranges::copy(readings, message.begin()).out;
  next = std::ranges::copy(drives, next).out;
  for (std::size_t i = 0; i < counts_.size(); ++i) *next++ = counts_[i] += arrived[i] ? 1.0 : 0.0;
  next = std::ranges::copy(commands, next).out;
  Eigen::Map<Pose> pose(&*next);
  if (target != nullptr)
    pose = target->matrix().topRows<3>();
  else
    pose.setConstant(std::numeric_limits<double>::quiet_NaN());
}

DriveLoop::Message RobotMessage::unpack(std::span<const double> message) noexcept {
  const std::span<const double> counts = message.subspan(readings_, counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    arrived_[i] = counts[i] > counts_[i];
    counts_[i] = arrived_[i] ? counts[i] : counts_[i];
  }
  const Eigen::Map<const Pose> pose(message.last(kPose).data());
  target_.matrix().topRows<3>() = pose;
  return {.readings = message.first(readings_),
          .arrived = {arrived_.get(), counts_.size()},
          .target = pose.allFinite() ? &target_ : nullptr};
}

bool step_by_message(DriveLoop& loop, double time, RobotMessage& message,
                     std::span<const double> numbers, const Eigen::Isometry3d* target,
                     std::span<double> commands) noexcept {
  if (numbers.empty()) return loop.step(time, nullptr, commands);
  DriveLoop::Message received = message.unpack(numbers);
  if (received.target == nullptr) received.target = target;
  if (loop.state() == DriveState::Waiting)
    std::ranges::copy(message.commands(numbers), commands.begin());
  return loop.step(time, &received, commands);
}

}  // namespace tendril
