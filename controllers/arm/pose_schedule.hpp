#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/avoidance/pose_path.hpp"

namespace tendril {

/// Timing of a path of poses.
struct PoseTiming {
  double waypoint_time = 0.5;  ///< between waypoints [s], > 0; longer to keep `rate_limit`
  double hold_time = 0.5;      ///< at the start and at each waypoint [s], >= 0
  double rate_limit = 3.0;     ///< of every bend vector [rad/s], > 0; lengths by kPoseLengthScale
};

/// [m]: a length of this size counts as 1 rad.
inline constexpr double kPoseLengthScale = 0.05;

/// Time parametrization of a path of poses. Between two poses a and b all coordinates and the feed
/// are interpolated linearly by
///
///     sigma(t) = 10 t^3 - 15 t^4 + 6 t^5,   t in [0, 1].
///
/// Rates and accelerations are zero at every pose, so the arm does not cut the corners of the path.
/// The duration of a segment (from waypoint to waypoint) is divided among its steps in proportion
/// to their length. If a segment would exceed the rate limit, its duration is increased.
class PoseSchedule {
 public:
  PoseSchedule(const ContinuumRobot& robot, PosePath path, const PoseTiming& timing);

  struct Sample {
    double feed = 0.0, feed_rate = 0.0;  ///< [m], [m/s]
    double spin = 0.0;                   ///< [rad]
  };
  /// Pose at `time` [s] (clamped to the schedule) in smooth coordinates, and its rates [1/s].
  Sample at(double time, Eigen::Ref<Eigen::VectorXd> q,
            Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;

  [[nodiscard]] double duration() const noexcept { return duration_; }  ///< last hold included [s]
  /// Returns whether the hold at a waypoint ends in (before, after].
  [[nodiscard]] bool hold_ends(double before, double after) const noexcept;
  [[nodiscard]] const PosePath& path() const noexcept { return path_; }

  struct Step {
    double begin, duration;  ///< [s]
  };
  /// From each pose to the next.
  [[nodiscard]] std::span<const Step> steps() const noexcept { return steps_; }
  /// Smooth coordinates of each pose.
  [[nodiscard]] std::span<const Eigen::VectorXd> coordinates() const noexcept { return q_; }

 private:
  PosePath path_;
  std::vector<Eigen::VectorXd> q_;  // of each pose
  std::vector<Step> steps_;         // to pose i + 1
  std::vector<double> hold_ends_;   // of the waypoints, increasing [s]
  double duration_ = 0.0;
};

}  // namespace tendril
