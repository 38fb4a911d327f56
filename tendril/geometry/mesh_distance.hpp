#pragma once

#include <array>
#include <span>

#include "tendril/geometry/signed_distance.hpp"

namespace tendril {

/// Solid bounded by triangles, in its own frame. Its distance is exact: the nearest triangle is
/// found in a bounding volume hierarchy (Eigen's KdBVH); the sign is that of the angle-weighted
/// pseudonormal of the nearest face, edge or corner. Source: [Pseudonormal]; nearest point of a
/// triangle: [Ericson] 5.1.5. Tested by: signed_distance_test.
///
/// The triangles (indices of vertices, counterclockwise as viewed from outside) must bound a solid:
/// every edge belongs to two triangles that run through it in opposite senses, no triangle is
/// without area, and the volume is positive. Several pieces and hollows are allowed. Throws
/// ModelError that names the triangle or edge otherwise. `at` allocates nothing.
[[nodiscard]] Shape mesh(std::span<const Eigen::Vector3d> vertices,
                         std::span<const std::array<int, 3>> triangles);

}  // namespace tendril
