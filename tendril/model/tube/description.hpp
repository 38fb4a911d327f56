#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/path/centerline_tree.hpp"

namespace tendril {

struct FileContents;  // readers.hpp

/// A tube file (kind = "tube"), parsed and validated: a wall of capsules, the staves, around a
/// centerline of one radius, or around the branches of a table of centerlines.
///
/// A centerline of waypoints is a polyline with rounded corners, the same way as `tendril.follow`
/// reads its path.
/// ```toml
/// kind = "tube"
/// name = "tube"
/// centerline = [[0, 0, 0.32], [0, 0, 0.54], [0.2, 0, 0.54]]  # waypoints in the tube's frame, m
/// corner_radius = 0.12    # m, of the centerline's arcs; 0 keeps the corners sharp
/// inner_radius = 0.014    # m, free radius around the centerline of every segment
/// wall_thickness = 0.003  # m, radius of a stave; the wall is two of it thick
/// staves = 12             # per ring, 6..64
/// segment_angle = 0.1745  # rad, largest turn of an arc that one segment represents
/// friction = 0.3          # sliding friction against everything
/// ```
/// A table has its radii itself:
/// ```toml
/// centerline = { file = "vessel.csv" }  # branch,x,y,z,radius
/// scale = 0.001                         # of the numbers in the table, here mm, to m
/// tolerance = 0.00025                   # m, of the inner side of the wall
/// ```
/// Required: kind, centerline, and with waypoints inner_radius. All keys:
/// docs/reference/robot_file.md.
struct TubeDescription {
  std::string name = "tube";
  std::vector<Eigen::Vector3d> centerline;  ///< at least two waypoints [m]; empty with branches
  CenterlineTree branches;                  ///< of a table; empty with waypoints
  double tolerance = 0.00025;               ///< [m], > 0; of the wall of branches
  double corner_radius = 0.0;               ///< [m], >= 0
  double inner_radius = 0.0;                ///< [m], > 0
  double wall_thickness = 0.003;            ///< [m], > 0
  int staves = 12;
  double segment_angle = 0.17453292519943295;  ///< [rad], in [0.01, pi/4]
  double friction = 0.3;                       ///< >= 0

  static constexpr const char* kKind = "tube";
  static constexpr const char* kWhat = "a tube";
  [[nodiscard]] static TubeDescription read(const FileContents& file);
};

/// Centerline of the tube as its staves represent it: the straight segments, and every arc as equal
/// chords with their ends on the arc. It deviates from the arc by at most R (1 - cos(a/2)), a being
/// the turn of one chord: 0.46 mm for R = 120 mm and 10 deg.
[[nodiscard]] std::vector<Eigen::Vector3d> tube_vertices(const TubeDescription& tube);

/// One wall element: a capsule of radius `wall_thickness` from `start` to `end` [m].
struct TubeStave {
  Eigen::Vector3d start;
  Eigen::Vector3d end;
  std::string name;  ///< segment and number in it, "4_11"; of branches name and number in it
};

/// The staves. Those of branches: branch_staves(). Around waypoints `tube.staves` for each segment
/// of tube_vertices(): a segment's staves lie on a
/// circle of radius inner_radius + wall_thickness around the segment, so a body inside has
/// inner_radius of room towards each stave and more between two of them. Neighboring segments are
/// mitred: stave k of one ends where stave k of the next begins, so the wall has no gap on the
/// outside of a bend and nothing projects into the tube on the inside. Throws ModelError where a
/// bend is too tight for that.
[[nodiscard]] std::vector<TubeStave> tube_staves(const TubeDescription& tube);

}  // namespace tendril
