#include "tendril/model/tube/description.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model/tube/branch_wall.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/path.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr KeyInfo kTubeKeys[]{
    {"kind", "", "`\"tube\"`", "required"},
    {"name", "", "of the model"},
    {"centerline", "m",
     "at least two waypoints `[x, y, z]` in the frame of the body `tube`; or `{ file = "
     "\"NAME.csv\" "
     "}`, a table `branch,x,y,z,radius` of branches, which has the radii",
     "required"},
    {"scale", "", "of a table: of its numbers to m, 0.001 for mm"},
    {"tolerance", "m",
     "of a table: by which the wall may stand in a lumen, and depth of the grooves between staves"},
    {"corner_radius", "m", "of the arc that replaces each inner waypoint; 0: sharp corners"},
    {"inner_radius", "m", "free radius; not of a table"},
    {"wall_thickness", "m", "radius of a stave"},
    {"staves", "",
     "capsules around the tube. The gap between two of them is at most half of `inner_radius`; at "
     "most 50000 in all segments"},
    {"segment_angle", "rad", "largest angle of an arc that one straight segment replaces"},
    {"friction", "", "sliding friction; it governs every contact with the tube"}};

constexpr double kSmallestTurn = 1e-9;   // [rad]; below it two segments are one straight line
constexpr double kShortestStave = 1e-5;  // [m]
constexpr std::size_t kMaxStaves = 50'000;

std::vector<Vector3d> read_centerline(const Fields& fields) {
  constexpr std::string_view kKey = "centerline";
  constexpr const char* kAllowed = "must be a list of two [x, y, z] at least";
  if (!fields.has(kKey)) fields.missing(kKey, fmt::format("is missing, {}", kAllowed));
  const toml::array* points = fields.get(kKey)->as_array();
  if (points == nullptr || points->size() < 2) fields.refuse(kKey, kAllowed);
  std::vector<Vector3d> centerline;
  for (const toml::node& element : *points) {
    const std::vector<double> p = fields.elements(kKey, element, 3, kAnyNumber);
    centerline.emplace_back(p[0], p[1], p[2]);
  }
  return centerline;
}

/// The branches of a table `centerline = { file = "NAME.csv" }`.
CenterlineTree read_branches(const FileContents& file, const std::string& name, double scale) {
  try {
    return parse_centerlines(file.read(name), scale);
  } catch (const ModelError& error) {
    const std::string what = error.what();
    file.top.refuse("centerline", what.starts_with("row ") || what.starts_with("branch ")
                                      ? fmt::format("{}: {}", name, what)
                                      : what);
  }
}

/// Refuses keys that the other form of a centerline has.
void refuse_keys(const Fields& fields, std::initializer_list<const char*> keys,
                 std::string_view form) {
  for (const char* key : keys)
    if (fields.has(key))
      fields.refuse(key, fmt::format("must be absent with a centerline {}", form));
}

void check_staves(const Fields& fields, const TubeDescription& tube) {
  try {
    static_cast<void>(tube_staves(tube));
  } catch (const ModelError& error) {
    fields.refuse_object(error.what());
  }
}

void check_geometry(const Fields& fields, const TubeDescription& tube) {
  try {
    const Path segments(tube.centerline);
    constexpr double kSamples = 1000.0;  // few: only the corners are checked
    if (tube.corner_radius > 0.0)
      static_cast<void>(
          rounded_path(tube.centerline, tube.corner_radius, segments.length() / kSamples));
  } catch (const ModelError& error) {
    fields.refuse("centerline", error.what());
  }
  const double ring_radius = tube.inner_radius + tube.wall_thickness;
  const double gap =
      2.0 * ring_radius * std::sin(std::numbers::pi / tube.staves) - 2.0 * tube.wall_thickness;
  if (gap > tube.inner_radius / 2.0) {
    fields.refuse_object(
        fmt::format("staves = {}: they would be {} m apart, must be at most half of "
                    "inner_radius; give more or "
                    "thicker ones (wall_thickness)",
                    tube.staves, gap));
  }
  check_staves(fields, tube);
}

}  // namespace

TubeDescription TubeDescription::read(const FileContents& file) {
  const Fields& fields = file.top;
  fields.refuse_unknown(kTubeKeys);
  TubeDescription tube;
  tube.name = fields.text("name", tube.name);
  tube.wall_thickness = fields.number("wall_thickness", tube.wall_thickness, kPositiveNumber);
  tube.friction = fields.number("friction", tube.friction, kNotNegativeNumber);
  const double scale = fields.number("scale", 1.0, kPositiveNumber);
  tube.tolerance = fields.number("tolerance", tube.tolerance, kPositiveNumber);
  if (fields.has("centerline") && fields.get("centerline")->is_table()) {
    const Fields named = fields.required_table("centerline", {"file"});
    refuse_keys(fields, {"corner_radius", "inner_radius", "staves", "segment_angle"}, "of a table");
    tube.branches = read_branches(
        file, named.required_text("file", "must be the name of a table branch,x,y,z,radius"),
        scale);
    check_staves(fields, tube);
    return tube;
  }
  tube.centerline = read_centerline(fields);
  refuse_keys(fields, {"scale", "tolerance"}, "of waypoints");
  tube.corner_radius = fields.number("corner_radius", tube.corner_radius, kNotNegativeNumber);
  tube.inner_radius = fields.required_number("inner_radius", kPositiveNumber);
  tube.staves = fields.integer("staves", tube.staves, 6, 64);
  tube.segment_angle =
      fields.number("segment_angle", tube.segment_angle, {0.01, std::numbers::pi / 4.0});
  check_geometry(fields, tube);
  return tube;
}

std::vector<Vector3d> tube_vertices(const TubeDescription& tube) {
  const auto& waypoints = tube.centerline;
  std::vector<Vector3d> vertices{waypoints.front()};
  for (std::size_t i = 1; i + 1 < waypoints.size(); ++i) {
    const Vector3d& corner = waypoints[i];
    const Vector3d before = (corner - waypoints[i - 1]).normalized();
    const Vector3d after = (waypoints[i + 1] - corner).normalized();
    const double angle = std::atan2(before.cross(after).norm(), before.dot(after));
    if (angle < kSmallestTurn) continue;
    if (tube.corner_radius <= 0.0) {
      vertices.push_back(corner);
      continue;
    }
    const Vector3d start = corner - tube.corner_radius * std::tan(angle / 2.0) * before;
    const Vector3d inward = (after - std::cos(angle) * before) / std::sin(angle);
    const int chords = std::max(1, static_cast<int>(std::ceil(angle / tube.segment_angle - 1e-9)));
    for (int k = 0; k <= chords; ++k) {
      const double a = angle * k / chords;
      vertices.push_back(start + tube.corner_radius *
                                     (std::sin(a) * before + (1.0 - std::cos(a)) * inward));
    }
  }
  vertices.push_back(waypoints.back());

  // An arc may begin where the one before, or the whole line, ends or starts.
  const auto coincide = [](const Vector3d& a, const Vector3d& b) {
    return (a - b).norm() < kShortestStave;
  };
  vertices.erase(std::unique(vertices.begin(), vertices.end(), coincide), vertices.end());
  return vertices;
}

std::vector<TubeStave> tube_staves(const TubeDescription& tube) {
  if (!tube.branches.empty()) return branch_staves(tube);
  const std::vector<Vector3d> vertices = tube_vertices(tube);
  if (vertices.size() < 2)
    throw ModelError(fmt::format("centerline: the tube must be longer than {} m", kShortestStave));
  const std::size_t segments = vertices.size() - 1;
  const std::size_t count = segments * static_cast<std::size_t>(tube.staves);
  if (count > kMaxStaves)
    throw ModelError(fmt::format(
        "staves: are {} in {} segments, must be at most {} (larger segment_angle, fewer "
        "staves)",
        count, segments, kMaxStaves));
  std::vector<Vector3d> direction(segments);
  for (std::size_t k = 0; k < segments; ++k) {
    direction[k] = (vertices[k + 1] - vertices[k]).normalized();
  }
  // How far a stave at `offset` from the centerline continues past the vertex, along its own
  // segment, until it meets the plane that halves the angle between the segments.
  const auto mitre = [](const Vector3d& own, const Vector3d& other, const Vector3d& offset) {
    const Vector3d normal = own + other;
    return -offset.dot(normal) / own.dot(normal);
  };

  const double ring_radius = tube.inner_radius + tube.wall_thickness;
  Eigen::Matrix3d frame = rotation_between(Vector3d::UnitZ(), direction.front()).toRotationMatrix();
  std::vector<TubeStave> staves;
  for (std::size_t k = 0; k < segments; ++k) {
    if (k > 0)
      frame = rotation_between(direction[k - 1], direction[k]) * frame;  // no twist along the tube
    for (int i = 0; i < tube.staves; ++i) {
      const double a = 2.0 * std::numbers::pi * i / tube.staves;
      const Vector3d offset =
          ring_radius * (std::cos(a) * frame.col(0) + std::sin(a) * frame.col(1));
      const double from_start = k == 0 ? 0.0 : mitre(direction[k], direction[k - 1], offset);
      const double from_end =
          k + 1 == segments ? 0.0 : mitre(direction[k], direction[k + 1], offset);
      const TubeStave stave{vertices[k] + offset + from_start * direction[k],
                            vertices[k + 1] + offset + from_end * direction[k],
                            fmt::format("{}_{}", k + 1, i + 1)};
      if (!((stave.end - stave.start).dot(direction[k]) >= kShortestStave)) {
        throw ModelError(fmt::format(
            "corner_radius = {}: the tube folds in a bend, its segments must be longer or "
            "corner_radius "
            "larger than inner_radius + wall_thickness = {}",
            tube.corner_radius, ring_radius));
      }
      staves.push_back(stave);
    }
  }
  return staves;
}

}  // namespace tendril
