#pragma once

#include <Eigen/Core>
#include <vector>

#include "tendril/avoidance/pose_path.hpp"

namespace tendril {

/// How a path of poses is run through.
struct PoseTiming {
  double waypoint_time = 0.5;  ///< from waypoint to waypoint [s], > 0; longer where a rate asks
  double hold_time = 0.5;      ///< at the start and at each waypoint [s], >= 0
  double rate_limit = 3.0;     ///< of every bend vector [rad/s], > 0; lengths by kPoseLengthScale
};

/// [m]: a length of this size counts as 1 rad.
inline constexpr double kPoseLengthScale = 0.05;

/// A path of poses in time. Between two poses all coordinates and the feed go together, with
///
///     share = 10 t^3 - 15 t^4 + 6 t^5,   t in [0, 1]:
///
/// at every pose rates and accelerations are zero, so the arm never cuts a corner of the path. The
/// time of a leg (from waypoint to waypoint) is divided between its steps by their length; a leg
/// that would break the rate limit takes longer as a whole.
class PoseSchedule {
 public:
  PoseSchedule(const ContinuumRobot& robot, PosePath path, const PoseTiming& timing);

  struct Sample {
    double feed = 0.0, feed_rate = 0.0;  ///< [m], [m/s]
    double spin = 0.0;                   ///< [rad]
  };
  /// Pose at `time` [s] (clamped to the schedule) in smooth coordinates, and its rates.
  Sample at(double time, Eigen::Ref<Eigen::VectorXd> q,
            Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;

  [[nodiscard]] double duration() const noexcept { return duration_; }  ///< last hold included [s]
  /// Whether the hold at a waypoint ends in (before, after].
  [[nodiscard]] bool hold_ends(double before, double after) const noexcept;
  [[nodiscard]] const PosePath& path() const noexcept { return path_; }

 private:
  struct Step {
    double begin, duration;  // [s]
  };
  PosePath path_;
  std::vector<Eigen::VectorXd> q_;  // of each pose
  std::vector<Step> steps_;         // to pose i + 1
  std::vector<double> hold_ends_;   // of the waypoints, increasing [s]
  double duration_ = 0.0;
};

}  // namespace tendril
