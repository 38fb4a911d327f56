#include "simulation/scene/filled_meshes.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <cmath>
#include <set>

#include "plugin/scene_obstacles.hpp"
#include "simulation/engine/engine.hpp"
#include "simulation/scene/switched_off.hpp"

namespace tendril::simulation {
namespace {

using Eigen::Vector3d;

/// Volume between a point and triangles, which is that of a closed surface [m^3].
template <class Corner>
double volume(int triangles, const Vector3d& point, const Corner& corner) {
  double sum = 0.0;
  for (int t = 0; t < triangles; ++t) {
    const Vector3d a = corner(t, 0) - point, b = corner(t, 1) - point, c = corner(t, 2) - point;
    sum += a.dot(b.cross(c)) / 6.0;
  }
  return std::abs(sum);
}

/// Volume of the surface as a fraction of that of its convex hull. Of an open surface, the sides
/// that are missing are missing from the volume too.
double filled_fraction(const mjModel& m, int mesh) {
  const CollisionMesh hull = collision_mesh(&m, mesh);
  Vector3d center = Vector3d::Zero();
  for (const Vector3d& p : hull.vertices) center += p / static_cast<double>(hull.vertices.size());
  const auto at = [](auto number) { return static_cast<std::size_t>(number); };
  const double whole = volume(static_cast<int>(hull.triangles.size()), center, [&](int t, int k) {
    return hull.vertices[at(hull.triangles[at(t)][at(k)])];
  });
  const float* const vertex = m.mesh_vert + 3 * m.mesh_vertadr[mesh];
  const int* const face = m.mesh_face + 3 * m.mesh_faceadr[mesh];
  const double own = volume(m.mesh_facenum[mesh], center, [&](int t, int k) {
    const float* const p = vertex + 3 * face[3 * t + k];
    return Vector3d(p[0], p[1], p[2]);
  });
  return own / whole;
}

}  // namespace

std::vector<std::string> filled_meshes(const mjModel& m, const RobotBodies& robots) {
  constexpr double kNearlyConvex = 0.9;  // of the hull's volume
  std::vector<std::string> lines;
  std::set<int> seen;
  for (int geom = 0; geom < m.ngeom && !robots.empty(); ++geom) {
    const int mesh = m.geom_dataid[geom];
    if (m.geom_type[geom] != mjGEOM_MESH || m.mesh_graphadr[mesh] < 0) continue;
    if (robots.base_of_geom(geom) != 0 || contacts_switched_off(m, robots, geom)) continue;
    if (!seen.insert(mesh).second) continue;
    const double fraction = filled_fraction(m, mesh);
    if (fraction >= kNearlyConvex) continue;
    lines.push_back(fmt::format(
        "{}: collides as the convex hull of its mesh '{}', which encloses only {:.0f} % of it: "
        "the robot cannot enter its hollows; attach the mesh by a file of kind = \"shell\"",
        SceneObstacles::name_of(&m, geom), object_name(m, mjOBJ_MESH, mesh), 100.0 * fraction));
  }
  return lines;
}

}  // namespace tendril::simulation
