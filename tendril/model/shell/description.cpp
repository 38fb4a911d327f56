#include "tendril/model/shell/description.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tendril/model/readers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr KeyInfo kShellKeys[]{
    {"kind", "", "`\"shell\"`", "required"},
    {"name", "", "of the model"},
    {"file", "",
     "mesh, `.stl` or `.obj`, in the frame of the body `shell`; at most 20000 triangles",
     "required"},
    {"scale", "", "m for a unit of the file: 0.001 for millimeters"},
    {"encloses", "",
     "what the surface encloses, behind its triangles: `\"lumen\"`, the free space, as the mesh of "
     "a vessel; `\"wall\"`, the material, as the mesh of a part",
     "required", "`\"lumen\"`, `\"wall\"`"},
    {"wall_thickness", "m",
     "of the wall, away from the free space; thinner where the surface comes back behind itself"},
    {"friction", "", "sliding friction; it governs every contact with the shell"}};

constexpr std::size_t kMaxTriangles = 20'000;
/// A triangle that is narrower leaves no gap that matters; of the wall's thickness.
constexpr double kNarrow = 1e-3;

const Vector3d& corner(const TriangleMesh& mesh, const std::array<int, 3>& triangle,
                       std::size_t k) {
  return mesh.vertices[static_cast<std::size_t>(triangle[k])];
}

/// Twice the area of a triangle along its normal.
Vector3d area_vector(const TriangleMesh& mesh, const std::array<int, 3>& triangle) {
  const Vector3d& a = corner(mesh, triangle, 0);
  return (corner(mesh, triangle, 1) - a).cross(corner(mesh, triangle, 2) - a);
}

double longest_edge(const TriangleMesh& mesh, const std::array<int, 3>& triangle) {
  const Vector3d &a = corner(mesh, triangle, 0), &b = corner(mesh, triangle, 1),
                 &c = corner(mesh, triangle, 2);
  return std::max({(b - a).norm(), (c - b).norm(), (a - c).norm()});
}

double volume(const TriangleMesh& mesh) {
  double sum = 0.0;
  for (const auto& t : mesh.triangles)
    sum += corner(mesh, t, 0).dot(corner(mesh, t, 1).cross(corner(mesh, t, 2))) / 6.0;
  return sum;
}

/// How often the triangles run along each edge from its lower to its higher corner, and back.
using Edges = std::map<std::pair<int, int>, std::pair<int, int>>;
Edges edges_of(const TriangleMesh& mesh) {
  Edges edges;
  for (const auto& t : mesh.triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      const auto [low, high] = std::minmax(t[k], t[(k + 1) % 3]);
      auto& [there, back] = edges[{low, high}];
      ++(t[k] == low ? there : back);
    }
  }
  return edges;
}

/// Turns a closed mesh so that its normals point out of it, and refuses one whose normals do not
/// agree.
void orient(const Fields& fields, TriangleMesh& mesh) {
  bool is_closed = true;
  int wrong = 0;
  for (const auto& [edge, runs] : edges_of(mesh)) {
    const auto [there, back] = runs;
    is_closed &= there == back;
    if (there + back == 2 && there != back) ++wrong;
  }
  if (wrong > 0)
    fields.refuse("file", fmt::format("{} of its edges join triangles of opposite orientation: "
                                      "must have all triangles counterclockwise from outside",
                                      wrong));
  if (is_closed && volume(mesh) < 0.0)
    for (auto& triangle : mesh.triangles) std::swap(triangle[1], triangle[2]);
}

TriangleMesh read_mesh(const FileContents& file, double scale, double thickness) {
  const Fields& fields = file.top;
  const std::string name = fields.required_text("file", "must name an .stl or .obj file");
  TriangleMesh mesh;
  try {
    mesh = merged(parse_mesh(file.read(name), name));
  } catch (const ModelError& error) {
    fields.refuse("file", error.what());
  }
  for (Vector3d& p : mesh.vertices) p *= scale;
  std::erase_if(mesh.triangles, [&](const std::array<int, 3>& triangle) {
    const double edge = longest_edge(mesh, triangle);
    return area_vector(mesh, triangle).norm() <= edge * kNarrow * thickness;
  });
  if (mesh.triangles.empty())
    fields.refuse("file", fmt::format("must have triangles that are wider than {:.3g} m, a "
                                      "thousandth of wall_thickness; with scale = {} it has none",
                                      kNarrow * thickness, scale));
  if (mesh.triangles.size() > kMaxTriangles)
    fields.refuse("file", fmt::format("has {} triangles, must have at most {}: simplify the mesh",
                                      mesh.triangles.size(), kMaxTriangles));
  orient(fields, mesh);
  return mesh;
}

/// A unit normal per triangle, into the wall.
std::vector<Vector3d> into_wall(const ShellDescription& shell) {
  const double sign = shell.encloses == ShellDescription::Encloses::Lumen ? 1.0 : -1.0;
  std::vector<Vector3d> normals;
  for (const auto& triangle : shell.mesh.triangles)
    normals.push_back(sign * area_vector(shell.mesh, triangle).normalized());
  return normals;
}

/// A unit direction per vertex: the mean of its triangles' normals weighted by their angles there.
std::vector<Vector3d> vertex_directions(const TriangleMesh& mesh,
                                        const std::vector<Vector3d>& normals) {
  std::vector<Vector3d> directions(mesh.vertices.size(), Vector3d::Zero());
  for (std::size_t i = 0; i < normals.size(); ++i) {
    const auto& t = mesh.triangles[i];
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3d a = corner(mesh, t, (k + 1) % 3) - corner(mesh, t, k);
      const Vector3d b = corner(mesh, t, (k + 2) % 3) - corner(mesh, t, k);
      const double angle = std::atan2(a.cross(b).norm(), a.dot(b));
      directions[static_cast<std::size_t>(t[k])] += angle * normals[i];
    }
  }
  for (Vector3d& direction : directions) direction.stableNormalize();
  return directions;
}

/// Distance along a ray, in lengths of its direction, to a triangle that it crosses; infinity if it
/// does not (Moeller and Trumbore).
double hit(const Vector3d& start, const Vector3d& direction, const Vector3d& a, const Vector3d& b,
           const Vector3d& c) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr double kParallel = 1e-9;
  const Vector3d ab = b - a, ac = c - a, across = direction.cross(ac), from = start - a;
  const double scale = ab.dot(across);
  if (std::abs(scale) <= kParallel * ab.norm() * ac.norm()) return kNone;
  const Vector3d q = from.cross(ab);
  const double u = from.dot(across) / scale, v = direction.dot(q) / scale, t = ac.dot(q) / scale;
  return u < 0.0 || v < 0.0 || u + v > 1.0 || t < 0.0 ? kNone : t;
}

/// The wall behind the triangles of a mesh.
class Wall {
 public:
  explicit Wall(const ShellDescription& shell)
      : mesh_(shell.mesh),
        thickness_(shell.wall_thickness),
        normals_(into_wall(shell)),
        directions_(vertex_directions(mesh_, normals_)),
        triangles_at_(mesh_.vertices.size()) {
    for (std::size_t i = 0; i < mesh_.triangles.size(); ++i) {
      longest_edges_.push_back(longest_edge(mesh_, mesh_.triangles[i]));
      for (const int vertex : mesh_.triangles[i])
        triangles_at_[static_cast<std::size_t>(vertex)].push_back(i);
    }
  }

  [[nodiscard]] ShellPiece piece(std::size_t triangle) const {
    const auto& t = mesh_.triangles[triangle];
    ShellPiece piece{{corner(mesh_, t, 0), corner(mesh_, t, 1), corner(mesh_, t, 2)}, {}};
    const Vector3d& normal = normals_[triangle];
    const Vector3d upright = area_vector(mesh_, t).normalized();
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t next = (k + 1) % 3;
      const Vector3d side = (piece.front[next] - piece.front[k]).cross(upright).normalized();
      piece.back[2 * k] = behind(static_cast<std::size_t>(t[k]), side, normal);
      piece.back[2 * k + 1] = behind(static_cast<std::size_t>(t[next]), side, normal);
    }
    return piece;
  }

 private:
  /// Direction from a vertex to the back of a piece, not of unit length: as far to the side as the
  /// back of the piece remains behind all triangles at the vertex.
  [[nodiscard]] Vector3d backwards(std::size_t vertex, const Vector3d& side,
                                   const Vector3d& normal) const {
    constexpr double kWidest = 2.0, kNarrowest = 0.1, kLeastDepth = 0.2;
    const auto is_behind = [&](const Vector3d& q) {
      return std::ranges::all_of(triangles_at_[vertex],
                                 [&](std::size_t i) { return q.dot(normals_[i]) >= kLeastDepth; });
    };
    for (double width = kWidest; width > kNarrowest; width /= 2.0) {
      const Vector3d q = directions_[vertex] + width * side;
      if (is_behind(q)) return q;
    }
    return directions_[vertex].dot(normal) >= kLeastDepth ? directions_[vertex] : normal;
  }

  [[nodiscard]] Vector3d behind(std::size_t vertex, const Vector3d& side,
                                const Vector3d& normal) const {
    const Vector3d q = backwards(vertex, side, normal);
    return mesh_.vertices[vertex] + depth(vertex, q) * q;
  }

  /// How far the wall goes along `q`, in its length.
  [[nodiscard]] double depth(std::size_t vertex, const Vector3d& q) const {
    const Vector3d& p = mesh_.vertices[vertex];
    const double far = 2.0 * thickness_ * q.norm();
    double depth = thickness_;
    for (std::size_t i = 0; i < mesh_.triangles.size(); ++i) {
      const auto& t = mesh_.triangles[i];
      const Vector3d& a = corner(mesh_, t, 0);
      const double reach = far + longest_edges_[i];
      if ((p - a).squaredNorm() > reach * reach) continue;
      if (std::ranges::find(t, static_cast<int>(vertex)) != t.end()) continue;
      depth = std::min(depth, hit(p, q, a, corner(mesh_, t, 1), corner(mesh_, t, 2)) / 2.0);
    }
    return depth;
  }

  const TriangleMesh& mesh_;
  double thickness_;
  std::vector<Vector3d> normals_;     // per triangle
  std::vector<Vector3d> directions_;  // per vertex
  std::vector<double> longest_edges_;
  std::vector<std::vector<std::size_t>> triangles_at_;  // per vertex
};

}  // namespace

ShellDescription ShellDescription::read(const FileContents& file) {
  const Fields& fields = file.top;
  fields.refuse_unknown(kShellKeys);
  ShellDescription shell;
  shell.name = fields.text("name", shell.name);
  shell.wall_thickness = fields.number("wall_thickness", shell.wall_thickness, kPositiveNumber);
  shell.friction = fields.number("friction", shell.friction, kNotNegativeNumber);
  if (!fields.has("encloses"))
    fields.missing("encloses", "is missing, must be \"lumen\" or \"wall\"");
  shell.encloses =
      fields.choice<Encloses>("encloses", {{"lumen", Encloses::Lumen}, {"wall", Encloses::Wall}});
  const double scale = fields.number("scale", 1.0, kPositiveNumber);
  shell.mesh = read_mesh(file, scale, shell.wall_thickness);
  return shell;
}

std::vector<ShellPiece> shell_pieces(const ShellDescription& shell) {
  const Wall wall(shell);
  std::vector<ShellPiece> pieces;
  for (std::size_t i = 0; i < shell.mesh.triangles.size(); ++i) pieces.push_back(wall.piece(i));
  return pieces;
}

}  // namespace tendril
