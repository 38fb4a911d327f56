#pragma once

#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::simulation {

/// Draws the tendons and chambers of continuum arms where the body shows its inside: in sections of
/// disks, in transparent ones, and outside the body. In the model they are fixed tendons, which the
/// engine does not draw; the coefficients at the hinges of a link are where they pass through it.
/// They are straight from disk to disk, without disks from link to link. A chamber is as thick as
/// its area. Without force they are dark or blue, at the largest tension or pressure red.
class DriveRoutes {
 public:
  explicit DriveRoutes(const mjModel& model);

  /// Adds them to a scene made by mjv_updateScene of this state, as far as there is room.
  void draw(const mjModel& model, const mjData& data, mjvScene& scene) const;

 private:
  struct Point {
    int body;
    mjtNum position[3];  ///< in the frame of the body [m]
    bool is_seen;        ///< as is the piece that ends here
  };
  struct Route {
    int tendon, actuator;
    double radius;
    bool is_chamber;
    std::vector<Point> points;
  };
  std::vector<Route> routes_;
};

}  // namespace tendril::simulation
