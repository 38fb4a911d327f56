// Fits an arm of three sections to a bend of radius 120 mm: tendril::planning.
#include <cstdio>
#include <vector>

#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"

using namespace tendril;

int main() {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}, {.length = 0.1}});
  const std::vector<Eigen::Vector3d> waypoints{{0, 0, 0}, {0, 0, 0.24}, {-0.2, 0, 0.24}};  // [m]
  const Path path = rounded_path(waypoints, 0.12);

  ShapeFit fit(robot, {.iterations = 20});
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  const double tip_distance = fit.fit([&](double s) { return path.position(s); }, {}, states);

  for (const SectionState& state : states)
    std::printf("theta %6.3f rad   phi %6.3f rad\n", state.theta, state.phi);
  std::printf("tip %.3f mm from the path\n", 1e3 * tip_distance);
  return tip_distance < 1e-3 ? 0 : 1;
}
