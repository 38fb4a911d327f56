#pragma once

#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::host {

/// Draws the links of each continuum arm as one smooth body. Its centreline passes through the ends
/// of the links, at each in the direction from the end before to the end after (Hermite's cubic).
/// Only the drawing changes; the links remain what touches.
class SmoothBody {
 public:
  explicit SmoothBody(const mjModel& model);

  /// Replaces the links in a scene made by mjv_updateScene, as far as there is room: each becomes
  /// capsules that bend by about kKink from one to the next, with its look.
  void draw(mjvScene& scene) const;

  static constexpr double kKink = 0.05;  ///< [rad]
  static constexpr int kMostPieces = 8;  ///< of a link

 private:
  std::vector<std::vector<int>> arms_;  ///< geoms of each arm, base first
};

}  // namespace tendril::host
