#include "tendril/contact/planar_section.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using std::numbers::pi;

constexpr int kRound = 32;                // corners of what is round
constexpr double kWithin = 0.95;          // of the body radius: nearer to the plane than this
constexpr double kAcross = 1e-6;          // [rad]: an axis this near to y is across the plane
constexpr double kSamePoint = 1e-5;       // [m]
constexpr double kHalfSpaceExtent = 1e3;  // [m]

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

/// Convex hull, counterclockwise, without corners that are nearly collinear (monotone chain).
std::vector<Vector2d> convex_hull(std::vector<Vector2d> points) {
  std::sort(points.begin(), points.end(), [](const Vector2d& a, const Vector2d& b) {
    return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y();
  });
  std::vector<Vector2d> hull;
  const auto add_chain = [&](auto begin, auto end) {
    const std::size_t first = hull.size();
    for (auto p = begin; p != end; ++p) {
      while (hull.size() >= first + 2) {
        const Vector2d &a = hull[hull.size() - 2], &b = hull.back();
        if (cross(b - a, *p - b) > kSamePoint * (*p - a).norm()) break;
        hull.pop_back();
      }
      if (hull.size() == first || (hull.back() - *p).norm() > kSamePoint) hull.push_back(*p);
    }
    if (!hull.empty()) hull.pop_back();  // the first of the other chain
  };
  add_chain(points.begin(), points.end());
  add_chain(points.rbegin(), points.rend());
  return hull;
}

std::optional<PlanarObstacle> outline(std::vector<Vector2d> points) {
  Polygon polygon{convex_hull(std::move(points))};
  if (polygon.corners.size() < 3) return std::nullopt;
  return polygon;
}

using Edge = std::pair<int, int>;

std::vector<Edge> edges_of(const std::vector<std::array<int, 3>>& triangles) {
  std::vector<Edge> edges;
  for (const std::array<int, 3>& t : triangles) {
    for (std::size_t k = 0; k < 3; ++k) edges.emplace_back(t[k], t[(k + 1) % 3]);
  }
  return edges;
}

/// Edges of a prism of n corners, as `prism` numbers them.
std::vector<Edge> prism_edges(int n) {
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) {
    const int after = (i + 1) % n;
    edges.insert(edges.end(), {{2 * i, 2 * i + 1}, {2 * i, 2 * after}, {2 * i + 1, 2 * after + 1}});
  }
  return edges;
}

/// The outline of the part of a convex polyhedron within `slab` of the plane.
std::optional<PlanarObstacle> hull_outline(const std::vector<Vector3d>& vertices,
                                           const std::vector<Edge>& edges, double slab) {
  std::vector<Vector2d> points;
  for (const Vector3d& a : vertices) {
    if (std::abs(a.y()) <= slab) points.emplace_back(a.x(), a.z());
  }
  for (const auto& [i, j] : edges) {
    const Vector3d &a = vertices[static_cast<std::size_t>(i)],
                   &b = vertices[static_cast<std::size_t>(j)];
    for (const double y : {-slab, slab}) {
      if ((a.y() < y) == (b.y() < y)) continue;
      const Vector3d p = a + (y - a.y()) / (b.y() - a.y()) * (b - a);
      points.emplace_back(p.x(), p.z());
    }
  }
  return outline(std::move(points));
}

void add_circle(const Vector2d& center, double radius, std::vector<Vector2d>& points) {
  for (int k = 0; k < kRound; ++k) {
    const double angle = 2.0 * pi * k / kRound;
    points.push_back(center + radius * Vector2d(std::cos(angle), std::sin(angle)));
  }
}

/// Radius of the disc that a sphere at height y is for the body; negative: the body passes it.
double disc_radius(double y, double radius, double body_radius) {
  const double inflated = radius + body_radius;
  return std::abs(y) < radius + kWithin * body_radius
             ? std::sqrt(inflated * inflated - y * y) - body_radius
             : -1.0;
}

std::optional<PlanarObstacle> sphere(const Vector3d& center, double radius, double body_radius) {
  const double disc = disc_radius(center.y(), radius, body_radius);
  if (disc <= 0.0) return std::nullopt;
  return Disc{{center.x(), center.z()}, disc};
}

std::optional<PlanarObstacle> capsule_outline(const Vector3d& a, const Vector3d& b, double radius,
                                              double body_radius) {
  constexpr int kSpheres = 33;
  std::vector<Vector2d> points;
  for (int i = 0; i < kSpheres; ++i) {
    const Vector3d p = a + (b - a) * (static_cast<double>(i) / (kSpheres - 1));
    const double disc = disc_radius(p.y(), radius, body_radius);
    if (disc > 0.0) add_circle({p.x(), p.z()}, disc, points);
  }
  return outline(std::move(points));
}

std::vector<Vector3d> prism(const std::vector<Vector2d>& corners, double half_height) {
  std::vector<Vector3d> vertices;
  for (const Vector2d& corner : corners) {
    vertices.emplace_back(corner.x(), corner.y(), -half_height);
    vertices.emplace_back(corner.x(), corner.y(), half_height);
  }
  return vertices;
}

std::vector<Vector3d> placed(const Isometry3d& X, std::vector<Vector3d> points) {
  for (Vector3d& p : points) p = X * p;
  return points;
}

std::optional<PlanarObstacle> half_space_outline(const Solid& solid, double slab) {
  const Vector3d n = solid.X_BO.linear().col(2), p = solid.X_BO.translation();
  const Vector2d across(n.x(), n.z());
  const double part = across.norm();
  if (part <= kAcross) {
    if (n.dot(-p) >= slab) return std::nullopt;  // the plane is on its outside
    throw ModelError(solid.name +
                     ": contains the arm's plane of motion: select the obstacles "
                     "with the setting obstacles");
  }
  const Vector2d u = across / part, along(-u.y(), u.x());
  const double edge = (n.dot(p) + std::abs(n.y()) * slab) / part;  // of the points, along u
  constexpr double far = kHalfSpaceExtent;
  return Polygon{{edge * u - far * along, edge * u + far * along, (edge - far) * u + far * along,
                  (edge - far) * u - far * along}};
}

/// The outer loops in which a closed mesh meets the plane.
std::vector<PlanarObstacle> mesh_section(const Solid& solid) {
  const std::vector<Vector3d> vertices = placed(solid.X_BO, solid.vertices);
  const auto at = [&](int i) -> const Vector3d& { return vertices[static_cast<std::size_t>(i)]; };
  std::map<Edge, Edge> next;  // edges that cross the plane, from its lower side
  for (const std::array<int, 3>& t : solid.triangles) {
    std::optional<Edge> up, down;
    for (std::size_t k = 0; k < 3; ++k) {
      const int a = t[k], b = t[(k + 1) % 3];
      const bool above_a = at(a).y() >= 0.0, above_b = at(b).y() >= 0.0;
      if (!above_a && above_b) up = Edge{a, b};
      if (above_a && !above_b) down = Edge{b, a};
    }
    if (up && down) next[*up] = *down;
  }
  std::vector<PlanarObstacle> loops;
  while (!next.empty()) {
    std::vector<Vector2d> corners;
    for (auto here = next.begin(); here != next.end();) {
      const auto [a, b] = here->first;
      const Vector3d p = at(a) + at(a).y() / (at(a).y() - at(b).y()) * (at(b) - at(a));
      const Vector2d corner(p.x(), p.z());
      if (corners.empty() || (corners.back() - corner).norm() > kSamePoint)
        corners.push_back(corner);
      const Edge to = here->second;
      next.erase(here);
      here = next.find(to);
    }
    while (corners.size() > 1 && (corners.front() - corners.back()).norm() <= kSamePoint)
      corners.pop_back();
    double area = 0.0;
    for (std::size_t i = 0; i < corners.size(); ++i)
      area += cross(corners[i], corners[(i + 1) % corners.size()]);
    if (corners.size() >= 3 && area > 0.0) loops.push_back(Polygon{std::move(corners)});
  }
  return loops;
}

std::vector<PlanarObstacle> section(const Solid& solid, double body_radius) {
  const double slab = kWithin * body_radius;
  const Isometry3d& X = solid.X_BO;
  const Vector3d axis = X.linear().col(2), center = X.translation();
  const bool across = hypotenuse(axis.x(), axis.z()) <= kAcross;
  const auto one = [](std::optional<PlanarObstacle> obstacle) {
    std::vector<PlanarObstacle> all;
    if (obstacle) all.push_back(std::move(*obstacle));
    return all;
  };
  switch (solid.kind) {
    case Solid::Kind::HalfSpace:
      return one(half_space_outline(solid, slab));
    case Solid::Kind::Sphere:
      return one(sphere(center, solid.size.x(), body_radius));
    case Solid::Kind::Capsule: {
      const Vector3d half = solid.size.y() * axis;
      if (!across)
        return one(capsule_outline(center - half, center + half, solid.size.x(), body_radius));
      const double overhang = std::max(0.0, std::abs(center.y()) - solid.size.y());
      return one(sphere({center.x(), overhang, center.z()}, solid.size.x(), body_radius));
    }
    case Solid::Kind::Cylinder: {
      if (across) {
        if (std::abs(center.y()) - solid.size.y() > slab) return {};
        return {Disc{{center.x(), center.z()}, solid.size.x()}};
      }
      std::vector<Vector2d> circle;
      add_circle({0.0, 0.0}, solid.size.x(), circle);
      return one(hull_outline(placed(X, prism(circle, solid.size.y())), prism_edges(kRound), slab));
    }
    case Solid::Kind::Box: {
      const double x = solid.size.x(), y = solid.size.y();
      return one(
          hull_outline(placed(X, prism({{-x, -y}, {x, -y}, {x, y}, {-x, y}}, solid.size.z())),
                       prism_edges(4), slab));
    }
    case Solid::Kind::Ellipsoid:
      throw ModelError(solid.name + ": an ellipsoid: cannot be cut by the arm's plane");
    case Solid::Kind::Hull:
      return one(hull_outline(placed(X, solid.vertices), edges_of(solid.triangles), slab));
    case Solid::Kind::Mesh:
      return mesh_section(solid);
  }
  return {};
}

}  // namespace

PlanarSection planar_section(const std::vector<Solid>& solids, double body_radius, double reach) {
  PlanarSection result;
  for (std::size_t i = 0; i < solids.size(); ++i) {
    for (PlanarObstacle& obstacle : section(solids[i], body_radius)) {
      for (ContactPoint& point : contact_points_of(obstacle)) {
        if (point.disc.center.norm() - point.disc.radius <= reach) result.contacts.push_back(point);
      }
      try {
        std::visit([&](auto& shape) { result.scene.add(std::move(shape)); }, obstacle);
      } catch (const ModelError& error) {
        throw ModelError(solids[i].name + ": its section with the arm's plane: " + error.what());
      }
      result.solid.push_back(static_cast<int>(i));
    }
  }
  return result;
}

}  // namespace tendril
