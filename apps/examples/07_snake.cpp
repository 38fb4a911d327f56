// Fits a chain of 16 alternating hinges to a helix, then follows a leader: tendril::snake.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tendril/snake/growing_path.hpp"
#include "tendril/snake/snake_fit.hpp"

using namespace tendril;

int main() {
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);  // 8 modules of two links of 70 mm
  std::vector<double> angles(16), parameters(9);          // joints; parameters of B_0, B_2, ...
  const Helix helix(0.25, 0.30, 2.0);                     // radius, pitch, length [m]

  const MarchStart start = choose_start(chain, helix, 0.1, MarchDirection::BaseToHead,
                                        Eigen::Vector3d::UnitZ(), {angles, parameters});
  std::printf("march: %s\n", describe(start.march).c_str());
  if (!start.march.ok()) return 1;
  SnakeFit fit(chain);
  const SnakeFitResult fitted = fit.fit(helix, start.march.X_WB, angles, parameters);
  std::printf("odd joints off by %.1f mm, after the fit by %.1f mm\n", 1e3 * fitted.before.odd,
              1e3 * fitted.after.odd);

  std::vector<double> memory(static_cast<std::size_t>(GrowingPath::memory_size(100)));
  GrowingPath path(memory, {.max_curvature = 8.0});
  path.start({-2, 0, 0}, {1, 0, 0}, 2.0);
  double s = path.view().end();
  std::vector<double> before(16, 0.0);
  for (double x = 0.03; x < 3.0; x += 0.03) {
    if (!path.append({x, 0.1 * (1.0 - std::cos(5.0 * x)), 0.0}).ok()) return 1;
    const PathView view = path.view();
    while (s < view.end()) {
      const double desired = std::min(s + 0.002, view.end());
      const FollowStep step =
          follow_path(chain, view, MarchDirection::HeadToBase, view.frame(desired), s, desired,
                      0.05, before, {angles, parameters});
      if (!step.march.ok() || step.s == s) return 1;
      s = step.s;
      before = angles;
    }
    path.drop_behind(parameters[0]);
  }
  std::printf("head after %.3f m of path, %d nodes in memory\n", s, path.view().node_count());
  return 0;
}
