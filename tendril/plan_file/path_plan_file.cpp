#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model/mesh_file.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/path_plan.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr Range kAngle{-1e3, 1e3};
constexpr Range kTolerance{0.0, 1.0, true};
constexpr int kMaxInRow = 10'000;
constexpr std::size_t kMaxObstacles = 100'000;
constexpr double kPlane = 1e-9;           // [m] largest distance from the plane
constexpr double kStateTolerance = 1e-9;  // [rad], [m] of the limits

Vector3d point(const Fields& fields, std::string_view key, const Range& each = kAnyNumber) {
  const auto p = fields.vector(key, each);
  if (!p) fields.missing(key, "is missing, must be three numbers, [x, y, z]");
  return *p;
}

/// `center` and `rotation`, a rotation vector.
Eigen::Isometry3d pose_of(const Fields& fields) {
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
  X_BO.translation() = fields.vector("center").value_or(Vector3d::Zero());
  const Vector3d rotation = fields.vector("rotation", kAngle).value_or(Vector3d::Zero());
  if (rotation.norm() > 0.0)
    X_BO.linear() = Eigen::AngleAxisd(rotation.norm(), rotation.normalized()).toRotationMatrix();
  return X_BO;
}

std::vector<Vector2d> corners_of(const Fields& fields, std::string_view key) {
  std::vector<Vector2d> corners;
  for (const std::vector<double>& corner : fields.rows(key, 2, kAnyNumber))
    corners.emplace_back(corner[0], corner[1]);
  return corners;
}

using Faces = std::vector<std::vector<Vector3d>>;

Faces prism_faces(const std::vector<Vector2d>& corners, double half_height) {
  Faces faces(2);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Vector2d &a = corners[i], &b = corners[(i + 1) % corners.size()];
    faces[0].emplace_back(a.x(), a.y(), -half_height);
    faces[1].emplace_back(a.x(), a.y(), half_height);
    faces.push_back({{a.x(), a.y(), -half_height},
                     {b.x(), b.y(), -half_height},
                     {b.x(), b.y(), half_height},
                     {a.x(), a.y(), half_height}});
  }
  return faces;
}

Faces placed(Faces faces, const Eigen::Isometry3d& X_BO) {
  for (std::vector<Vector3d>& face : faces)
    for (Vector3d& p : face) p = X_BO * p;
  return faces;
}

Obstacle read_shape(const Fields& fields, std::string_view kind, PlanShape& shape) {
  const auto table = [&](auto... keys) { return fields.required_table(kind, {keys...}); };
  if (kind == "sphere") {
    const Fields inner = table("center", "radius");
    const Vector3d center = point(inner, "center");
    const double radius = inner.required_number("radius", kNotNegativeNumber);
    shape = {.kind = PlanShape::Kind::Capsule, .outlines = {{center, center}}, .radius = radius};
    return sphere_at(center, radius);
  }
  if (kind == "capsule") {
    const Fields inner = table("from", "to", "radius");
    const Vector3d from = point(inner, "from"), to = point(inner, "to");
    const double radius = inner.required_number("radius", kNotNegativeNumber);
    shape = {.kind = PlanShape::Kind::Capsule, .outlines = {{from, to}}, .radius = radius};
    return capsule_between(from, to, radius);
  }
  if (kind == "box") {
    const Fields inner = table("half_extents", "center", "rotation");
    const Vector3d half = point(inner, "half_extents", kPositiveNumber);
    const std::vector<Vector2d> corners{
        {-half.x(), -half.y()}, {half.x(), -half.y()}, {half.x(), half.y()}, {-half.x(), half.y()}};
    const Obstacle made{box(half), pose_of(inner)};
    shape.outlines = placed(prism_faces(corners, half.z()), made.X_BO);
    return made;
  }
  if (kind == "prism") {
    const Fields inner = table("corners", "half_height", "center", "rotation");
    const std::vector<Vector2d> corners = corners_of(inner, "corners");
    const double half_height = inner.required_number("half_height", kPositiveNumber);
    const Obstacle made{polygon(corners, half_height), pose_of(inner)};
    shape.outlines = placed(prism_faces(corners, half_height), made.X_BO);
    return made;
  }
  if (kind == "polygon") {
    const std::vector<Vector2d> corners = corners_of(fields, kind);
    shape = {.kind = PlanShape::Kind::Prism, .outlines = Faces(1)};
    for (const Vector2d& p : corners) shape.outlines[0].emplace_back(p.x(), 0.0, p.y());
    return polygon_xz(corners);
  }
  if (kind == "half_space") {
    const Fields inner = table("point", "normal");
    const Vector3d at = point(inner, "point"), normal = point(inner, "normal");
    shape = {.kind = PlanShape::Kind::HalfSpace, .outlines = {{at}}, .normal = normal};
    return half_space_at(at, normal);
  }
  const Fields inner = table("file", "center", "rotation");
  const std::filesystem::path folder = std::filesystem::path(fields.file_name()).parent_path();
  const TriangleMesh read =
      load_mesh(folder / inner.required_text("file", "must name an .obj or .stl file"));
  const Obstacle made{mesh(read.vertices, read.triangles), pose_of(inner)};
  Faces faces;
  for (const std::array<int, 3>& corners : read.triangles) {
    faces.emplace_back();
    for (const int i : corners) faces.back().push_back(read.vertices[static_cast<std::size_t>(i)]);
  }
  shape.outlines = placed(std::move(faces), made.X_BO);
  return made;
}

/// The obstacle of one table, or the row of equal ones defined by `repeat`.
void read_obstacle(const Fields& fields, PathPlan& plan, int number) {
  fields.refuse_unknown(
      {"sphere", "capsule", "box", "prism", "polygon", "half_space", "mesh", "repeat"});
  const std::string_view kind =
      fields.one_of({"sphere", "capsule", "box", "prism", "polygon", "half_space", "mesh"});
  Obstacle made;
  PlanShape shape;
  try {
    made = read_shape(fields, kind, shape);
  } catch (const ModelError& error) {
    if (std::string_view(error.what()).starts_with(fields.file_name())) throw;  // names its line
    fields.refuse_object(error.what());
  }
  if (fields.has("repeat")) {
    const Fields repeat = fields.required_table("repeat", {"count", "step"});
    shape.count = repeat.integer("count", 1, 1, kMaxInRow);
    shape.step = point(repeat, "step");
  }
  const std::size_t obstacles = plan.obstacles.size() + static_cast<std::size_t>(shape.count);
  if (obstacles > kMaxObstacles)
    fields.refuse_object(
        fmt::format("are {} obstacles, must be at most {}", obstacles, kMaxObstacles));
  for (int i = 0; i < shape.count; ++i) {
    PlanObstacle one{std::to_string(number), made};
    if (fields.has("repeat")) one.name += fmt::format("[{}]", i);
    one.obstacle.X_BO.translation() += static_cast<double>(i) * shape.step;
    plan.obstacles.push_back(std::move(one));
  }
  plan.shapes.push_back(std::move(shape));
}

TipTarget target_at(const Vector3d& position) {
  TipTarget target;
  target.X_BG.translation() = position;
  return target;
}

void require_in_plane(const Fields& fields, std::string_view key, const PathPlan& plan,
                      const Vector3d& v) {
  if (plan.robot.is_planar() && std::abs(v.y()) > kPlane)
    fields.refuse(key, "y must be 0 in a planar plan");
}

void read_waypoints(const Fields& fields, PathPlan& plan) {
  if (fields.one_of({"waypoints", "waypoint"}) == "waypoints") {
    for (const std::vector<double>& p : fields.rows("waypoints", 3, kAnyNumber)) {
      plan.waypoints.push_back(target_at({p[0], p[1], p[2]}));
      require_in_plane(fields, "waypoints", plan, plan.waypoints.back().position());
    }
  }
  for (const Fields& waypoint : fields.tables("waypoint")) {
    waypoint.refuse_unknown({"position", "direction"});
    TipTarget target = target_at(point(waypoint, "position"));
    require_in_plane(waypoint, "position", plan, target.position());
    if (waypoint.has("direction")) {
      const Vector3d direction = point(waypoint, "direction");
      if (!(direction.norm() > 0.0)) waypoint.refuse("direction", "must not be zero");
      require_in_plane(waypoint, "direction", plan, direction.normalized());
      target.task = TipTask::PositionAndDirection;
      target.X_BG.linear() = rotation_between(Vector3d::UnitZ(), direction).toRotationMatrix();
    }
    plan.waypoints.push_back(target);
  }
}

/// The arm bends in its x-z plane alone, whatever its file says.
void make_planar(const Fields& fields, ContinuumDescription& robot) {
  for (SectionParameters& section : robot.sections) {
    if (section.bend_plane == BendPlane::YZ)
      fields.refuse("planar", "the robot has a section that bends in the y-z plane, must be false");
    if (section.rotation == SectionRotation::Turning)
      fields.refuse("planar", "the robot has a section that turns, must be false");
    section.bend_plane = BendPlane::XZ;
  }
}

void read_start(const Fields& fields, PathPlan& plan) {
  const ContinuumRobot robot = plan.robot.kinematics();
  plan.start.assign(robot.straight().begin(), robot.straight().end());
  if (!fields.has("start")) return;
  const Fields start = fields.required_table("start", {"theta", "phi", "s", "h", "omega0"});
  const auto read = [&](std::string_view key, const Range& each, auto&& put) {
    const auto values = start.numbers(key, plan.start.size(), each);
    for (std::size_t i = 0; values && i < values->size(); ++i) put(plan.start[i], (*values)[i]);
  };
  read("s", kNotNegativeNumber, [](SectionState& state, double v) { state.extension = v; });
  read("theta", kNotNegativeNumber, [](SectionState& state, double v) { state.theta = v; });
  read("phi", kAngle, [](SectionState& state, double v) { state.phi = v; });
  for (std::size_t i = 0; i < plan.start.size(); ++i) {
    const Section& section = robot.section(static_cast<int>(i));
    const SectionState& state = plan.start[i];
    if (state.extension > section.variable_length() + kStateTolerance)
      start.refuse("s",
                   fmt::format("section {}: must be in [0, {}]", i + 1, section.variable_length()));
    const double limit = section.bend_angle_limit_at(state.extension);
    if (state.theta > limit + kStateTolerance)
      start.refuse("theta", fmt::format("section {}: must be in [0, {:.6g}] with s = {}", i + 1,
                                        limit, state.extension));
    if (plan.robot.is_planar() && std::abs(std::sin(state.phi)) * state.theta > kPlane)
      start.refuse("phi", "must be 0 or pi in a planar plan");
  }
  to_untwisted(robot, plan.start);
  plan.base.feed = start.number("h", 0.0, kNotNegative);
  if (plan.base.feed > robot.base().feed_limit)
    start.refuse("h", fmt::format("must be in [0, {}], the feed of the robot's base",
                                  robot.base().feed_limit));
  plan.base.spin = start.number("omega0", 0.0, kAngle);
  if (plan.base.spin != 0.0 && !robot.base().spin) start.refuse("omega0", "the base has no spin");
}

}  // namespace

bool is_path_plan(std::string_view toml) {
  try {
    return parse_toml(toml, "").contains("robot");
  } catch (const ModelError&) {
    return false;  // the reader of the other kind reports the error
  }
}

PathPlan parse_path_plan(std::string_view toml, const std::string& file_name) {
  const toml::table contents = parse_toml(toml, file_name);
  const Fields fields(contents, file_name);
  fields.refuse_unknown({"name", "robot", "start", "waypoints", "waypoint", "obstacle", "planar",
                         "body_radius", "margin", "position_tolerance", "angle_tolerance",
                         "max_iterations", "checks", "seed"});

  PathPlan plan;
  plan.name = fields.text("name", std::filesystem::path(file_name).stem().string());
  plan.robot = load_as<ContinuumDescription>(
      std::filesystem::path(file_name).parent_path() /
      fields.required_text("robot", "must name the file of a continuum robot"));

  ObstacleOptions& o = plan.options;
  o.position_tolerance = 1e-4;
  for (const SectionPhysics& physics : plan.robot.physics)
    o.body_radius = std::max(o.body_radius, physics.radius.largest());
  o.body_radius = fields.number("body_radius", o.body_radius, kNotNegativeNumber);
  o.margin = fields.number("margin", o.margin, kNotNegativeNumber);
  if (fields.boolean("planar", false)) make_planar(fields, plan.robot);
  o.position_tolerance = fields.number("position_tolerance", o.position_tolerance, kTolerance);
  o.angle_tolerance = fields.number("angle_tolerance", o.angle_tolerance, kTolerance);
  o.max_iterations = fields.integer("max_iterations", o.max_iterations, 1, 10'000'000);
  o.seed = static_cast<std::uint64_t>(fields.integer("seed", 1, 0, 1'000'000'000));
  plan.checks = fields.integer("checks", plan.checks, 2, 10'000);
  read_start(fields, plan);
  read_waypoints(fields, plan);
  int number = 0;
  for (const Fields& obstacle : fields.tables("obstacle", 0))
    read_obstacle(obstacle, plan, number++);
  return plan;
}

}  // namespace tendril
