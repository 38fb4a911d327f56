#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// One pose of a path.
struct PathPose {
  double waypoint = 0.0;  ///< 0: the start; k: the k-th waypoint; fractions lie between two
  std::vector<SectionState> states;  ///< one per section
  BaseState base;
};

/// A path from pose to pose. Between neighbors everything changes linearly: the bend vectors, the
/// variable lengths, feed and spin. The first pose is the start, the last one reaches a waypoint.
using PosePath = std::vector<PathPose>;

/// The pose at `fraction` in [0, 1] of the path from a to b, inside the limits.
void interpolate_pose(const ContinuumRobot& robot, SectionStates a, SectionStates b,
                      double fraction, std::span<SectionState> between) noexcept;
[[nodiscard]] inline BaseState base_between(const BaseState& a, const BaseState& b,
                                            double fraction) noexcept {
  return {.feed = a.feed + fraction * (b.feed - a.feed),
          .spin = a.spin + fraction * (b.spin - a.spin)};
}

/// The columns of a path as a table: `waypoint,theta_1,phi_1,s_1,...`, then `h` if the base has a
/// feed and `omega0` if it spins. [rad], [m]
[[nodiscard]] std::string pose_path_header(const ContinuumRobot& robot);

/// The path as a CSV table with nine digits after the point. Precondition: the poses are the
/// robot's.
[[nodiscard]] std::string pose_path_csv(const ContinuumRobot& robot, const PosePath& path);

/// Reads such a table. Lines may end in spaces, as they do in an XML attribute.
/// Throws ModelError `row 4, column s_2 = 0.2: must be ...` (rows count as lines, from 1 for the
/// header) for other columns, numbers that are not finite, states outside the robot's limits (by
/// more than the rounding), waypoints that do not increase from 0 to a whole number.
[[nodiscard]] PosePath parse_pose_path(std::string_view csv, const ContinuumRobot& robot);

}  // namespace tendril
