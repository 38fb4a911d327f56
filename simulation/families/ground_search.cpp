#include "simulation/families/ground_search.hpp"

#include <cmath>
#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

namespace tendril::simulation::generate {

bool has_path(const std::function<double(const Eigen::Vector2d&)>& room,
              const Eigen::Vector2d& goal, double disc, double half) {
  constexpr double kCell = 0.05;
  const int cells = static_cast<int>(2.0 * half / kCell) + 1;
  const auto cell = [half](double x) { return static_cast<int>(std::lround((x + half) / kCell)); };
  const auto number = [cells](int x, int y) { return static_cast<std::size_t>(y * cells + x); };
  std::vector<char> closed(number(0, cells), 0);
  for (int y = 0; y < cells; ++y) {
    for (int x = 0; x < cells; ++x)
      closed[number(x, y)] = room({x * kCell - half, y * kCell - half}) < disc;
  }
  std::queue<std::pair<int, int>> open;
  if (closed[number(cell(0.0), cell(0.0))] != 0) return false;
  open.emplace(cell(0.0), cell(0.0));
  closed[number(cell(0.0), cell(0.0))] = 1;
  while (!open.empty()) {
    const auto [x, y] = open.front();
    open.pop();
    if (x == cell(goal.x()) && y == cell(goal.y())) return true;
    for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      const int u = x + dx, v = y + dy;
      if (u < 0 || v < 0 || u >= cells || v >= cells || closed[number(u, v)] != 0) continue;
      closed[number(u, v)] = 1;
      open.emplace(u, v);
    }
  }
  return false;
}

}  // namespace tendril::simulation::generate
