#include "tendril/path/centerline_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"
#include "tendril/path/path.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr std::array<std::string_view, 5> kColumns{"branch", "x", "y", "z", "radius"};
constexpr double kLargest = 1e6;  // of any number in the table
constexpr double kApart = 1e-9;   // neighboring points [m]
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The fields of a line, without the spaces and quotes around them.
std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view kAround = " \t\r\"";
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    const std::size_t first = field.find_first_not_of(kAround);
    field = first == field.npos ? std::string_view()
                                : field.substr(first, field.find_last_not_of(kAround) - first + 1);
    fields.push_back(field);
    if (comma == line.npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

[[noreturn]] void refuse(std::size_t row, const std::string& what) {
  throw ModelError("row " + std::to_string(row) + ", " + what);
}

/// Place of each of the columns in a row.
std::array<std::size_t, kColumns.size()> read_header(std::string_view line) {
  const std::vector<std::string_view> names = fields_of(line);
  std::array<std::size_t, kColumns.size()> places{};
  const auto text = [](std::string_view name) { return "column " + std::string(name); };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* const known = std::find(kColumns.begin(), kColumns.end(), names[i]);
    if (known == kColumns.end())
      refuse(1, text(names[i]) + ": is unknown, the columns must be branch,x,y,z,radius");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      refuse(1, text(names[i]) + ": is there twice, the columns must be branch,x,y,z,radius");
    places[static_cast<std::size_t>(known - kColumns.begin())] = i;
  }
  for (const std::string_view name : kColumns) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(1, text(name) + ": is missing, the columns must be branch,x,y,z,radius");
  }
  return places;
}

double number(std::string_view text, std::size_t row, std::string_view column) {
  const std::optional<double> value = read_number(text);
  const bool is_radius = column == "radius";
  if (!value || std::abs(*value) > kLargest || (is_radius && !(*value > 0.0)))
    refuse(row, "column " + std::string(column) + ": \"" + std::string(text) + "\": must be a " +
                    (is_radius ? "number > 0" : "finite number") + ", at most 1e6");
  return *value;
}

/// Appends a row to the branch of its name.
void add_row(const std::vector<std::string_view>& fields,
             const std::array<std::size_t, kColumns.size()>& places, std::size_t row, double scale,
             CenterlineTree& tree) {
  if (fields.size() != kColumns.size())
    refuse(row, std::to_string(fields.size()) + " fields: must be 5, branch,x,y,z,radius");
  const auto value = [&](std::size_t column) {
    return scale * number(fields[places[column]], row, kColumns[column]);
  };
  const std::string_view name = fields[places[0]];
  if (name.empty() || name.find_first_of(" \t/") != name.npos)
    refuse(row, "column branch: \"" + std::string(name) +
                    "\": must be a name without spaces and slashes");
  if (tree.empty() || tree.back().name != name) {
    if (std::any_of(tree.begin(), tree.end(), [&](const auto& b) { return b.name == name; }))
      refuse(row, "column branch: \"" + std::string(name) +
                      "\": another branch lies between, the rows of a branch must follow one "
                      "another");
    tree.push_back({std::string(name), {}, {}});
  }
  CenterlineBranch& branch = tree.back();
  const Vector3d point(value(1), value(2), value(3));
  const double radius = value(4);
  if (!branch.points.empty() && (point - branch.points.back()).norm() <= kApart) return;
  branch.points.push_back(point);
  branch.radii.push_back(radius);
}

/// Points of a tree as a graph: neighbors on a branch are connected, and an end that lies in the
/// lumen of another branch with the nearest point of that one.
class RouteGraph {
 public:
  explicit RouteGraph(const CenterlineTree& tree) {
    for (const CenterlineBranch& branch : tree) add(branch);
    for (std::size_t b = 0; b < tree.size(); ++b) {
      for (const std::size_t end : {first_[b], first_[b + 1] - 1}) {
        for (std::size_t other = 0; other < tree.size(); ++other)
          if (other != b && distance(round_cones(tree[other]), points_[end]) < 0.0)
            edges_.emplace_back(end, nearest(other, points_[end]));
      }
    }
  }

  [[nodiscard]] const Vector3d& point(std::size_t n) const { return points_[n]; }
  /// The node of a branch that is nearest to a point.
  [[nodiscard]] std::size_t nearest(std::size_t branch, const Vector3d& p) const {
    std::size_t best = first_[branch];
    for (std::size_t n = best; n < first_[branch + 1]; ++n)
      if ((points_[n] - p).norm() < (points_[best] - p).norm()) best = n;
    return best;
  }

  /// Nodes of the shortest path from the first one; empty: there is none (Dijkstra).
  [[nodiscard]] std::vector<std::size_t> path_to(std::size_t goal) const {
    std::vector<double> length(points_.size(), kInfinity);
    std::vector<std::size_t> before(points_.size(), 0);
    std::vector<bool> done(points_.size(), false);
    length[0] = 0.0;
    while (!done[goal]) {
      std::size_t next = goal;
      for (std::size_t n = 0; n < points_.size(); ++n)
        if (!done[n] && length[n] < length[next]) next = n;
      if (length[next] == kInfinity) return {};
      done[next] = true;
      for (const auto& [a, b] : edges_) {
        if (a != next && b != next) continue;
        const std::size_t other = a == next ? b : a;
        const double through = length[next] + (points_[other] - points_[next]).norm();
        if (through < length[other]) {
          length[other] = through;
          before[other] = next;
        }
      }
    }
    std::vector<std::size_t> path{goal};
    while (path.back() != 0) path.push_back(before[path.back()]);
    std::reverse(path.begin(), path.end());
    return path;
  }

 private:
  /// Adds the points of a branch, and points between those that are far apart for its radius.
  void add(const CenterlineBranch& branch) {
    constexpr double kSpacing = 0.25;  // of the radius
    points_.push_back(branch.points.front());
    for (std::size_t i = 1; i < branch.points.size(); ++i) {
      const Vector3d& a = branch.points[i - 1];
      const Vector3d step = branch.points[i] - a;
      const double spacing = kSpacing * std::min(branch.radii[i - 1], branch.radii[i]);
      const int parts = std::max(1, static_cast<int>(std::ceil(step.norm() / spacing)));
      for (int k = 1; k <= parts; ++k) {
        points_.emplace_back(a + step * k / parts);
        edges_.emplace_back(points_.size() - 2, points_.size() - 1);
      }
    }
    first_.push_back(points_.size());
  }

  std::vector<Vector3d> points_;
  std::vector<std::size_t> first_{0};  // node of each branch, and the number of nodes
  std::vector<std::pair<std::size_t, std::size_t>> edges_;
};

/// Replaces each point of a polyline by the mean of the line within the room around it, less where
/// an end is nearer.
std::vector<Vector3d> rounded(const CenterlineTree& tree, const std::vector<Vector3d>& points) {
  constexpr int kSamples = 8;  // to either side
  std::vector<RoundCone> lumen;
  for (const CenterlineBranch& branch : tree) {
    const std::vector<RoundCone> cones = round_cones(branch);
    lumen.insert(lumen.end(), cones.begin(), cones.end());
  }
  const Path way(points);
  std::vector<Vector3d> mean = points;
  double s = 0.0;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    s += (points[i] - points[i - 1]).norm();
    const double within = std::min({-distance(lumen, points[i]), s, way.length() - s});
    if (within <= 0.0) continue;
    mean[i].setZero();
    for (int k = -kSamples; k <= kSamples; ++k)
      mean[i] += way.position(s + within * k / kSamples) / (2 * kSamples + 1);
  }
  return mean;
}

}  // namespace

CenterlineTree parse_centerlines(std::string_view csv, double scale) {
  CenterlineTree tree;
  std::array<std::size_t, kColumns.size()> places{};
  for (std::size_t row = 1; !csv.empty(); ++row) {
    const std::size_t end = csv.find('\n');
    const std::string_view line = csv.substr(0, end);
    csv.remove_prefix(end == csv.npos ? csv.size() : end + 1);
    if (row == 1)
      places = read_header(line);
    else if (line.find_first_not_of(" \t\r") != line.npos)
      add_row(fields_of(line), places, row, scale, tree);
  }
  if (tree.empty()) throw ModelError("has no points, must be a table branch,x,y,z,radius");
  for (const CenterlineBranch& branch : tree) {
    if (branch.points.size() < 2)
      throw ModelError("branch " + branch.name +
                       ": one point, must be two different ones at least");
  }
  return tree;
}

double RoundCone::distance(const Vector3d& p) const noexcept {
  // Of the balls around start + s t, the one whose surface is nearest: there the line to p is
  // perpendicular to the cone, t . (p - center) = |p - center| sin(slope).
  const Vector3d axis = end - start;
  const double length = axis.norm();
  const double along = (p - start).dot(axis) / length;
  const double across = (p - start - along / length * axis).norm();
  const double slope = (start_radius - end_radius) / length;  // sine of the angle of the cone
  const double s =
      std::abs(slope) >= 1.0
          ? (slope > 0.0 ? 0.0 : length)
          : std::clamp(along - across * slope / std::sqrt(1.0 - slope * slope), 0.0, length);
  return hypotenuse(along - s, across) - (start_radius - s * slope);
}

std::vector<RoundCone> round_cones(const CenterlineBranch& branch) {
  std::vector<RoundCone> cones;
  for (std::size_t i = 0; i + 1 < branch.points.size(); ++i)
    cones.push_back({branch.points[i], branch.points[i + 1], branch.radii[i], branch.radii[i + 1]});
  return cones;
}

double distance(const std::vector<RoundCone>& cones, const Vector3d& p) noexcept {
  double nearest = kInfinity;
  for (const RoundCone& cone : cones) nearest = std::min(nearest, cone.distance(p));
  return nearest;
}

std::vector<Vector3d> route(const CenterlineTree& tree, std::string_view branch,
                            const std::optional<Vector3d>& target) {
  const auto found =
      std::find_if(tree.begin(), tree.end(), [&](const auto& b) { return b.name == branch; });
  if (found == tree.end()) {
    std::string names;
    for (const CenterlineBranch& b : tree) names += (names.empty() ? "" : ", ") + b.name;
    throw ModelError("branch = " + std::string(branch) + ": must be one of " + names);
  }
  const RouteGraph graph(tree);
  const std::size_t goal = graph.nearest(static_cast<std::size_t>(found - tree.begin()),
                                         target.value_or(found->points.back()));
  std::vector<Vector3d> points;
  for (const std::size_t n : graph.path_to(goal)) {
    if (points.empty() || (graph.point(n) - points.back()).norm() > kApart)
      points.push_back(graph.point(n));
  }
  if (points.size() < 2)
    throw ModelError("branch = " + std::string(branch) + ": cannot be reached from " +
                     tree.front().name +
                     ": an end of each branch must lie in the lumen of another");
  return rounded(tree, points);
}

}  // namespace tendril
