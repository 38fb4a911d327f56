#include "tendril/contact/planar_scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFarthest = 1e9;           // [m]; squares stay finite by far
constexpr double kDepthTolerance = 1e-7;    // [m]
constexpr std::size_t kDepthPieces = 2048;  // of an arc; bounds the work where it follows an edge
constexpr int kEntrySteps = 50;             // of a bisection

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::string point_text(const Vector2d& p) {
  return "(" + number(p.x()) + ", " + number(p.y()) + ") m";
}

bool is_usable(const Vector2d& p) {
  return std::abs(p.x()) <= kFarthest && std::abs(p.y()) <= kFarthest;  // false for NaN
}

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

/// Tells whether the closed segments have a point in common.
bool segments_meet(const Vector2d& a, const Vector2d& b, const Vector2d& c, const Vector2d& d) {
  const auto within = [](const Vector2d& p, const Vector2d& q, const Vector2d& r) {
    return std::min(p.x(), q.x()) <= r.x() && r.x() <= std::max(p.x(), q.x()) &&
           std::min(p.y(), q.y()) <= r.y() && r.y() <= std::max(p.y(), q.y());
  };
  const double abc = cross(b - a, c - a), abd = cross(b - a, d - a);
  const double cda = cross(d - c, a - c), cdb = cross(d - c, b - c);
  if (((abc > 0) != (abd > 0)) && ((cda > 0) != (cdb > 0)) && abc != 0 && abd != 0 && cda != 0 &&
      cdb != 0)
    return true;
  return (abc == 0 && within(a, b, c)) || (abd == 0 && within(a, b, d)) ||
         (cda == 0 && within(c, d, a)) || (cdb == 0 && within(c, d, b));
}

double signed_area(const std::vector<Vector2d>& corners) {
  double twice = 0.0;
  for (std::size_t i = 0; i < corners.size(); ++i)
    twice += cross(corners[i] - corners[0], corners[(i + 1) % corners.size()] - corners[0]);
  return 0.5 * twice;
}

void check(const Polygon& polygon) {
  const auto& corners = polygon.corners;
  const std::size_t n = corners.size();
  require("polygon", "number of corners", static_cast<double>(n), {.low = 3.0});
  if (n > kMaxCorners)
    throw ModelError("polygon: has " + std::to_string(n) + " corners, must have at most " +
                     std::to_string(kMaxCorners));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string corner = "polygon: corner " + std::to_string(i) + ": ";
    if (!is_usable(corners[i]))
      throw ModelError(corner + point_text(corners[i]) + ", must be finite and within 1e9 m");
    const std::size_t next = (i + 1) % n;
    if (corners[i] == corners[next])
      throw ModelError(corner + point_text(corners[i]) + ", must lie apart from corner " +
                       std::to_string(next));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Vector2d &a = corners[i], &b = corners[(i + 1) % n];
    const Vector2d& after = corners[(i + 2) % n];
    if (cross(b - a, after - b) == 0.0 && (b - a).dot(after - b) < 0.0)
      throw ModelError("polygon: corner " + std::to_string((i + 1) % n) +
                       ": the outline turns back on itself here, must enclose an area");
    for (std::size_t j = i + 2; j < n; ++j) {
      if (i == 0 && j == n - 1) continue;  // neighbors
      if (segments_meet(a, b, corners[j], corners[(j + 1) % n]))
        throw ModelError(
            "polygon: edges " + std::to_string(i) + " and " + std::to_string(j) +
            " cross or touch, must keep apart (edge i runs from corner i to the next)");
    }
  }
}

/// Holds all corners; not the smallest such disc.
Disc bounding_disc(const Polygon& polygon) {
  Vector2d low = polygon.corners[0], high = low;
  for (const Vector2d& p : polygon.corners) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  Disc disc{0.5 * (low + high), 0.0};
  for (const Vector2d& p : polygon.corners)
    disc.radius = std::max(disc.radius, (p - disc.center).norm());
  return disc;
}

double disc_distance(const Disc& disc, const Vector2d& point, Vector2d* gradient) noexcept {
  const Vector2d from = point - disc.center;
  const double d = from.norm();
  if (gradient != nullptr) *gradient = d > 0.0 ? Vector2d(from / d) : Vector2d::UnitX();
  return d - disc.radius;
}

/// The nearest point of the outline gives the size, a ray's crossings with it give the sign.
double polygon_distance(const Polygon& polygon, const Vector2d& point,
                        Vector2d* gradient) noexcept {
  const auto& corners = polygon.corners;
  double squared = kInfinity;
  bool inside = false;
  Vector2d nearest = corners[0];
  std::size_t edge = 0;
  for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const Vector2d &a = corners[j], &b = corners[i];
    const Vector2d q = nearest_on_segment(point, a, b);
    if (const double d = (point - q).squaredNorm(); d < squared) {
      squared = d;
      nearest = q;
      edge = j;
    }
    if ((a.y() > point.y()) != (b.y() > point.y())) {
      const double side = cross(b - a, point - a);  // which side of the edge the point is on
      if ((side > 0.0) == (b.y() > a.y())) inside = !inside;
    }
  }
  const double d = std::sqrt(squared);
  if (gradient != nullptr) {
    if (d > 0.0) {
      *gradient = (inside ? -1.0 : 1.0) / d * (point - nearest);
    } else {  // on the outline: the outer normal of the edge
      const Vector2d along = corners[(edge + 1) % corners.size()] - corners[edge];
      const Vector2d right = Vector2d(along.y(), -along.x()).normalized();
      *gradient = signed_area(corners) > 0.0 ? right : Vector2d(-right);
    }
  }
  return inside ? -d : d;
}

double shape_distance(const PlanarObstacle& shape, const Vector2d& point,
                      Vector2d* gradient) noexcept {
  if (const Disc* disc = std::get_if<Disc>(&shape)) return disc_distance(*disc, point, gradient);
  return polygon_distance(*std::get_if<Polygon>(&shape), point, gradient);
}

/// Distance of the backbone from a shape, and where it enters it.
struct Approach {
  double distance = kInfinity;  ///< [m]; polygons: 0 where it enters
  double entry = kInfinity;     ///< arc length at which the backbone enters [m]; discs: not set
};

/// Distance between the backbone and the polygon's outline; 0 and the arc length of the first
/// crossing where it enters, 0 and 0 where it starts inside.
Approach outline_approach(const PlanarArc& arc, const Polygon& polygon) noexcept {
  Approach result;
  const auto& corners = polygon.corners;
  for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const ArcSegmentDistance d = segment_distance(arc, corners[j], corners[i]);
    result.distance = std::min(result.distance, d.distance);
    if (d.first_crossing) result.entry = std::min(result.entry, *d.first_crossing);
  }
  if (polygon_distance(polygon, arc.start.position, nullptr) <= 0.0)
    result = {.distance = 0.0, .entry = 0.0};
  return result;
}

/// Least signed distance of the backbone to a polygon that it enters, by halving the arc: the
/// distance changes by at most the arc length.
double depth(const PlanarArc& arc, const Polygon& polygon) noexcept {
  struct Piece {
    double from, to, at_from, at_to;
  };
  const auto value = [&](double s) {
    return polygon_distance(polygon, arc.pose_at(s).position, nullptr);
  };
  std::array<Piece, kDepthPieces> pieces;
  std::size_t count = 0;
  pieces[count++] = {0.0, arc.length, value(0.0), value(arc.length)};
  double best = std::min(pieces[0].at_from, pieces[0].at_to);
  // The longest pieces first, so that the bound on their number affects all of them alike.
  for (std::size_t next = 0; next < count && count + 2 <= pieces.size(); ++next) {
    const Piece piece = pieces[next];
    const double bound = 0.5 * (piece.at_from + piece.at_to - (piece.to - piece.from));
    if (bound >= best - kDepthTolerance) continue;
    const double middle = 0.5 * (piece.from + piece.to);
    const double at_middle = value(middle);
    best = std::min(best, at_middle);
    pieces[count++] = {piece.from, middle, piece.at_from, at_middle};
    pieces[count++] = {middle, piece.to, at_middle, piece.at_to};
  }
  return best;
}

/// Arc length at which the arc enters the disc, its nearest point being inside: between the point
/// opposite and the nearest point the arc only approaches.
double disc_entry(const PlanarArc& arc, const Disc& disc) noexcept {
  double inside = arc.nearest_parameter(disc.center);
  double outside = arc.curvature == 0.0
                       ? 0.0
                       : std::max(0.0, inside - std::numbers::pi / std::abs(arc.curvature));
  const auto distance = [&](double s) {
    return (arc.pose_at(s).position - disc.center).norm() - disc.radius;
  };
  if (distance(outside) <= 0.0) return outside;
  for (int i = 0; i < kEntrySteps; ++i) {
    const double middle = 0.5 * (inside + outside);
    (distance(middle) <= 0.0 ? inside : outside) = middle;
  }
  return inside;
}

/// A distance above `enough` is not computed exactly: the result is then some number >= `enough`
/// and
/// <= the distance.
Approach approach(const PlanarArc& arc, const PlanarObstacle& shape, const Disc& bound,
                  double enough) noexcept {
  Approach result{.distance = arc.distance(bound.center) - bound.radius};
  if (result.distance >= enough) return result;
  if (std::holds_alternative<Disc>(shape)) return result;
  const Polygon& polygon = *std::get_if<Polygon>(&shape);
  result = outline_approach(arc, polygon);
  // The backbone may just touch a corner, so that rounding decides whether it crosses.
  if (std::isfinite(result.entry) && enough <= 0.0) result.distance = depth(arc, polygon);
  return result;
}

}  // namespace

Polygon box_polygon(double x_low, double x_high, double z_low, double z_high) {
  return {{{x_low, z_low}, {x_high, z_low}, {x_high, z_high}, {x_low, z_high}}};
}

void PlanarScene::add(Disc disc) {
  if (!is_usable(disc.center))
    throw ModelError("disc: center = " + point_text(disc.center) +
                     ", must be finite and within 1e9 m");
  require("disc", "radius", disc.radius, {.low = 0.0, .high = kFarthest}, "m");
  items_.push_back({disc, disc});
}

void PlanarScene::add(Polygon polygon) {
  check(polygon);
  const Disc bound = bounding_disc(polygon);
  items_.push_back({std::move(polygon), bound});
}

double PlanarScene::obstacle_distance(int index, const Vector2d& point,
                                      Vector2d* gradient) const noexcept {
  return shape_distance(obstacle(index), point, gradient);
}

double PlanarScene::distance(const Vector2d& point, Vector2d* gradient) const noexcept {
  double best = kInfinity;
  if (gradient != nullptr) gradient->setZero();
  for (const Item& item : items_) {
    if (disc_distance(item.bound, point, nullptr) > best) continue;
    Vector2d direction = Vector2d::Zero();
    const double d = shape_distance(item.shape, point, gradient != nullptr ? &direction : nullptr);
    if (d > best) continue;
    if (gradient != nullptr) {
      // Of two obstacles equally near, the direction decides, not their order.
      const bool first = d < best || direction.x() < gradient->x() ||
                         (direction.x() == gradient->x() && direction.y() < gradient->y());
      if (first) *gradient = direction;
    }
    best = d;
  }
  return best;
}

ArcContact PlanarScene::nearest(const PlanarArc& arc, double body_radius) const noexcept {
  double best = kInfinity;  // of the backbone
  ArcContact contact;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    double d = arc.distance(item.bound.center) - item.bound.radius;
    if (d >= best) continue;
    if (const Polygon* polygon = std::get_if<Polygon>(&item.shape)) {
      const Approach to = outline_approach(arc, *polygon);
      d = to.distance > 0.0 ? to.distance : depth(arc, *polygon);
    }
    if (d >= best) continue;
    best = d;
    contact = {best - body_radius, static_cast<int>(i)};
  }
  return contact;
}

double PlanarScene::clearance(const PlanarArc& arc, double body_radius) const noexcept {
  return nearest(arc, body_radius).clearance;
}

bool PlanarScene::is_clear(const PlanarArc& arc, double body_radius,
                           double tolerance) const noexcept {
  const double least = body_radius - tolerance;
  return std::none_of(items_.begin(), items_.end(), [&](const Item& item) {
    return approach(arc, item.shape, item.bound, least).distance < least;
  });
}

int PlanarScene::blocking_obstacle(const PlanarArc& arc, double body_radius,
                                   double tolerance) const noexcept {
  const double least = body_radius - tolerance;
  Approach worst;
  int blocking = -1;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Approach to = approach(arc, items_[i].shape, items_[i].bound, least);
    if (!(to.distance < least)) continue;
    if (const Disc* disc = std::get_if<Disc>(&items_[i].shape); disc && to.distance < 0.0)
      to.entry = disc_entry(arc, *disc);
    if (std::isfinite(to.entry)) to.distance = -kInfinity;  // among these the first one counts
    if (to.distance > worst.distance) continue;
    if (to.distance == worst.distance && to.entry >= worst.entry) continue;
    worst = to;
    blocking = static_cast<int>(i);
  }
  return blocking;
}

}  // namespace tendril
