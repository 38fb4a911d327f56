#pragma once

#include <utility>
#include <vector>

namespace tendril {

class Fields;
struct ContinuumDescription;

/// The keyframe `start`.
struct StartPose {
  double feed = 0.0;  ///< [m], in [0, feed limit]
  /// Curvature [1/m] (positive: towards +x) and length [m] of arcs in the x-z plane, from the end
  /// of the guide or the base on; straight past them.
  std::vector<std::pair<double, double>> arcs;
  /// Commanded bend of each section in the x-z plane (positive: towards +x) [rad]; empty: the
  /// keyframe leaves the commands at 0.
  std::vector<double> bends;
  /// Variable length of each section [m]; empty: half of its range.
  std::vector<double> variable_lengths;

  /// Heading of the arcs at arc length s [rad]; 0 before them, constant past them.
  [[nodiscard]] double heading_at(double s) const noexcept;
};

/// Reads the table [start] of an arm whose base and sections are read.
[[nodiscard]] StartPose read_start(const Fields& fields, const ContinuumDescription& robot);

}  // namespace tendril
