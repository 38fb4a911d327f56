#pragma once

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/path/advance.hpp"
#include "tendril/path/path.hpp"

namespace tendril {

/// Least deviation of an arm's body from a path that it advances along.
struct LeastDeviation {
  /// No bends keep every point of the body nearer to the path than this: a lower bound [m].
  double distance = 0.0;
  double advance = 0.0;     ///< at which that is so [m]
  double arc_length = 0.0;  ///< of the point of the path where the body is farthest from it [m]
};

/// The largest, over the advances from 0 to `end`, of a lower bound of
///
///     min over bends  max over points i of the body  |e_i|
///
/// with e_i the distance from the path across it at the same arc length. For all weights w >= 0 of
/// sum 1,
///
///     min  max |e_i|^2  >=  min  sum w_i |e_i|^2 ,
///
/// and Lawson's algorithm finds weights for which both are nearly equal, near the bends that
/// ShapeFit finds. Limits of the bends are not heeded.
[[nodiscard]] LeastDeviation least_deviation(const ContinuumRobot& robot, const Path& path,
                                             const Advance& advance, double end);

}  // namespace tendril
