#include "apps/host/plan/path_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "apps/host/plan/mesh_file.hpp"
#include "apps/host/plan/plan_fields.hpp"
#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using robot_file_detail::Allowed;
using robot_file_detail::Fields;
using robot_file_detail::kLargestNumber;
using robot_file_detail::kNotNegative;
using robot_file_detail::kPositive;
using robot_file_detail::Lines;
using Json = nlohmann::ordered_json;

constexpr Allowed kAngle{-1e3, 1e3, true, "must be in [-1000, 1000]"};
constexpr Allowed kTolerance{0.0, 1.0, false, "must be in (0, 1]"};
constexpr int kMostInRow = 10'000;
constexpr double kPlane = 1e-9;           // [m]: so near is in the plane
constexpr double kStateTolerance = 1e-9;  // [rad], [m] of the limits

// ---- reading

std::array<double, 3> three(const Fields& fields, std::string_view key, const toml::node& node,
                            const Allowed& allowed) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->size() != 3) fields.refuse(key, "must be three numbers, [x, y, z]");
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) numbers[i] = fields.element(key, *list->get(i), allowed);
  return numbers;
}

Vector3d point(const Fields& fields, std::string_view key,
               const Allowed& allowed = kPlanCoordinate) {
  if (!fields.has(key)) fields.refuse(key, "is missing, must be three numbers, [x, y, z]");
  const std::array<double, 3> p = three(fields, key, *fields.table().get(key), allowed);
  return {p[0], p[1], p[2]};
}

Vector3d point_or_zero(const Fields& fields, std::string_view key,
                       const Allowed& allowed = kPlanCoordinate) {
  return fields.has(key) ? point(fields, key, allowed) : Vector3d(0.0, 0.0, 0.0);
}

/// `center` and `rotation`, a rotation vector.
Eigen::Isometry3d pose_of(const Fields& fields) {
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
  X_BO.translation() = point_or_zero(fields, "center");
  const Vector3d turn = point_or_zero(fields, "rotation", kAngle);
  if (turn.norm() > 0.0)
    X_BO.linear() = Eigen::AngleAxisd(turn.norm(), turn.normalized()).toRotationMatrix();
  return X_BO;
}

std::vector<Vector2d> corners_of(const Fields& fields, std::string_view key) {
  const toml::node* node = fields.table().get(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr) fields.refuse(key, "must be a list of corners, each of two numbers");
  std::vector<Vector2d> corners;
  for (const toml::node& element : *list) {
    const toml::array* corner = element.as_array();
    if (corner == nullptr || corner->size() != 2)
      fields.refuse(key, "every corner must be of two numbers");
    corners.emplace_back(fields.element(key, *corner->get(0), kPlanCoordinate),
                         fields.element(key, *corner->get(1), kPlanCoordinate));
  }
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

void place_faces(PlanObstacle& obstacle, Faces faces) {
  for (std::vector<Vector3d>& face : faces)
    for (Vector3d& p : face) p = obstacle.obstacle.X_BO * p;
  obstacle.faces = std::move(faces);
}

constexpr double kEndless = 1e3;  // [m]: how far the picture of an endless prism goes

PlanObstacle read_shape(const Fields& fields, std::string_view kind, const std::string& file,
                        const std::string& object) {
  PlanObstacle made;
  const auto table = [&](auto... keys) {
    const std::array<std::string_view, sizeof...(keys)> known{keys...};
    return plan_sub_table(fields, kind, file, object, known);
  };
  if (kind == "sphere") {
    const Fields inner = table("center", "radius");
    const Vector3d center = point(inner, "center");
    made.radius = inner.required_number("radius", kNotNegative);
    made.obstacle = sphere_at(center, made.radius);
    made.segment = {center, center};
  } else if (kind == "capsule") {
    const Fields inner = table("from", "to", "radius");
    made.segment = {point(inner, "from"), point(inner, "to")};
    made.radius = inner.required_number("radius", kNotNegative);
    made.obstacle = capsule_between((*made.segment)[0], (*made.segment)[1], made.radius);
  } else if (kind == "box") {
    const Fields inner = table("half_extents", "center", "rotation");
    const Vector3d half = point(inner, "half_extents", kPositive);
    made.obstacle = {box(half), pose_of(inner)};
    const std::vector<Vector2d> corners{
        {-half.x(), -half.y()}, {half.x(), -half.y()}, {half.x(), half.y()}, {-half.x(), half.y()}};
    place_faces(made, prism_faces(corners, half.z()));
  } else if (kind == "prism") {
    const Fields inner = table("corners", "half_height", "center", "rotation");
    const std::vector<Vector2d> corners = corners_of(inner, "corners");
    const double half_height = inner.required_number("half_height", kPositive);
    made.obstacle = {polygon(corners, half_height), pose_of(inner)};
    place_faces(made, prism_faces(corners, half_height));
  } else if (kind == "polygon") {
    const std::vector<Vector2d> corners = corners_of(fields, kind);
    made.obstacle = polygon_xz(corners);
    for (const double y : {-kEndless, kEndless}) {
      made.faces.emplace_back();
      for (const Vector2d& corner : corners)
        made.faces.back().emplace_back(corner.x(), y, corner.y());
    }
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const std::size_t k = (i + 1) % corners.size();
      made.faces.push_back(
          {made.faces[0][i], made.faces[0][k], made.faces[1][k], made.faces[1][i]});
    }
  } else if (kind == "half_space") {
    const Fields inner = table("point", "normal");
    made.obstacle = half_space_at(point(inner, "point"), point(inner, "normal"));
  } else {
    const Fields inner = table("file", "center", "rotation");
    const std::string name = inner.text("file", "");
    if (name.empty()) inner.refuse("file", "is missing, must name an .obj or .stl file");
    const TriangleMesh read = load_mesh(std::filesystem::path(file).parent_path() / name);
    made.obstacle = {mesh(read.vertices, read.triangles), pose_of(inner)};
    Faces faces;
    for (const std::array<int, 3>& corners : read.triangles) {
      faces.emplace_back();
      for (const int i : corners)
        faces.back().push_back(read.vertices[static_cast<std::size_t>(i)]);
    }
    place_faces(made, std::move(faces));
  }
  return made;
}

/// The obstacle of one table, or the row of equal ones that `repeat` makes of it.
void read_obstacle(const Fields& fields, PathPlan& plan, const std::string& file,
                   const std::string& object, int number) {
  constexpr std::array<std::string_view, 8> kKeys{"sphere",  "capsule",    "box",  "prism",
                                                  "polygon", "half_space", "mesh", "repeat"};
  fields.refuse_unknown(kKeys);
  const std::string_view kind = plan_kind_of(fields, PlanKeys(kKeys).first(7));
  PlanObstacle made;
  try {
    made = read_shape(fields, kind, file, object);
  } catch (const ModelError& error) {
    const std::string what = error.what();
    if (what.starts_with(file)) throw;  // has its place already
    fields.refuse_object(what);
  }
  int count = 1;
  Vector3d step = Vector3d::Zero();
  if (fields.has("repeat")) {
    constexpr std::array<std::string_view, 2> kRepeatKeys{"count", "step"};
    const Fields repeat = plan_sub_table(fields, "repeat", file, object, kRepeatKeys);
    count = repeat.integer("count", 1, 1, kMostInRow);
    step = point(repeat, "step");
  }
  for (int i = 0; i < count; ++i) {
    const Vector3d shift = static_cast<double>(i) * step;
    PlanObstacle one = made;
    one.name = fields.has("repeat") ? fmt::format("{}[{}]", number, i) : std::to_string(number);
    one.obstacle.X_BO.translation() += shift;
    for (std::vector<Vector3d>& face : one.faces)
      for (Vector3d& p : face) p += shift;
    if (one.segment)
      for (Vector3d& p : *one.segment) p += shift;
    plan.obstacles.push_back(std::move(one));
  }
}

TipTarget target_at(const Vector3d& position) {
  TipTarget target;
  target.X_BG.translation() = position;
  return target;
}

void require_in_plane(const Fields& fields, std::string_view key, const PathPlan& plan,
                      const Vector3d& v) {
  if (plan.options.planar && std::abs(v.y()) > kPlane)
    fields.refuse(key, "y must be 0 in a planar plan");
}

void read_waypoints(const Fields& fields, PathPlan& plan, const std::string& file) {
  if (fields.has("waypoints") && fields.has("waypoint"))
    fields.refuse_object("waypoints and waypoint: must be one of them");
  if (fields.has("waypoints")) {
    const toml::array* list = fields.table().get("waypoints")->as_array();
    if (list == nullptr) fields.refuse("waypoints", "must be a list of points, [[x, y, z], ...]");
    for (const toml::node& element : *list) {
      const auto p = three(fields, "waypoints", element, kPlanCoordinate);
      plan.waypoints.push_back(target_at({p[0], p[1], p[2]}));
      require_in_plane(fields, "waypoints", plan, plan.waypoints.back().position());
    }
  }
  for_each_plan_table(fields, "waypoint", file, 1, [&](const Fields& waypoint, const std::string&) {
    constexpr std::array<std::string_view, 2> kKeys{"position", "direction"};
    waypoint.refuse_unknown(kKeys);
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
  });
  if (plan.waypoints.empty())
    fields.refuse_object("waypoints: must be given, at least one, as waypoints or [[waypoint]]");
}

void read_start(const Fields& fields, PathPlan& plan, const std::string& file) {
  const ContinuumRobot robot = plan.robot.kinematics();
  plan.start.assign(robot.straight().begin(), robot.straight().end());
  if (!fields.has("start")) return;
  constexpr std::array<std::string_view, 5> kKeys{"theta", "phi", "s", "h", "omega0"};
  const Fields start = plan_sub_table(fields, "start", file, "", kKeys);
  const auto read = [&](std::string_view key, const Allowed& allowed, auto&& put) {
    if (!start.has(key)) return;
    const std::vector<double> values = start.numbers(key, allowed);
    if (values.size() != plan.start.size())
      start.refuse(key, fmt::format("must be {} numbers, one for each section", plan.start.size()));
    for (std::size_t i = 0; i < values.size(); ++i) put(plan.start[i], values[i]);
  };
  read("s", kNotNegative, [](SectionState& state, double v) { state.extension = v; });
  read("theta", kNotNegative, [](SectionState& state, double v) { state.theta = v; });
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
    if (plan.options.planar && std::abs(std::sin(state.phi)) * state.theta > kPlane)
      start.refuse("phi", "must be 0 or pi in a planar plan");
  }
  const double feed = robot.base().feed_limit;
  plan.base.feed =
      start.number("h", 0.0, {0.0, feed, true, "must be in [0, feed of the robot's base]"});
  plan.base.spin = start.number("omega0", 0.0, kAngle);
  if (plan.base.spin != 0.0 && !robot.base().spin) start.refuse("omega0", "the base has no spin");
}

// ---- printing

std::string millimetres(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f} mm", 1e3 * value + 0.0) : "no obstacles";
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json states_json(const std::vector<SectionState>& states) {
  Json list = Json::array();
  for (const SectionState& state : states)
    list.push_back({{"theta", state.theta}, {"phi", state.phi}, {"s", state.extension}});
  return list;
}

}  // namespace

bool is_path_plan(std::string_view toml) {
  try {
    return robot_file_detail::parse_toml(toml, "").contains("robot");
  } catch (const ModelError&) {
    return false;  // the other kind's reader tells what is wrong
  }
}

PathPlan parse_path_plan(std::string_view toml, const std::string& file_name) {
  constexpr std::array<std::string_view, 14> kKeys{
      "name",   "robot",       "start",  "waypoints",          "waypoint",        "obstacle",
      "planar", "body_radius", "margin", "position_tolerance", "angle_tolerance", "max_iterations",
      "checks", "seed"};
  const toml::table contents = robot_file_detail::parse_toml(toml, file_name);
  const Fields fields(contents, file_name, "", Lines::Named);
  fields.refuse_unknown(kKeys);

  PathPlan plan;
  plan.name = fields.text("name", std::filesystem::path(file_name).stem().string());
  const std::string robot_file = fields.text("robot", "");
  if (robot_file.empty()) fields.refuse("robot", "must name a robot file");
  plan.robot = load_robot(std::filesystem::path(file_name).parent_path() / robot_file);

  ObstacleOptions& o = plan.options;
  o.position_tolerance = 1e-4;
  for (const SectionPhysics& physics : plan.robot.physics)
    o.body_radius = std::max(o.body_radius, physics.radius);
  o.body_radius = fields.number("body_radius", o.body_radius, kNotNegative);
  o.margin = fields.number("margin", o.margin, kNotNegative);
  o.planar = fields.boolean("planar", o.planar);
  o.position_tolerance = fields.number("position_tolerance", o.position_tolerance, kTolerance);
  o.angle_tolerance = fields.number("angle_tolerance", o.angle_tolerance, kTolerance);
  o.max_iterations = fields.integer("max_iterations", o.max_iterations, 1, 10'000'000);
  o.seed = static_cast<std::uint64_t>(fields.integer("seed", 1, 0, 1'000'000'000));
  plan.checks = fields.integer("checks", plan.checks, 2, 10'000);
  read_start(fields, plan, file_name);
  read_waypoints(fields, plan, file_name);
  int number = 0;
  for_each_plan_table(fields, "obstacle", file_name, 0,
                      [&](const Fields& table, const std::string& object) {
                        read_obstacle(table, plan, file_name, object, number++);
                      });
  return plan;
}

PathPlanResult solve_path_plan(const PathPlan& plan) {
  const ContinuumRobot robot = plan.robot.kinematics();
  ObstacleSolver solver(robot, plan.options);
  std::vector<Obstacle> shapes;
  for (const PlanObstacle& obstacle : plan.obstacles) shapes.push_back(obstacle.obstacle);
  const Obstacles obstacles(std::move(shapes));

  const double safety_distance = plan.options.body_radius + plan.options.margin;
  const bool base_is_free =
      obstacles.nearest(base_pose(plan.base).translation()).distance >= safety_distance - kTouch;
  const Clearance at_start = solver.clearance(plan.start, obstacles, plan.base);
  if (base_is_free && at_start.distance < plan.options.margin - kTouch) {
    throw ModelError(fmt::format(
        "start: the body's clearance from obstacle {} is {}: must be at least the margin, {}",
        plan.obstacles[static_cast<std::size_t>(at_start.obstacle)].name,
        millimetres(at_start.distance), millimetres(plan.options.margin)));
  }

  PathPlanResult solution;
  solution.path.push_back({0.0, plan.start, plan.base});
  for (std::size_t k = 0; k < plan.waypoints.size(); ++k) {
    const TipTarget& target = plan.waypoints[k];
    const std::vector<SectionState> from = solution.path.back().states;
    const auto begin = std::chrono::steady_clock::now();
    const WaypointPath way =
        path_through(solver, {&target, 1}, from, obstacles, plan.base, plan.checks);
    WaypointResult found;
    found.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solution.time += found.time;
    if (way.reached == 1) {
      found.states = way.poses.back();
      found.reached = way.is_continuous;
      found.status = way.is_continuous ? "reached" : "no_free_way";
    } else {
      const ObstacleResult best = solver.solve(target, from, obstacles, plan.base);
      found.states.assign(best.states.begin(), best.states.end());
      found.status = to_string(best.status);
    }
    if (found.reached) {
      ++solution.reached;
      found.steps = static_cast<int>(way.poses.size()) - 1;
      for (int i = 1; i <= found.steps; ++i) {
        const double waypoint = static_cast<double>(k) + static_cast<double>(i) / found.steps;
        solution.path.push_back({waypoint, way.poses[static_cast<std::size_t>(i)], plan.base});
      }
    }
    const Eigen::Isometry3d X_BE = tip_pose(robot, found.states, plan.base);
    found.tip_error = position_error(X_BE, target);
    found.angle_error = angle_error(X_BE, target);
    const Clearance least = solver.clearance(found.states, obstacles, plan.base);
    found.clearance = least.distance;
    found.nearest_obstacle = least.obstacle;
    solution.waypoints.push_back(std::move(found));
  }

  solution.min_clearance = at_start.distance;
  std::vector<SectionState> between(plan.start.size());
  for (std::size_t i = 0; i + 1 < solution.path.size(); ++i) {
    for (int k = 1; k <= plan.checks; ++k) {
      interpolate_pose(robot, solution.path[i].states, solution.path[i + 1].states,
                       static_cast<double>(k) / plan.checks, between);
      solution.min_clearance = std::min(solution.min_clearance,
                                        solver.clearance(between, obstacles, plan.base).distance);
    }
  }
  return solution;
}

std::string path_plan_text(const PathPlan& plan, const PathPlanResult& solution) {
  std::string text =
      fmt::format("{}: {} of {} waypoints reached; {} poses, least clearance {}, {:.2f} ms\n",
                  plan.name, solution.reached, solution.waypoints.size(), solution.path.size(),
                  millimetres(solution.min_clearance), 1e3 * solution.time);
  for (std::size_t i = 0; i < solution.waypoints.size(); ++i) {
    const WaypointResult& at = solution.waypoints[i];
    const Vector3d p = plan.waypoints[i].position();
    text += fmt::format("waypoint {:<3} ({:g}, {:g}, {:g})  {}  tip error {}", i + 1, p.x(), p.y(),
                        p.z(), at.status, millimetres(at.tip_error));
    if (plan.waypoints[i].task == TipTask::PositionAndDirection)
      text += fmt::format(", {:.4f} rad", at.angle_error);
    if (at.nearest_obstacle >= 0)
      text += fmt::format(", clearance {} from obstacle {}", millimetres(at.clearance),
                          plan.obstacles[static_cast<std::size_t>(at.nearest_obstacle)].name);
    if (at.steps > 1) text += fmt::format(", in {} steps", at.steps);
    text += fmt::format(", {:.2f} ms\n", 1e3 * at.time);
  }
  return text;
}

std::string path_plan_json(const PathPlan& plan, const PathPlanResult& solution) {
  Json json;
  json["name"] = plan.name;
  json["reached"] = solution.reached;
  json["waypoints"] = Json::array();
  for (std::size_t i = 0; i < solution.waypoints.size(); ++i) {
    const WaypointResult& at = solution.waypoints[i];
    const Vector3d p = plan.waypoints[i].position();
    Json entry{{"position", {p.x(), p.y(), p.z()}},
               {"status", at.status},
               {"tip_error", at.tip_error},
               {"angle_error", at.angle_error},
               {"clearance", finite(at.clearance)}};
    if (at.nearest_obstacle >= 0)
      entry["obstacle"] = plan.obstacles[static_cast<std::size_t>(at.nearest_obstacle)].name;
    entry["steps"] = at.steps;
    entry["sections"] = states_json(at.states);
    entry["time"] = at.time;
    json["waypoints"].push_back(std::move(entry));
  }
  json["poses"] = solution.path.size();
  json["min_clearance"] = finite(solution.min_clearance);
  json["time"] = solution.time;
  return json.dump(2) + '\n';
}

}  // namespace tendril::host
