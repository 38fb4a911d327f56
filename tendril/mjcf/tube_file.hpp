#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tendril {

/// A tube file (kind = "tube"), parsed and validated: a bent tube as rings of capsule staves round a centreline.
///
/// The centreline is a polyline with rounded corners, the same way as `tendril.follow` reads its path.
/// ```toml
/// kind = "tube"
/// name = "tube"
/// centreline = [[0, 0, 0.32], [0, 0, 0.54], [0.2, 0, 0.54]]   # waypoints in the tube's own frame, m
/// corner_radius = 0.12    # m; 0 keeps the corners sharp
/// inner_radius = 0.014    # m
/// wall_thickness = 0.003  # m, the staves' radius... (diameter is twice)
/// staves = 12             # per ring
/// segment_angle = 0.1745  # rad, longest arc piece that one segment stands for
/// friction = 0.3
/// ```
struct TubeDescription {
  std::string name = "tube";
  std::vector<Eigen::Vector3d> centreline;
  double corner_radius = 0.0;
  double inner_radius = 0.0;
  double wall_thickness = 0.003;
  int staves = 12;
  double segment_angle = 0.17453292519943295;
  double friction = 0.3;
};

[[nodiscard]] TubeDescription parse_tube(std::string_view toml, const std::string& file_name);

/// MJCF with one body `tube` that holds the staves (`contype=2 conaffinity=1 priority=1`, solref "0.004 1", solimp "0.95 0.99 0.0005").
[[nodiscard]] std::string tube_mjcf(const TubeDescription& tube);

}  // namespace tendril
