#pragma once

#include <cstdint>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// A class of environments of the clutter benchmark.
struct ClutterClass {
  int sections = 6;          ///< >= 1
  int spheres = 10;          ///< >= 0
  double body_radius = 0.0;  ///< [m]
};

/// One problem: an arm among spheres and a target that a random collision-free pose of it meets.
struct ClutterProblem {
  Obstacles obstacles;
  TipTarget target;                   ///< position and direction
  std::vector<SectionState> witness;  ///< the pose that the target was taken from
};

/// The arm of the benchmark: sections of 0.15 to 0.55 m that bend by up to 180 degrees.
[[nodiscard]] ContinuumRobot clutter_robot(int sections);

/// Problem number `index` of a class; the same on every machine. Spheres of radius 0.1 to 0.3 m
/// with centers uniform in a sphere of radius 1.2 m about (0, 0, 0.8) m, none nearer to the base
/// than 0.2 m; the witness is drawn until its distance from the spheres is at least the body
/// radius.
[[nodiscard]] ClutterProblem clutter_problem(const ContinuumRobot& robot, const ClutterClass& kind,
                                             std::uint64_t index);

}  // namespace tendril
