#include "tendril/avoidance/ground_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <queue>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBlocked = 1e9;  // time where there is no path: finite, for interpolation
constexpr double kFarthest = 1e8;
constexpr double kNearSpeed =
    0.25;                       // at the disc's radius from an obstacle; 1 at twice this distance
constexpr int kDirections = 9;  // tried in a step of a path with limited curvature
constexpr int kFreeDirections = 32;
constexpr int kOpenings = 8;  // turns to one side with which a path may begin

/// Squares of the distances to the nearest zero of f along a line, in cells: the lower envelope of
/// parabolas. [Felzenszwalb] 2.1.
class LineTransform {
 public:
  explicit LineTransform(int longest)
      : f_(static_cast<std::size_t>(longest)),
        vertex_(static_cast<std::size_t>(longest)),
        border_(static_cast<std::size_t>(longest) + 1) {}

  template <class At>
  void run(int n, At&& at) {
    const auto u = [](int i) { return static_cast<std::size_t>(i); };
    for (int i = 0; i < n; ++i) f_[u(i)] = at(i);
    int k = 0;
    vertex_[0] = 0;
    border_[0] = -kInfinity;
    border_[1] = kInfinity;
    const auto crossing = [&](int q, int p) {
      return ((f_[u(q)] + double(q) * q) - (f_[u(p)] + double(p) * p)) / (2.0 * (q - p));
    };
    for (int q = 1; q < n; ++q) {
      double s = crossing(q, vertex_[u(k)]);
      while (s <= border_[u(k)]) s = crossing(q, vertex_[u(--k)]);
      vertex_[u(++k)] = q;
      border_[u(k)] = s;
      border_[u(k + 1)] = kInfinity;
    }
    k = 0;
    for (int q = 0; q < n; ++q) {
      while (border_[u(k + 1)] < q) ++k;
      const double d = q - vertex_[u(k)];
      at(q) = d * d + f_[u(vertex_[u(k)])];
    }
  }

 private:
  std::vector<double> f_;
  std::vector<int> vertex_;
  std::vector<double> border_;
};

/// Marks the cells of a block whose centers are within half a cell of an obstacle. A block that is
/// too far away is left as a whole.
struct Marker {
  const Obstacles& obstacles;
  const Vector2d& low;
  double cell;
  std::vector<double>& table;
  int columns;

  void mark(int column, int row, int width, int height, double z) {
    const Vector2d middle = low + cell * Vector2d(column + 0.5 * width, row + 0.5 * height);
    const double half = 0.5 * cell * hypotenuse(width - 1, height - 1) + 0.5 * cell;
    if (obstacles.nearest(Vector3d(middle.x(), middle.y(), z), half).obstacle < 0) return;
    if (width == 1 && height == 1) {
      table[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
            static_cast<std::size_t>(column)] = 0.0;
      return;
    }
    if (width >= height) {
      mark(column, row, width / 2, height, z);
      mark(column + width / 2, row, width - width / 2, height, z);
    } else {
      mark(column, row, width, height / 2, z);
      mark(column, row + height / 2, width, height - height / 2, z);
    }
  }
};

}  // namespace

GroundMap::GroundMap(const Obstacles& obstacles, const GroundMapOptions& options)
    : low_(options.low), cell_(options.cell) {
  const Vector2d size = (options.high - options.low) / cell_;
  if (!(size.x() * size.y() <= kMaxCells)) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "the map of %.3g m x %.3g m in cells of %.3g m: must have at most %d cells",
                  size.x() * cell_, size.y() * cell_, cell_, kMaxCells);
    throw ModelError(text);
  }
  columns_ = std::max(2, static_cast<int>(std::ceil(size.x())));
  rows_ = std::max(2, static_cast<int>(std::ceil(size.y())));
  const double far = 4.0 * (double(columns_) * columns_ + double(rows_) * rows_);
  distance_.assign(index(0, rows_), far);
  Marker marker{obstacles, low_, cell_, distance_, columns_};
  if (obstacles.count() > 0)
    for (const double z : options.heights) marker.mark(0, 0, columns_, rows_, z);
  LineTransform line(std::max(columns_, rows_));
  for (int c = 0; c < columns_; ++c)
    line.run(rows_, [&](int r) -> double& { return distance_[index(c, r)]; });
  for (int r = 0; r < rows_; ++r)
    line.run(columns_, [&](int c) -> double& { return distance_[index(c, r)]; });
  for (int r = 0; r < rows_; ++r) {
    for (int c = 0; c < columns_; ++c) {
      const int border = std::min(std::min(c, columns_ - 1 - c), std::min(r, rows_ - 1 - r));
      double& d = distance_[index(c, r)];
      d = cell_ * std::min(std::sqrt(d), border + 0.5);
    }
  }
}

bool GroundMap::contains(const Vector2d& p) const noexcept {
  const Vector2d q = (p - low_) / cell_;
  return q.x() >= 0.0 && q.y() >= 0.0 && q.x() <= columns_ && q.y() <= rows_;
}

double GroundMap::interpolate(std::span<const double> table, const Vector2d& p) const noexcept {
  const Vector2d q = cell_of(p);
  const int c = std::clamp(static_cast<int>(std::floor(q.x())), 0, columns_ - 2);
  const int r = std::clamp(static_cast<int>(std::floor(q.y())), 0, rows_ - 2);
  const double x = std::clamp(q.x() - c, 0.0, 1.0), y = std::clamp(q.y() - r, 0.0, 1.0);
  const double low = (1.0 - x) * table[index(c, r)] + x * table[index(c + 1, r)];
  const double high = (1.0 - x) * table[index(c, r + 1)] + x * table[index(c + 1, r + 1)];
  return (1.0 - y) * low + y * high;
}

double GroundMap::clearance(const Vector2d& p) const noexcept {
  return contains(p) ? interpolate(distance_, p) : -1.0;
}

double GroundPaths::slowness(double clearance) const noexcept {
  const double speed = kNearSpeed + (1.0 - kNearSpeed) * (clearance - radius_) / radius_;
  return 1.0 / std::clamp(speed, kNearSpeed, 1.0);
}

GroundPaths::GroundPaths(const GroundMap& map, const Vector2d& goal, double radius)
    : map_(map), goal_(goal), radius_(radius), time_(map.index(0, map.rows()), kBlocked) {
  if (!(map.clearance(goal) >= radius)) return;
  const auto open = [&](int c, int r) {
    return c >= 0 && r >= 0 && c < map.columns() && r < map.rows() && map.clearance(c, r) >= radius;
  };
  const auto at = [&](int c, int r) { return open(c, r) ? time_[map.index(c, r)] : kBlocked; };
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> front;
  const auto cells = static_cast<std::size_t>(map.columns());
  std::vector<char> known(time_.size(), 0);
  const double h = map.cell();
  for (int r = 0; r < map.rows(); ++r) {
    for (int c = 0; c < map.columns(); ++c) {
      const double away = (map.center(c, r) - goal).norm();
      if (away > 1.5 * h || !open(c, r)) continue;
      time_[map.index(c, r)] = away * slowness(map.clearance(c, r));
      front.emplace(time_[map.index(c, r)], map.index(c, r));
    }
  }
  while (!front.empty()) {
    const auto [now, i] = front.top();
    front.pop();
    if (known[i] != 0) continue;
    known[i] = 1;
    const int column = static_cast<int>(i % cells), row = static_cast<int>(i / cells);
    for (const auto& [dc, dr] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      const int c = column + dc, r = row + dr;
      if (!open(c, r) || known[map.index(c, r)] != 0) continue;
      // |grad t| = slowness, by upwind differences
      const double a = std::min(at(c - 1, r), at(c + 1, r)),
                   b = std::min(at(c, r - 1), at(c, r + 1));
      const double step = h * slowness(map.clearance(c, r));
      const double t = std::abs(a - b) < step
                           ? 0.5 * (a + b + std::sqrt(2.0 * step * step - (a - b) * (a - b)))
                           : std::min(a, b) + step;
      double& best = time_[map.index(c, r)];
      if (t < best) {
        best = t;
        front.emplace(t, map.index(c, r));
      }
    }
  }
}

double GroundPaths::time(const Vector2d& p) const noexcept {
  if (!map_.contains(p)) return kInfinity;
  const double t = map_.interpolate(time_, p);
  if (t < kFarthest) return t;
  // Next to a closed cell: from an open one.
  const Vector2d q = map_.cell_of(p);
  double least = kInfinity;
  for (const double x : {std::floor(q.x()), std::floor(q.x()) + 1.0})
    for (const double y : {std::floor(q.y()), std::floor(q.y()) + 1.0}) {
      const int c = static_cast<int>(x), r = static_cast<int>(y);
      if (c < 0 || r < 0 || c >= map_.columns() || r >= map_.rows()) continue;
      const double there = time_[map_.index(c, r)];
      if (there < kFarthest)
        least = std::min(least, there + (map_.center(c, r) - p).norm() / kNearSpeed);
    }
  return least;
}

GroundPaths::Traced GroundPaths::descend(const Start& start, double spacing,
                                         double opening_curvature, double opening_length,
                                         Eigen::Ref<Eigen::Matrix2Xd> points) const noexcept {
  const bool is_free = !std::isfinite(start.max_curvature);
  Vector2d p = start.position;
  double heading = start.heading, spent = 0.0;
  bool leaving = map_.clearance(p) < radius_;  // pushed too near to an obstacle
  Traced made;
  const auto count = static_cast<int>(points.cols());
  if (count == 0) return made;
  points.col(0) = p;
  made.count = 1;
  for (double s = 0.0; made.count < count; s += spacing) {
    if ((goal_ - p).norm() <= std::max(start.arrival, 0.5 * spacing)) {
      made.time = spent;
      return made;
    }
    double best = kInfinity, chosen = heading;
    const bool opening = s < opening_length;
    const int directions = opening ? 1 : is_free ? kFreeDirections : kDirections;
    for (int k = 0; k < directions; ++k) {
      const double part = directions == 1 ? 0.0 : 2.0 * k / (directions - 1) - 1.0;  // in [-1, 1]
      const double turn = opening   ? opening_curvature * spacing
                          : is_free ? std::numbers::pi * part
                                    : start.max_curvature * spacing * part;
      const double direction = heading + turn;
      // looked at a little farther, where directions differ more
      const Vector2d there = p + std::max(spacing, 2.0 * map_.cell()) *
                                     Vector2d(std::cos(direction), std::sin(direction));
      const double clearance = map_.clearance(there);
      if (clearance < 0.0) continue;
      const double t =
          leaving ? kBlocked * (2.0 - clearance / radius_) : map_.interpolate(time_, there);
      if (t < best) {
        best = t;
        chosen = direction;
      }
    }
    if (!(best < kInfinity)) return {};
    heading = chosen;
    p += spacing * Vector2d(std::cos(heading), std::sin(heading));
    const double clearance = map_.clearance(p);
    if (clearance >= radius_) leaving = false;
    if (clearance < (leaving ? 0.0 : radius_ - map_.cell()) || (leaving && s > 2.0 * radius_))
      return {};
    spent += spacing * slowness(clearance);
    points.col(made.count++) = p;
  }
  made.time = spent + time(p);
  return made;
}

int GroundPaths::trace(const Start& start, double spacing,
                       Eigen::Ref<Eigen::Matrix2Xd> points) const noexcept {
  if (!std::isfinite(start.max_curvature)) {
    const Traced way = descend(start, spacing, 0.0, 0.0, points);
    return way.time < kFarthest ? way.count : 0;
  }
  const double around = 2.0 * std::numbers::pi / start.max_curvature;
  double best = kInfinity, curvature = 0.0, length = 0.0;
  for (int k = 0; k <= kOpenings; ++k) {
    for (const double side : {1.0, -1.0}) {
      if (k == 0 && side < 0.0) continue;
      const double opening = around * k / kOpenings;
      const Traced way = descend(start, spacing, side * start.max_curvature, opening, points);
      if (way.time < best) {
        best = way.time;
        curvature = side * start.max_curvature;
        length = opening;
      }
    }
  }
  if (!(best < kFarthest)) return 0;
  return descend(start, spacing, curvature, length, points).count;
}

}  // namespace tendril
