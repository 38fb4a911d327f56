#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tendril {

/// A branch of a vessel or duct: points of its centerline, and the radius of the lumen at each.
/// Between two points both are linear, so the lumen is what a ball of that radius sweeps.
struct CenterlineBranch {
  std::string name;
  std::vector<Eigen::Vector3d> points;  ///< two at least, neighbors apart [m]
  std::vector<double> radii;            ///< one for each point, > 0 [m]
};

/// The branches in the order of their file. A branch joins another where one of its ends lies in
/// the lumen of the other.
using CenterlineTree = std::vector<CenterlineBranch>;

/// Reads the text of a table with the columns `branch,x,y,z,radius` in any order; the rows of a
/// branch follow one another. A point that repeats the one before is left out.
/// @param scale  of the numbers in the table to meters, > 0
/// Throws ModelError `row 7, column x: "0.1o": must be ...`; rows count as lines, from 1 for the
/// header.
[[nodiscard]] CenterlineTree parse_centerlines(std::string_view csv, double scale = 1.0);

/// Radius and signed distance of what a ball sweeps between two points.
struct RoundCone {
  Eigen::Vector3d start, end;       ///< [m]
  double start_radius, end_radius;  ///< [m]

  /// Distance of a point from the surface, negative inside [m].
  [[nodiscard]] double distance(const Eigen::Vector3d& p) const noexcept;
};

[[nodiscard]] std::vector<RoundCone> round_cones(const CenterlineBranch& branch);

/// Distance of a point from the nearest of these, negative inside; infinite without any [m].
[[nodiscard]] double distance(const std::vector<RoundCone>& cones,
                              const Eigen::Vector3d& p) noexcept;

/// The shortest way along the centerlines from the first point of the first branch to the end of a
/// branch, or to its point nearest to `target`. Where it turns from one branch into another it is
/// rounded: each point is the mean of the way within the radius of the lumen there. Throws
/// ModelError for an unknown branch, and for one that is not connected with the first.
[[nodiscard]] std::vector<Eigen::Vector3d> route(const CenterlineTree& tree,
                                                 std::string_view branch,
                                                 const std::optional<Eigen::Vector3d>& target = {});

}  // namespace tendril
