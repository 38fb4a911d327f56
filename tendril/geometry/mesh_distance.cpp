#include "tendril/geometry/mesh_distance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unsupported/Eigen/BVH>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using Box3 = Eigen::AlignedBox3d;

constexpr int kStack =
    128;  // of the walk through the hierarchy; its depth is log2 of the triangles
constexpr double kOnSurface = 1e-14;  // of the size of the mesh

/// A point of a triangle and the feature that it lies on: 0-2 the corners, 3-5 the edges from
/// corner (feature - 3) to the next, 6 the face.
struct OnTriangle {
  Vector3d point;
  int feature = 6;
};

/// Nearest point of the triangle a, b, c, by the Voronoi regions of its features. [Ericson] 5.1.5.
OnTriangle nearest_on_triangle(const Vector3d& p, const Vector3d& a, const Vector3d& b,
                               const Vector3d& c) noexcept {
  const Vector3d ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0.0 && d2 <= 0.0) return {a, 0};
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0.0 && d4 <= d3) return {b, 1};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return {a + d1 / (d1 - d3) * ab, 3};
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0.0 && d5 <= d6) return {c, 2};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return {a + d2 / (d2 - d6) * ac, 5};
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0.0 && d4 >= d3 && d5 >= d6) {
    const double along = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return {b + along * (c - b), 4};
  }
  const double sum = va + vb + vc;
  return {a + vb / sum * ab + vc / sum * ac, 6};
}

class Mesh final : public SignedDistance {
 public:
  Mesh(std::span<const Vector3d> vertices, std::span<const std::array<int, 3>> triangles)
      : vertices_(vertices.begin(), vertices.end()),
        triangles_(triangles.begin(), triangles.end()) {
    if (triangles_.empty()) throw ModelError("mesh: it has no triangles");
    check_indices();
    for (const auto& corners : triangles_) {
      for (const int corner : corners) bounds_.extend(vertex(corner));
    }
    add_normals();
    std::vector<int> indices(triangles_.size());
    std::vector<Box3> boxes(triangles_.size());
    for (std::size_t i = 0; i < triangles_.size(); ++i) {
      indices[i] = static_cast<int>(i);
      for (const int corner : triangles_[i]) boxes[i].extend(vertex(corner));
    }
    tree_.init(indices.begin(), indices.end(), boxes.begin(), boxes.end());
  }

  Value at(const Vector3d& p) const noexcept override {
    Nearest nearest;
    walk(p, nearest);
    const std::size_t t = static_cast<std::size_t>(nearest.triangle);
    const Vector3d& normal = normals_[t][static_cast<std::size_t>(nearest.on.feature)];
    const Vector3d away = p - nearest.on.point;
    const double distance = std::sqrt(nearest.squared);
    if (distance <= kOnSurface * bounds_.sizes().norm()) return {0.0, normal};
    const double sign = away.dot(normal) >= 0.0 ? 1.0 : -1.0;
    return {sign * distance, sign / distance * away};
  }
  bool is_convex() const noexcept override { return false; }
  BoundingSphere bounds() const noexcept override {
    return {bounds_.center(), 0.5 * bounds_.sizes().norm()};
  }

 private:
  using Tree = Eigen::KdBVH<double, 3, int>;
  struct Nearest {
    double squared = std::numeric_limits<double>::infinity();
    int triangle = 0;
    OnTriangle on;
  };

  [[nodiscard]] const Vector3d& vertex(int i) const noexcept {
    return vertices_[static_cast<std::size_t>(i)];
  }

  void check_indices() const {
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      for (const int corner : triangles_[t]) {
        if (corner < 0 || static_cast<std::size_t>(corner) >= vertices_.size())
          throw ModelError("mesh: triangle " + std::to_string(t + 1) + " names vertex " +
                           std::to_string(corner) + ", there are " +
                           std::to_string(vertices_.size()));
        if (!vertex(corner).allFinite())
          throw ModelError("mesh: vertex " + std::to_string(corner) + " is not finite");
      }
    }
  }

  /// Normals of the faces, and the pseudonormals of edges and corners: the sums of the normals of
  /// the faces that meet there, at a corner weighted by their angles. [Pseudonormal].
  void add_normals() {
    std::map<std::pair<int, int>, std::size_t> triangle_at;  // directed edge
    std::vector<Vector3d> corner_normals(vertices_.size(), Vector3d::Zero());
    double six_volumes = 0.0;
    normals_.resize(triangles_.size());
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      const auto& [a, b, c] = triangles_[t];
      const Vector3d normal = (vertex(b) - vertex(a)).cross(vertex(c) - vertex(a));
      const double longest =
          std::max({(vertex(b) - vertex(a)).squaredNorm(), (vertex(c) - vertex(b)).squaredNorm(),
                    (vertex(a) - vertex(c)).squaredNorm()});
      if (!(normal.norm() > 1e-12 * longest))
        throw ModelError("mesh: triangle " + std::to_string(t + 1) + " has no area");
      normals_[t][6] = normal.normalized();
      six_volumes += (vertex(a) - bounds_.center()).dot(normal);
      for (std::size_t k = 0; k < 3; ++k) {
        const int from = triangles_[t][k], to = triangles_[t][(k + 1) % 3],
                  third = triangles_[t][(k + 2) % 3];
        if (!triangle_at.emplace(std::pair(from, to), t).second) refuse_edge(from, to);
        const Vector3d first = vertex(to) - vertex(from), last = vertex(third) - vertex(from);
        corner_normals[static_cast<std::size_t>(from)] +=
            std::atan2(first.cross(last).norm(), first.dot(last)) * normals_[t][6];
      }
    }
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      for (std::size_t k = 0; k < 3; ++k) {
        const int from = triangles_[t][k], to = triangles_[t][(k + 1) % 3];
        const auto other = triangle_at.find(std::pair(to, from));
        if (other == triangle_at.end()) refuse_edge(from, to);
        normals_[t][k] = corner_normals[static_cast<std::size_t>(from)];
        normals_[t][3 + k] = normals_[t][6] + normals_[other->second][6];
      }
    }
    if (!(six_volumes > 0.0))
      throw ModelError(
          "mesh: its triangles face inwards, must be counterclockwise as viewed from outside");
  }

  [[noreturn]] static void refuse_edge(int from, int to) {
    throw ModelError("mesh: edge " + std::to_string(from) + "-" + std::to_string(to) +
                     " does not belong to two triangles that run through it in opposite senses: "
                     "the mesh is not closed");
  }

  void try_triangle(const Vector3d& p, int t, Nearest& nearest) const noexcept {
    const auto& [a, b, c] = triangles_[static_cast<std::size_t>(t)];
    const OnTriangle on = nearest_on_triangle(p, vertex(a), vertex(b), vertex(c));
    const double squared = (p - on.point).squaredNorm();
    if (squared < nearest.squared) nearest = {squared, t, on};
  }

  /// Depth first, the nearer box first.
  void walk(const Vector3d& p, Nearest& nearest) const noexcept {
    struct Waiting {
      double squared;
      int node;
    };
    std::array<Waiting, kStack> stack;
    std::size_t count = 0;
    stack[count++] = {0.0, tree_.getRootIndex()};
    while (count > 0) {
      const Waiting next = stack[--count];
      if (next.squared >= nearest.squared) continue;
      Tree::VolumeIterator volume{}, volumes_end{};
      Tree::ObjectIterator object{}, objects_end{};
      tree_.getChildren(next.node, volume, volumes_end, object, objects_end);
      for (; object != objects_end; ++object) try_triangle(p, *object, nearest);
      const std::size_t first = count;
      for (; volume != volumes_end; ++volume) {
        const double squared = tree_.getVolume(*volume).squaredExteriorDistance(p);
        if (squared < nearest.squared) stack[count++] = {squared, *volume};
      }
      if (count == first + 2 && stack[first].squared < stack[first + 1].squared)
        std::swap(stack[first], stack[first + 1]);
    }
  }

  std::vector<Vector3d> vertices_;
  std::vector<std::array<int, 3>> triangles_;
  std::vector<std::array<Vector3d, 7>> normals_;  // corners, edges, face; not all of length 1
  Box3 bounds_;
  Tree tree_;
};

}  // namespace

Shape mesh(std::span<const Vector3d> vertices, std::span<const std::array<int, 3>> triangles) {
  return std::make_shared<Mesh>(vertices, triangles);
}

}  // namespace tendril
