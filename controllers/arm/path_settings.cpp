#include "controllers/arm/path_settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/centerline_tree.hpp"

namespace tendril {
namespace {

constexpr double kPathSpacing = 0.001;  // arcs are sampled at this spacing [m]
constexpr double kOnAxis = 1e-9;        // [m]

/// Arcs in the base's x-z plane, from the base on.
Path read_arcs(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("arcs");
  if (numbers.empty() || numbers.size() % 2 != 0)
    throw ModelError(
        fmt::format("arcs: {} numbers: must be pairs of curvature and length", numbers.size()));
  std::vector<Eigen::Vector3d> points{Eigen::Vector3d::Zero()};
  PlanarArc arc;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    arc = {.start = arc.end(), .curvature = numbers[i], .length = numbers[i + 1]};
    if (!(arc.length > 0.0))
      throw ModelError(fmt::format("arcs: length {} = {}: must be > 0", i / 2 + 1, arc.length));
    const int steps = std::max(1, static_cast<int>(std::ceil(arc.length / kPathSpacing)));
    for (int k = 1; k <= steps; ++k) {
      const Eigen::Vector2d p = arc.pose_at(arc.length * k / steps).position;
      points.emplace_back(p.x(), 0.0, p.y());
    }
  }
  return Path(std::move(points));
}

/// A path through points, from the base on.
/// @param what  gives the points, for messages
Path from_base(std::vector<Eigen::Vector3d> points, double corner_radius, const char* what,
               const char* first) {
  if (points[0].head<2>().norm() > kOnAxis || points[0].z() < -kOnAxis) {
    throw ModelError(
        fmt::format("{}: {} must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame",
                    what, first));
  }
  const auto curve = [&] {
    return corner_radius > 0.0 ? rounded_path(points, corner_radius) : Path(points);
  };
  try {
    Path path = curve();  // without the base first: messages number the user's points
    if (points[0].z() <= kOnAxis) return path;
    points.insert(points.begin(), Eigen::Vector3d::Zero());
    return curve();
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", what, error.what()));
  }
}

Path read_waypoints(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.size() < 6 || numbers.size() % 3 != 0) {
    throw ModelError(fmt::format(
        "waypoints: {} numbers: must be at least two points of three coordinates", numbers.size()));
  }
  std::vector<Eigen::Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    points.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  return from_base(std::move(points), settings.number("corner_radius"), "waypoints", "point 1");
}

CenterlineTree read_tree(const Settings& settings) {
  try {
    return parse_centerlines(settings.text("centerline"), settings.number("scale"));
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("centerline: {}", error.what()));
  }
}

/// The route through the branches of a table of centerlines.
Path read_centerline(const Settings& settings) {
  const CenterlineTree tree = read_tree(settings);
  std::optional<Eigen::Vector3d> end;
  if (const std::vector<double> numbers = settings.numbers("path_end"); !numbers.empty()) {
    if (numbers.size() != 3)
      throw ModelError(
          fmt::format("path_end: {} numbers: must be three coordinates", numbers.size()));
    end.emplace(numbers[0], numbers[1], numbers[2]);
  }
  return from_base(route(tree, settings.text("branch"), end), 0.0, "centerline",
                   "the first point of the first branch");
}

}  // namespace

std::span<const SettingInfo> path_settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::numbers(
          "waypoints", "m",
          "points of the path in the arm's base frame, x y z each; the first on the feed axis"),
      setting::number(
          "corner_radius", "m", "0", kNotNegative,
          "the corners of the waypoints' polyline are rounded with arcs of this radius"),
      setting::numbers("arcs", "1/m, m",
                       "instead of waypoints: curvature (positive: towards +x) and length of "
                       "consecutive arcs in the x-z plane of the arm's base, from the base on"),
      setting::text(
          "centerline", "",
          "instead of waypoints: a table of branches in the arm's base frame, the one of a tube "
          "(docs/guide/tube.md); in a robot file `centerline = { file = \"vessel.csv\" }`. The "
          "path begins at the first point of the first branch, on the feed axis"),
      setting::number("scale", "", "1", kPositive, "of the numbers of `centerline` to m"),
      setting::text("branch", "", "of `centerline`: the branch in which the path ends"),
      setting::numbers("path_end", "m",
                       "of `centerline`: x y z near which the path ends in `branch`; its end if "
                       "absent"),
  };
  return kSettings;
}

bool gives_path(const Settings& settings) { return settings.has(path_key(settings)); }

const char* path_key(const Settings& settings) {
  for (const char* key : {"arcs", "centerline"})
    if (settings.has(key)) return key;
  return "waypoints";
}

Path read_path(const Settings& settings) {
  const std::string_view key = path_key(settings);
  for (const std::string_view other : {"centerline", "waypoints"}) {
    if (other != key && settings.has(other))
      throw ModelError(
          fmt::format("{} and {}: must be one of them: only one path can be followed", key, other));
  }
  return key == "arcs"         ? read_arcs(settings)
         : key == "centerline" ? read_centerline(settings)
                               : read_waypoints(settings);
}

std::vector<double> read_wall_distances(const Settings& settings, const Path& path,
                                        double spacing) {
  std::vector<double> distances;
  if (!settings.has("centerline")) return distances;
  std::vector<RoundCone> lumen;
  for (const CenterlineBranch& branch : read_tree(settings))
    for (const RoundCone& cone : round_cones(branch)) lumen.push_back(cone);
  const auto count = static_cast<std::size_t>(std::ceil(path.length() / spacing)) + 1;
  for (std::size_t i = 0; i < count; ++i)
    distances.push_back(
        std::max(0.0, -distance(lumen, path.position(static_cast<double>(i) * spacing))));
  return distances;
}

}  // namespace tendril
