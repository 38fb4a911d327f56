#include "tendril/model/tube/mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model/mjcf_document.hpp"
#include "tendril/model/tube/branch_wall.hpp"

namespace tendril {

using Eigen::Vector3d;

namespace {

/// The centerline with arcs of fine chords, for the wall that is drawn.
std::vector<Vector3d> fine_vertices(TubeDescription tube) {
  constexpr double kFineTurn = 0.12;  // [rad]
  tube.segment_angle = std::min(tube.segment_angle, kFineTurn);
  return tube_vertices(tube);
}

/// A closed surface around the wall, as the attributes `vertex` and `face` of a mesh: rings around
/// the vertices of the centerline, counted along the outside and back along the inside.
struct WallMesh {
  std::string vertices, faces;
};
WallMesh wall_mesh(const TubeDescription& tube) {
  constexpr int kAround = 20;
  const std::vector<Vector3d> line = fine_vertices(tube);
  const std::size_t count = line.size();
  std::vector<Vector3d> tangents(count);  // at bends that of the plane that halves the angle
  for (std::size_t k = 0; k < count; ++k) {
    const Vector3d before = (line[k] - line[k == 0 ? 0 : k - 1]).stableNormalized();
    const Vector3d after = (line[k + 1 == count ? k : k + 1] - line[k]).stableNormalized();
    tangents[k] = (before + after).normalized();
  }
  WallMesh mesh;
  const auto add_rings = [&](double radius, bool backwards) {
    Eigen::Matrix3d frame = rotation_between(Vector3d::UnitZ(), tangents[0]).toRotationMatrix();
    std::vector<std::string> rings;
    for (std::size_t k = 0; k < count; ++k) {
      if (k > 0) frame = rotation_between(tangents[k - 1], tangents[k]) * frame;
      std::string ring;
      for (int i = 0; i < kAround; ++i) {
        const double a = 2.0 * std::numbers::pi * i / kAround;
        const Vector3d p =
            line[k] + radius * (std::cos(a) * frame.col(0) + std::sin(a) * frame.col(1));
        ring += fmt::format("{:.6g} {:.6g} {:.6g} ", p.x(), p.y(), p.z());
      }
      rings.push_back(std::move(ring));
    }
    if (backwards) std::reverse(rings.begin(), rings.end());
    for (const std::string& ring : rings) mesh.vertices += ring;
  };
  add_rings(tube.inner_radius + 2.0 * tube.wall_thickness, false);
  add_rings(tube.inner_radius, true);
  const auto rings = static_cast<int>(2 * count);
  for (int k = 0; k < rings; ++k) {
    const int next = (k + 1) % rings;
    for (int i = 0; i < kAround; ++i) {
      const int a = kAround * k + i, b = kAround * k + (i + 1) % kAround;
      const int c = kAround * next + i, d = kAround * next + (i + 1) % kAround;
      mesh.faces += fmt::format("{} {} {} {} {} {} ", a, b, d, a, d, c);
    }
  }
  return mesh;
}

WallMesh branch_mesh(const CenterlineTree& branches) {
  const LumenSurface surface = lumen_surface(branches);
  WallMesh mesh;
  for (const Vector3d& p : surface.vertices)
    mesh.vertices += fmt::format("{:.6g} {:.6g} {:.6g} ", p.x(), p.y(), p.z());
  for (const auto& [a, b, c] : surface.triangles) mesh.faces += fmt::format("{} {} {} ", a, b, c);
  return mesh;
}

constexpr const char* kWall = "tube_wall";  // material, mesh, geom and class of the staves

void add_wall(const TubeDescription& tube, MjcfDocument& mjcf, XmlNode& body) {
  const WallMesh wall = tube.branches.empty() ? wall_mesh(tube) : branch_mesh(tube.branches);
  mjcf.asset.add("material", {{"name", kWall}, {"rgba", "0.62 0.72 0.82 0.22"}});
  mjcf.asset.add(
      "mesh",
      {{"name", kWall}, {"inertia", "shell"}, {"vertex", wall.vertices}, {"face", wall.faces}});
  body.add("geom", {{"name", kWall},
                    {"type", "mesh"},
                    {"mesh", kWall},
                    {"material", kWall},
                    {"contype", 0},
                    {"conaffinity", 0},
                    {"mass", 0}});
}

void add_staves(const TubeDescription& tube, MjcfDocument& mjcf, XmlNode& body) {
  mjcf.defaults.add("default", {{"class", kWall}})
      .add("geom", {{"type", "capsule"},
                    {"size", tube.wall_thickness},
                    {"contype", 2},
                    {"conaffinity", 1},
                    {"priority", 1},
                    {"friction", {tube.friction, 0.005, 0.0001}},
                    {"material", kWall},
                    {"group", 3}})
      .set(stiff_contact());
  for (const auto& [start, end, name] : tube_staves(tube)) {
    body.add("geom", {{"name", "tube_" + name},
                      {"class", kWall},
                      {"fromto", {start.x(), start.y(), start.z(), end.x(), end.y(), end.z()}}});
  }
}

void add_end_site(const std::string& name, const Vector3d& position, const Vector3d& direction,
                  XmlNode& body) {
  body.add("site", {{"name", name},
                    {"pos", {position.x(), position.y(), position.z()}},
                    {"zaxis", {direction.x(), direction.y(), direction.z()}},
                    {"size", 0.002},
                    {"group", 3}});
}

void add_sites(const TubeDescription& tube, XmlNode& body) {
  const auto add_end = [&](const std::string& name, const std::vector<Vector3d>& line) {
    add_end_site(name, line.back(), line.back() - line[line.size() - 2], body);
  };
  const std::vector<Vector3d> line =
      tube.branches.empty() ? tube_vertices(tube) : tube.branches.front().points;
  add_end_site("tube_start", line.front(), line[1] - line[0], body);
  if (tube.branches.empty()) add_end("tube_end", line);
  for (const CenterlineBranch& branch : tube.branches)
    add_end("tube_" + branch.name + "_end", branch.points);
}

}  // namespace

std::string tube_mjcf(const TubeDescription& tube) {
  MjcfDocument mjcf("tube", tube.name);
  mjcf.set_options(0);
  XmlNode& body = mjcf.worldbody.add("body", {{"name", "tube"}});
  add_staves(tube, mjcf, body);
  add_wall(tube, mjcf, body);
  add_sites(tube, body);
  return mjcf.text();
}

}  // namespace tendril
