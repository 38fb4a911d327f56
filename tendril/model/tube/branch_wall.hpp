#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tendril/model/tube/description.hpp"

namespace tendril {

/// Staves around the branches of a tube.
///
/// The lumen is what balls sweep along the centerlines of all branches. The axes of the staves run
/// along each branch on the surface at `wall_thickness` from the lumen, and end where they would
/// enter the lumen of another branch: so the wall of one branch is open where another enters, and
/// closed between them. At an end that lies in the lumen of another branch, the wall continues over
/// the ball there, as far as no lumen is in its way; the other ends are open.
///
/// Staves touch one another, so no body gets between them. The wall stands inside no lumen by more
/// than `tolerance`, and its grooves are at most as deep. Where two branches diverge, the edge
/// between them is as blunt as a stave is thick.
///
/// Throws ModelError where lumens cross, or come nearer to one another than two staves are thick,
/// without one ending in the other; for a radius below `tolerance`; and for more than 50000 staves.
/// Held by: branch_wall_test.
[[nodiscard]] std::vector<TubeStave> branch_staves(const TubeDescription& tube);

/// The surface of the lumen of all branches, for drawing: triangles that look outwards.
struct LumenSurface {
  std::vector<Eigen::Vector3d> vertices;              ///< [m]
  std::vector<std::array<std::size_t, 3>> triangles;  ///< indices of vertices
};
[[nodiscard]] LumenSurface lumen_surface(const CenterlineTree& branches);

}  // namespace tendril
