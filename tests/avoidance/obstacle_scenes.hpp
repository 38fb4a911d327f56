#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril::test {

inline Shape box_mesh(const Eigen::Vector3d& half) {
  std::vector<Eigen::Vector3d> vertices;
  for (int i = 0; i < 8; ++i) {
    vertices.emplace_back((i & 1 ? 1 : -1) * half.x(), (i & 2 ? 1 : -1) * half.y(),
                          (i & 4 ? 1 : -1) * half.z());
  }
  const std::vector<std::array<int, 3>> triangles{{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
                                                  {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
                                                  {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  return mesh(vertices, triangles);
}

/// A tube along z about the origin whose inside holds a cylinder of radius `inner`.
inline Shape tube_mesh(double inner, double outer, double length, int facets) {
  std::vector<Eigen::Vector3d> vertices;  // of each angle: inner low, inner high, outer low, high
  const double widened = inner / std::cos(std::numbers::pi / facets);
  for (int i = 0; i < facets; ++i) {
    const double a = 2.0 * std::numbers::pi * i / facets;
    for (const double radius : {widened, outer}) {
      for (const double z : {-0.5 * length, 0.5 * length})
        vertices.emplace_back(radius * std::cos(a), radius * std::sin(a), z);
    }
  }
  std::vector<std::array<int, 3>> triangles;
  const auto quad = [&](int a, int b, int c, int d) {
    triangles.push_back({a, b, c});
    triangles.push_back({a, c, d});
  };
  for (int i = 0; i < facets; ++i) {
    const int a = 4 * i, b = 4 * ((i + 1) % facets);
    quad(a, a + 1, b + 1, b);          // inside, seen from the axis
    quad(a + 2, b + 2, b + 3, a + 3);  // outside
    quad(a, b, b + 2, a + 2);          // low end
    quad(a + 1, a + 3, b + 3, b + 1);  // high end
  }
  return mesh(vertices, triangles);
}

/// Three sections of 30 to 130 mm, 135 degrees when longest.
inline ContinuumRobot tube_robot(BendPlane plane = BendPlane::Any) {
  const SectionParameters section{.length = 0.03,
                                  .variable_length = 0.1,
                                  .bend_angle_limit = 0.75 * std::numbers::pi,
                                  .bend_plane = plane};
  return ContinuumRobot({section, section, section});
}

/// 50 mm each, straight.
inline std::vector<SectionState> tube_start() { return std::vector<SectionState>(3, {0, 0, 0.02}); }

constexpr double kTubeBodyRadius = 0.005;  // [m]

/// A planar tube along z with its axis at x0, its mouth at z0 and half width h: 21 discs a wall.
struct PlanarTube {
  double x0, z0, h;
};
inline std::vector<Obstacle> tube_walls(const PlanarTube& tube) {
  constexpr double kDisc = 0.004;
  std::vector<Obstacle> discs;
  for (const int side : {-1, 1}) {
    for (int j = 0; j <= 20; ++j)
      discs.push_back(
          sphere_at({tube.x0 + side * (tube.h + kDisc), 0.0, tube.z0 + kDisc + 0.005 * j}, kDisc));
  }
  return discs;
}
/// Thirteen points: three on the way to the mouth, ten down the axis; the tip looks along z.
inline std::vector<TipTarget> tube_path(const PlanarTube& tube, TipTask task) {
  std::vector<TipTarget> path;
  const auto add = [&](double x, double z) {
    TipTarget target{.task = task};
    target.X_BG.translation() = Eigen::Vector3d(x, 0.0, z);
    path.push_back(target);
  };
  for (int i = 0; i < 3; ++i) add(tube.x0 - 0.03 + 0.01 * i, tube.z0 - 0.06 + 0.02 * i);
  for (int i = 0; i < 10; ++i) add(tube.x0, tube.z0 + 0.09 * i / 9.0);
  return path;
}

}  // namespace tendril::test
