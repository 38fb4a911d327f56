#include "controllers/arm/path_settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kPathSpacing = 0.001;  // arcs are sampled at this spacing [m]

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

Path read_waypoints(const Settings& settings) {
  const std::vector<double> numbers = settings.numbers("waypoints");
  if (numbers.size() < 6 || numbers.size() % 3 != 0) {
    throw ModelError(fmt::format(
        "waypoints: {} numbers: must be at least two points of three coordinates", numbers.size()));
  }
  std::vector<Eigen::Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    points.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  const double radius = settings.number("corner_radius");
  if (points[0].head<2>().norm() > 1e-9 || points[0].z() < -1e-9) {
    throw ModelError(
        "waypoints: point 1 must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame");
  }
  const auto curve = [&] { return radius > 0.0 ? rounded_path(points, radius) : Path(points); };
  try {
    Path path = curve();  // without rounding first: messages number the user's points
    if (points[0].z() <= 1e-9) return path;
    points.insert(points.begin(), Eigen::Vector3d::Zero());
    return curve();
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("waypoints: {}", error.what()));
  }
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
  };
  return kSettings;
}

const char* path_key(const Settings& settings) {
  return settings.has("arcs") ? "arcs" : "waypoints";
}

Path read_path(const Settings& settings) {
  if (!settings.has("arcs")) return read_waypoints(settings);
  if (settings.has("waypoints"))
    throw ModelError("arcs and waypoints: must be one of them: only one path can be followed");
  return read_arcs(settings);
}

}  // namespace tendril
