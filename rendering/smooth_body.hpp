#pragma once

#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::simulation {

/// Draws the links of each continuum arm, or the rods in them, as one smooth body. Its centerline
/// passes through the middles of the links, at each in the direction from the one before to the one
/// after (Hermite's cubic). Only the drawing changes; the links remain what touches.
class SmoothBody {
 public:
  explicit SmoothBody(const mjModel& model);

  /// Replaces the links in a scene made by mjv_updateScene, as far as there is room: each becomes
  /// capsules that bend by about kKink from one to the next, with its look.
  void draw(mjvScene& scene) const;

  static constexpr double kKink = 0.05;  ///< [rad]
  static constexpr int kMaxPieces = 8;   ///< of a link

 private:
  struct Part {
    int geom;
    double to_knot;  ///< from the capsule's middle to that of the link, towards the tip [m]
  };
  std::vector<std::vector<Part>> arms_;  ///< base first
};

}  // namespace tendril::simulation
