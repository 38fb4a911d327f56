#include "tendril/model/tube/branch_wall.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using std::numbers::pi;

using Cones = std::vector<RoundCone>;

constexpr std::size_t kMaxStaves = 50'000;
constexpr double kOnSurface = 1e-6;      // [m]
constexpr double kFarthest = 2.0;        // of the radius: from the centerline to the wall
constexpr double kLargestSpacing = 1.8;  // of the radius of a stave, between two of them
constexpr double kRingSpacing = 1.5;     // of the radius of a stave: openings are wider
constexpr int kMinStaves = 8;            // around a branch
constexpr int kMaxHalvings = 12;         // of the distance between two rings
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Distance of a point from the segment between two others.
double off_chord(const Vector3d& start, const Vector3d& end, const Vector3d& p) {
  const Vector3d chord = end - start;
  const double f = chord.squaredNorm() > 0.0
                       ? std::clamp((p - start).dot(chord) / chord.squaredNorm(), 0.0, 1.0)
                       : 0.0;
  return (p - start - f * chord).norm();
}

/// The branch without points that others represent within `deviation` [m].
CenterlineBranch simplified(const CenterlineBranch& branch, double deviation) {
  const auto& [name, points, radii] = branch;
  const auto represents = [&](std::size_t from, std::size_t to) {
    const double length = (points[to] - points[from]).norm();
    for (std::size_t k = from + 1; k < to; ++k) {
      const double f = (points[k] - points[from]).norm() / length;
      if (off_chord(points[from], points[to], points[k]) > deviation ||
          std::abs((1.0 - f) * radii[from] + f * radii[to] - radii[k]) > deviation)
        return false;
    }
    return true;
  };
  CenterlineBranch simple{name, {points.front()}, {radii.front()}};
  for (std::size_t from = 0; from + 1 < points.size();) {
    std::size_t to = from + 1;
    while (to + 1 < points.size() && represents(from, to + 1)) ++to;
    simple.points.push_back(points[to]);
    simple.radii.push_back(radii[to]);
    from = to;
  }
  return simple;
}

CenterlineTree simplified(const CenterlineTree& branches, double deviation) {
  CenterlineTree simple;
  for (const CenterlineBranch& branch : branches) simple.push_back(simplified(branch, deviation));
  return simple;
}

/// A ball whose center runs along a centerline [m].
struct Ball {
  Vector3d center;
  double radius;
  double arc_length;
};

/// The points of a branch, and others between them, at most `spacing` apart.
std::vector<Ball> balls(const CenterlineBranch& branch, double spacing) {
  std::vector<Ball> all{{branch.points[0], branch.radii[0], 0.0}};
  for (std::size_t i = 1; i < branch.points.size(); ++i) {
    const Ball a = all.back();
    const Vector3d step = branch.points[i] - a.center;
    const int parts = std::max(1, static_cast<int>(std::ceil(step.norm() / spacing - 1e-9)));
    for (int k = 1; k <= parts; ++k) {
      const double f = static_cast<double>(k) / parts;
      all.push_back({a.center + f * step, (1.0 - f) * a.radius + f * branch.radii[i],
                     a.arc_length + f * step.norm()});
    }
  }
  return all;
}

/// A branch among the others.
class Surroundings {
 public:
  Surroundings(const CenterlineTree& tree, std::size_t own) : own_(own) {
    for (const CenterlineBranch& branch : tree) cones_.push_back(round_cones(branch));
  }
  [[nodiscard]] const std::vector<Cones>& cones() const noexcept { return cones_; }
  /// Tells whether a point lies in the lumen of a branch that is neither this one nor `except`.
  [[nodiscard]] bool in_another(const Vector3d& p, std::size_t except = kNone) const {
    for (std::size_t b = 0; b < cones_.size(); ++b)
      if (b != own_ && b != except && distance(cones_[b], p) < 0.0) return true;
    return false;
  }

  /// Chooses the cones within `reach` of a point, for the distances below.
  void look_around(const Vector3d& p, double reach) {
    own_near_.clear();
    others_near_.clear();
    for (std::size_t b = 0; b < cones_.size(); ++b)
      for (const RoundCone& cone : cones_[b])
        if (cone.distance(p) < reach) (b == own_ ? own_near_ : others_near_).push_back(cone);
  }
  /// Distance from the lumen of the branch, and from the others.
  [[nodiscard]] double own_distance(const Vector3d& p) const { return distance(own_near_, p); }
  [[nodiscard]] double others_distance(const Vector3d& p) const {
    return distance(others_near_, p);
  }

 private:
  std::size_t own_;
  std::vector<Cones> cones_;
  Cones own_near_, others_near_;
};

struct Ray {
  Vector3d from, direction;
};

Ray between(const Ray& a, const Ray& b) {
  return {(a.from + b.from) / 2.0, (a.direction + b.direction).normalized()};
}

/// Rays from a point of the centerline, around it. Over the ends of a branch they tilt along it.
struct Ring {
  Vector3d center;
  Matrix3d frame;  ///< z along the centerline
  double radius;   ///< of the lumen [m]
  double tilt = 0.0;

  /// Ray number `i` of `count` around the ring.
  [[nodiscard]] Ray ray(std::size_t i, std::size_t count) const {
    const double angle = 2.0 * pi * static_cast<double>(i) / static_cast<double>(count);
    const Vector3d across = std::cos(angle) * frame.col(0) + std::sin(angle) * frame.col(1);
    return {center, std::cos(tilt) * across + std::sin(tilt) * frame.col(2)};
  }
};

/// The ring at an end, tilted step by step until it looks along the branch: `sign` 1, or -1.
std::vector<Ring> rings_over_end(const Ring& end, double sign, double spacing) {
  const int steps = static_cast<int>(std::ceil(pi / 2.0 * (end.radius + spacing) / spacing));
  std::vector<Ring> rings(static_cast<std::size_t>(steps), end);
  for (int i = 0; i < steps; ++i)
    rings[static_cast<std::size_t>(i)].tilt = sign * pi / 2.0 * (i + 1) / steps;
  return rings;
}

/// Rings along a branch, at most `spacing` apart, without twist. Those over an end that joins
/// another branch are added.
std::vector<Ring> rings_along(const CenterlineBranch& branch, const Surroundings& around,
                              double spacing) {
  const std::vector<Ball> line = balls(branch, spacing);
  const std::size_t last = line.size() - 1;
  std::vector<Ring> rings;
  Vector3d before = Vector3d::UnitZ();
  Matrix3d frame = Matrix3d::Identity();
  for (std::size_t k = 0; k <= last; ++k) {
    const Vector3d tangent = line[std::min(k + 1, last)].center - line[k == 0 ? 0 : k - 1].center;
    frame = rotation_between(before, tangent) * frame;
    before = tangent;
    rings.push_back({line[k].center, frame, line[k].radius});
  }
  if (around.in_another(rings.back().center)) {
    const std::vector<Ring> over = rings_over_end(rings.back(), 1.0, spacing);
    rings.insert(rings.end(), over.begin(), over.end());
  }
  if (around.in_another(rings.front().center)) {
    const std::vector<Ring> over = rings_over_end(rings.front(), -1.0, spacing);
    rings.insert(rings.begin(), over.rbegin(), over.rend());
  }
  return rings;
}

/// The surface at a height above the lumen of a branch, as rays from its centerline meet it.
class Surface {
 public:
  Surface(Surroundings& around, double height) : around_(around), height_(height) {}

  /// Prepares for rays between two neighboring rings.
  void look_between(const Ring& from, const Ring& to) {
    farthest_ = kFarthest * (std::max(from.radius, to.radius) + height_);
    around_.look_around(from.center, farthest_ + height_ + (to.center - from.center).norm());
  }

  /// Where a ray meets the surface; nothing if another lumen is there.
  [[nodiscard]] std::optional<Vector3d> point(const Ray& ray) const {
    constexpr int kMarches = 100;
    double s = 0.0;
    for (int i = 0; i < kMarches && s < farthest_; ++i) {
      const Vector3d p = ray.from + s * ray.direction;
      const double step = height_ - around_.own_distance(p);  // the surface is not nearer
      if (step < kOnSurface)
        return around_.others_distance(p) < height_ - kOnSurface ? std::nullopt : std::optional(p);
      s += step;
    }
    return std::nullopt;
  }

 private:
  Surroundings& around_;
  double height_, farthest_ = 0.0;
};

/// Points along a branch; where another branch is in the way, there is none.
using Line = std::vector<std::optional<Vector3d>>;

/// Adds points between those of two rays until the chords are within `deviation` of the surface,
/// and up to the edge of an opening.
void divide(const Surface& surface, const Ray& a, const std::optional<Vector3d>& start,
            const Ray& b, const std::optional<Vector3d>& end, double deviation, int halvings,
            Line& line) {
  if (!start && !end) return;
  if (halvings == kMaxHalvings) {
    if (start && end) line.emplace_back();  // the surface jumps
    return;
  }
  const Ray middle = between(a, b);
  const std::optional<Vector3d> point = surface.point(middle);
  if (start && end && point && off_chord(*start, *end, *point) < deviation) return;
  divide(surface, a, start, middle, point, deviation, halvings + 1, line);
  line.push_back(point);
  divide(surface, middle, point, b, end, deviation, halvings + 1, line);
}

/// Continues a line from one ray to the next.
void continue_line(const Surface& surface, const Ray& from, const Ray& to, double deviation,
                   Line& line) {
  if (line.empty() || !line.back()) line.push_back(surface.point(from));
  const std::optional<Vector3d> start = line.back(), end = surface.point(to);
  divide(surface, from, start, to, end, deviation, 0, line);
  line.push_back(end);
}

/// Staves that branches of this radius need around them, so that they touch one another and the
/// grooves between them are not deeper than the tolerance.
int staves_around(double radius, double wall, double tolerance) {
  for (int count = kMinStaves;; ++count) {
    const double half = pi / count, ring = radius + wall;
    const double beside = ring * std::sin(half);
    if (2.0 * beside > kLargestSpacing * wall) continue;
    const double groove = ring * std::cos(half) - std::sqrt(wall * wall - beside * beside) - radius;
    if (groove <= tolerance) return count;
  }
}

/// How many lines are drawn around a branch, and which of them a ring of a radius needs: every
/// one, every second, every fourth...
struct LineCount {
  double wall, tolerance;
  int least;
  std::size_t all;

  LineCount(const std::vector<Ring>& rings, double wall_, double tolerance_)
      : wall(wall_), tolerance(tolerance_) {
    const auto by_radius = [](const Ring& a, const Ring& b) { return a.radius < b.radius; };
    const auto [low, high] = std::minmax_element(rings.begin(), rings.end(), by_radius);
    least = staves_around(low->radius, wall, tolerance);
    all = static_cast<std::size_t>(enough_for(high->radius));
  }
  [[nodiscard]] std::size_t stride(double radius) const {
    return all / static_cast<std::size_t>(enough_for(radius));
  }

 private:
  [[nodiscard]] int enough_for(double radius) const {
    const int needed = staves_around(radius, wall, tolerance);
    int count = least;
    while (count < needed) count *= 2;
    return count;
  }
};

/// Adds staves along a line: the fewest from point to point that stay within `deviation` of it.
void add_staves(const Line& line, double deviation, const std::string& name, int& number,
                std::vector<TubeStave>& staves) {
  for (std::size_t i = 0; i + 1 < line.size();) {
    if (!line[i] || !line[i + 1]) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    const auto is_straight_to = [&](std::size_t next) {
      if (next >= line.size() || !line[next]) return false;
      for (std::size_t k = i + 1; k < next; ++k)
        if (off_chord(*line[i], *line[next], *line[k]) > deviation) return false;
      return true;
    };
    while (is_straight_to(end + 1)) ++end;
    staves.push_back({*line[i], *line[end], fmt::format("{}_{}", name, ++number)});
    if (staves.size() > kMaxStaves)
      throw ModelError(
          fmt::format("centerline: the wall has more than {} staves, give a larger tolerance or a "
                      "larger wall_thickness",
                      kMaxStaves));
    i = end;
  }
}

/// Draws the surface between four rays, up to where another lumen begins.
void add_patch(const Surface& surface, const std::array<Ray, 4>& rays, LumenSurface& drawn) {
  std::vector<std::size_t> corners;
  const auto add = [&](const Vector3d& p) {
    corners.push_back(drawn.vertices.size());
    drawn.vertices.push_back(p);
  };
  for (std::size_t i = 0; i < rays.size(); ++i) {
    Ray on = rays[i], off = rays[(i + 1) % rays.size()];
    std::optional<Vector3d> edge = surface.point(on);
    if (edge) add(*edge);
    if (edge.has_value() == surface.point(off).has_value()) continue;
    if (!edge) {
      std::swap(on, off);
      edge = surface.point(on);
    }
    for (int k = 0; k < kMaxHalvings; ++k) {
      const Ray middle = between(on, off);
      const std::optional<Vector3d> point = surface.point(middle);
      (point ? on : off) = middle;
      if (point) edge = point;
    }
    add(*edge);
  }
  for (std::size_t i = 1; i + 1 < corners.size(); ++i)
    drawn.triangles.push_back({corners[0], corners[i], corners[i + 1]});
}

std::string at(const Vector3d& p) {
  return fmt::format("[{:.6g}, {:.6g}, {:.6g}] m", p.x(), p.y(), p.z());
}

/// Refuses a branch that comes near another one where neither ends in the other.
void check_meetings(const CenterlineTree& tree, std::size_t own, const Surroundings& around,
                    double thickness) {
  const CenterlineBranch& branch = tree[own];
  const std::vector<Ball> line = balls(branch, thickness / 2.0);
  for (std::size_t b = 0; b < tree.size(); ++b) {
    if (b == own) continue;
    const Cones& other = around.cones()[b];
    const auto joins = [&](std::size_t k) {
      const auto& [center, radius, _] = line[k];
      if ((k == 0 || k + 1 == line.size()) && distance(other, center) < 0.0) return true;
      for (const Vector3d& end : {tree[b].points.front(), tree[b].points.back()})
        if ((end - center).norm() < radius) return true;
      return around.in_another(center, b);  // both meet a third one there
    };
    for (std::size_t k = 0; k < line.size(); ++k) {
      bool joined = false;
      std::size_t nearest = k;
      double least = thickness;
      for (; k < line.size(); ++k) {
        const double apart = distance(other, line[k].center) - line[k].radius;
        if (apart >= thickness) break;
        joined = joined || joins(k);
        if (apart < least) {
          least = apart;
          nearest = k;
        }
      }
      if (least < thickness && !joined)
        throw ModelError(fmt::format(
            "centerline: branches {} and {}: their lumens {} at {}: must be 2 wall_thickness = {} "
            "m apart where neither ends in the other",
            branch.name, tree[b].name,
            least < 0.0 ? "cross" : fmt::format("are {:.3g} m apart", least),
            at(line[nearest].center), thickness));
    }
  }
}

/// Refuses a branch that comes back to itself.
void check_loops(const CenterlineBranch& branch, double thickness) {
  const std::vector<Ball> line = balls(branch, thickness / 2.0);
  for (std::size_t k = 0; k < line.size(); ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      const double room = line[k].radius + line[j].radius + thickness;
      if ((line[k].center - line[j].center).norm() < room &&
          line[k].arc_length - line[j].arc_length > pi / 2.0 * room)
        throw ModelError(fmt::format(
            "centerline: branch {}: comes back to itself at {}: must be 2 wall_thickness = {} m "
            "away from its own lumen",
            branch.name, at(line[k].center), thickness));
    }
  }
}

void check_radii(const CenterlineBranch& branch, double tolerance) {
  for (std::size_t i = 0; i < branch.radii.size(); ++i) {
    if (branch.radii[i] <= tolerance)
      throw ModelError(fmt::format(
          "centerline: branch {}: radius {} m at {}: must be > tolerance = {} m, by which the "
          "wall may stand in the lumen",
          branch.name, branch.radii[i], at(branch.points[i]), tolerance));
  }
}

}  // namespace

std::vector<TubeStave> branch_staves(const TubeDescription& tube) {
  const double wall = tube.wall_thickness;
  for (const CenterlineBranch& branch : tube.branches) check_radii(branch, tube.tolerance);
  const CenterlineTree branches = simplified(tube.branches, tube.tolerance / 8.0);
  std::vector<TubeStave> staves;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const CenterlineBranch& branch = branches[b];
    Surroundings around(branches, b);
    check_meetings(branches, b, around, 2.0 * wall);
    check_loops(branch, 2.0 * wall);
    const std::vector<Ring> rings = rings_along(branch, around, kRingSpacing * wall);
    const LineCount count(rings, wall, tube.tolerance);
    std::vector<Line> lines(count.all);
    Surface surface(around, wall);
    for (std::size_t k = 0; k + 1 < rings.size(); ++k) {
      const Ring &from = rings[k], &to = rings[k + 1];
      surface.look_between(from, to);
      const std::size_t stride = count.stride(std::max(from.radius, to.radius));
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i % stride == 0)
          continue_line(surface, from.ray(i, count.all), to.ray(i, count.all), tube.tolerance / 4.0,
                        lines[i]);
        else
          lines[i].emplace_back();
      }
    }
    int number = 0;
    for (const Line& line : lines)
      add_staves(line, tube.tolerance / 2.0, branch.name, number, staves);
  }
  return staves;
}

LumenSurface lumen_surface(const CenterlineTree& tree) {
  constexpr std::size_t kAround = 32;
  constexpr double kSimplified = 0.02;  // of the smallest radius
  double smallest = std::numeric_limits<double>::infinity();
  for (const CenterlineBranch& branch : tree)
    for (const double radius : branch.radii) smallest = std::min(smallest, radius);
  const CenterlineTree branches = simplified(tree, kSimplified * smallest);
  LumenSurface drawn;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    Surroundings around(branches, b);
    const std::vector<double>& radii = branches[b].radii;
    const double spacing = *std::min_element(radii.begin(), radii.end());
    const std::vector<Ring> rings = rings_along(branches[b], around, spacing);
    Surface surface(around, 0.0);
    for (std::size_t k = 0; k + 1 < rings.size(); ++k) {
      surface.look_between(rings[k], rings[k + 1]);
      for (std::size_t i = 0; i < kAround; ++i)
        add_patch(surface,
                  {rings[k].ray(i, kAround), rings[k].ray(i + 1, kAround),
                   rings[k + 1].ray(i + 1, kAround), rings[k + 1].ray(i, kAround)},
                  drawn);
    }
  }
  return drawn;
}

}  // namespace tendril
