#include "controllers/arm/pose_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {

PoseSchedule::PoseSchedule(const ContinuumRobot& robot, PosePath path, const PoseTiming& timing)
    : path_(std::move(path)) {
  for (const PathPose& pose : path_) {
    q_.emplace_back(Eigen::VectorXd::Zero(robot.coordinate_count()));
    to_coordinates(robot, pose.states, q_.back());
  }
  const auto length = [&](std::size_t i) {
    const BaseState &a = path_[i].base, &b = path_[i + 1].base;
    return std::max({largest_change(robot, q_[i + 1], q_[i], kPoseLengthScale),
                     std::abs(b.feed - a.feed) / kPoseLengthScale, std::abs(b.spin - a.spin)});
  };
  double time = timing.hold_time;
  for (std::size_t first = 0; first + 1 < path_.size();) {
    // One segment: the steps to the next waypoint.
    std::size_t last = first;
    double whole = 0.0;
    do {
      whole += length(last++);
    } while (path_[last].waypoint != std::floor(path_[last].waypoint));
    const double segment_time =
        std::max(timing.waypoint_time, kSmoothPeakRate * whole / timing.rate_limit);
    for (std::size_t i = first; i < last; ++i) {
      const double fraction =
          whole > 0.0 ? length(i) / whole : 1.0 / static_cast<double>(last - first);
      steps_.push_back({time, segment_time * fraction});
      time += steps_.back().duration;
    }
    time += timing.hold_time;
    hold_ends_.push_back(time);
    first = last;
  }
  duration_ = time;
}

PoseSchedule::Sample PoseSchedule::at(double time, Eigen::Ref<Eigen::VectorXd> q,
                                      Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  const auto next =
      std::upper_bound(steps_.begin(), steps_.end(), time,
                       [](double value, const Step& step) { return value < step.begin; });
  const std::size_t i =
      next == steps_.begin() ? 0 : static_cast<std::size_t>(next - steps_.begin()) - 1;
  const Step& step = steps_[i];
  SmoothStep smooth;
  double frequency = 0.0;  // [1/s]
  if (step.duration > 0.0) {
    frequency = 1.0 / step.duration;
    smooth = smooth_step((time - step.begin) * frequency);
  } else if (time >= step.begin) {
    smooth.value = 1.0;
  }
  q.noalias() = q_[i] + smooth.value * (q_[i + 1] - q_[i]);
  q_rate.noalias() = (smooth.rate * frequency) * (q_[i + 1] - q_[i]);
  const BaseState &a = path_[i].base, &b = path_[i + 1].base;
  return {.feed = a.feed + smooth.value * (b.feed - a.feed),
          .feed_rate = smooth.rate * frequency * (b.feed - a.feed),
          .spin = a.spin + smooth.value * (b.spin - a.spin)};
}

bool PoseSchedule::hold_ends(double before, double after) const noexcept {
  const auto next = std::upper_bound(hold_ends_.begin(), hold_ends_.end(), before);
  return next != hold_ends_.end() && *next <= after;
}

}  // namespace tendril
