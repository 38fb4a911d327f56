#pragma once

#include <Eigen/Core>
#include <span>
#include <string_view>

namespace tendril {

/// Checks the points of a curve [m]: two or more, finite, neighbors apart from each other. Throws
/// ModelError naming the point, for instance `path: waypoint 2: (0, 0, 0) m, must lie apart from
/// waypoint 1`.
/// @param curve  what has them, `path`
/// @param name   what one of them is called, `waypoint`
void check_curve_points(std::span<const Eigen::Vector3d> points, std::string_view curve,
                        std::string_view name = "point");

}  // namespace tendril
