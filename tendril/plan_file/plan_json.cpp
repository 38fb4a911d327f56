#include "tendril/plan_file/plan_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/turning.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Json = nlohmann::ordered_json;

constexpr double kDrawn = 1e7;  // per meter: points of curves are rounded to this grid
constexpr int kPointsPerSection = 16;
constexpr int kTipsPerStep = 8;

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const Vector3d& p) { return {p.x(), p.y(), p.z()}; }

/// The solution, and on one line the additional data for its drawing.
std::string text_of(const Json& json, const Json& drawing) {
  std::string text = json.dump(2);
  text.resize(text.size() - 2);  // "\n}"
  return text + ",\n  \"drawing\": " + drawing.dump() + "\n}\n";
}

// ---- with contact

Json xz(const Vector2d& p) { return {{"x", p.x()}, {"z", p.y()}}; }

Json json_of(const PlanarPose& pose) {
  Json json = xz(pose.position);
  json["heading"] = pose.heading;
  return json;
}

Json json_of(const Disc& disc) {
  Json json = xz(disc.center);
  json["radius"] = disc.radius;
  return json;
}

Json json_of(const PlanarObstacle& obstacle) {
  if (const Disc* const disc = std::get_if<Disc>(&obstacle)) return {{"disc", json_of(*disc)}};
  Json corners = Json::array();
  for (const Vector2d& corner : std::get<Polygon>(obstacle).corners)
    corners.push_back({corner.x(), corner.y()});
  return {{"polygon", corners}};
}

Json contacts_json(const std::vector<ContactStep>& steps) {
  Json list = Json::array();
  for (const ContactStep& step : steps)
    list.push_back({{"contact", step.contact}, {"side", step.side}});
  return list;
}

Json steps_json(const std::vector<ContactStep>& steps) {
  Json list = Json::array();
  for (const ContactStep& step : steps)
    list.push_back({{"curvature", step.arc.curvature},
                    {"length", step.arc.length},
                    {"contact", step.contact},
                    {"side", step.side},
                    {"type", to_string(step.type)},
                    {"section", step.section}});
  return list;
}

Json solution_json(const ContactPath& path) {
  Json json{{"length", path.length},
            {"max_curvature", path.max_curvature},
            {"min_clearance", finite(path.min_clearance)},
            {"arcs", steps_json(path.steps)}};
  if (path.wrap_angle) json["wrap_angle"] = *path.wrap_angle;
  if (path.end) json["end"] = to_string(*path.end);
  return json;
}

Json refused_json(const RefusedPath& path) {
  const RefusedArc& arc = path.arc;
  Json json{{"after", contacts_json(path.chain)},
            {"curvature", arc.arc.curvature},
            {"length", arc.arc.length},
            {"contact", arc.contact},
            {"side", arc.side},
            {"reason", to_string(arc.reason)}};
  if (arc.obstacle >= 0) json["obstacle"] = arc.obstacle;
  return json;
}

// ---- among obstacles

Json states_json(const std::vector<SectionState>& states) {
  Json list = Json::array();
  for (const SectionState& state : states)
    list.push_back({{"theta", state.theta}, {"phi", state.phi}, {"s", state.extension}});
  return list;
}

Json drawn(const Vector3d& p) {
  const auto rounded = [](double value) { return std::round(value * kDrawn) / kDrawn + 0.0; };
  return {rounded(p.x()), rounded(p.y()), rounded(p.z())};
}

/// Points of the backbone, kPointsPerSection steps per section.
Json backbone_json(const ContinuumRobot& robot, const BaseState& base, SectionStates states) {
  Eigen::Isometry3d X_BS = base_pose(base);
  Json points = Json::array({drawn(X_BS.translation())});
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = states[static_cast<std::size_t>(i)];
    for (int k = 1; k <= kPointsPerSection; ++k) {
      const double fraction = static_cast<double>(k) / kPointsPerSection;
      points.push_back(
          drawn((X_BS * section_pose_at(robot.section(i), state, fraction)).translation()));
    }
    X_BS = X_BS * section_end_pose(robot.section(i), state);
  }
  return points;
}

/// The path of the tip between the poses of the path.
Json tip_path_json(const ContinuumRobot& robot, const PosePath& path) {
  Json points = Json::array();
  std::vector<SectionState> between(static_cast<std::size_t>(robot.section_count()));
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    for (int k = i == 0 ? 0 : 1; k <= kTipsPerStep; ++k) {
      const double fraction = static_cast<double>(k) / kTipsPerStep;
      interpolate_pose(robot, path[i].states, path[i + 1].states, fraction, between);
      const BaseState base = base_between(path[i].base, path[i + 1].base, fraction);
      points.push_back(drawn(tip_pose(robot, between, base).translation()));
    }
  }
  return points;
}

Json shape_json(const PlanShape& shape) {
  Json json;
  switch (shape.kind) {
    case PlanShape::Kind::Capsule:
      json["kind"] = "capsule";
      json["radius"] = shape.radius;
      break;
    case PlanShape::Kind::Solid:
      json["kind"] = "solid";
      break;
    case PlanShape::Kind::Prism:
      json["kind"] = "prism";
      break;
    case PlanShape::Kind::HalfSpace:
      json["kind"] = "half_space";
      json["normal"] = json_of(shape.normal);
      break;
  }
  json["outlines"] = Json::array();
  for (const std::vector<Vector3d>& points : shape.outlines) {
    Json outline = Json::array();
    for (const Vector3d& p : points) outline.push_back(json_of(p));
    json["outlines"].push_back(std::move(outline));
  }
  if (shape.count > 1) json["repeat"] = {{"count", shape.count}, {"step", json_of(shape.step)}};
  return json;
}

/// What a drawing shows of the scene and the start.
Json scene_json(const PathPlan& plan) {
  Json drawing;
  drawing["planar"] = plan.robot.is_planar();
  drawing["body_radius"] = plan.options.body_radius;
  drawing["margin"] = plan.options.margin;
  drawing["obstacles"] = Json::array();
  for (const PlanShape& shape : plan.shapes) drawing["obstacles"].push_back(shape_json(shape));
  drawing["start"] = backbone_json(plan.robot.kinematics(), plan.base, plan.start);
  return drawing;
}

}  // namespace

std::string plan_json(const PlanFile& plan, const PlanResult& result) {
  Json json;
  json["name"] = plan.name;
  json["status"] = to_string(result.status);
  json["solutions"] = Json::array();
  for (const ContactPath& path : result.paths) json["solutions"].push_back(solution_json(path));
  json["refused"] = Json::object();
  for (int i = 0; i < kContactRefusalCount; ++i)
    json["refused"][to_string(static_cast<ContactRefusal>(i))] =
        result.refusal_counts[static_cast<std::size_t>(i)];
  json["refused_arcs"] = Json::array();
  for (const RefusedPath& path : result.refused) json["refused_arcs"].push_back(refused_json(path));
  json["deepest"] = contacts_json(result.deepest);
  if (result.largest_wrap_angle) json["largest_wrap_angle"] = *result.largest_wrap_angle;
  json["arcs_tried"] = result.arcs_tried;
  json["chains"] = result.chains;
  json["contacts"] = Json::array();
  for (const ContactPoint& contact : plan.contacts)
    json["contacts"].push_back(json_of(contact.disc));

  Json drawing;
  drawing["base"] = json_of(plan.base);
  if (plan.target) drawing["target"] = xz(*plan.target);
  if (plan.grasp) drawing["object"] = plan.grasp->object;
  drawing["body_radius"] = plan.options.body_radius;
  drawing["obstacles"] = Json::array();
  for (int i = 0; i < plan.scene.size(); ++i)
    drawing["obstacles"].push_back(json_of(plan.scene.obstacle(i)));
  drawing["refused_from"] = Json::array();
  for (const RefusedPath& path : result.refused)
    drawing["refused_from"].push_back(json_of(path.arc.arc.start));
  drawing["deepest"] = steps_json(result.deepest);
  return text_of(json, drawing);
}

std::string path_plan_json(const PathPlan& plan, const PathPlanResult& result) {
  const ContinuumRobot robot = plan.robot.kinematics();
  Json json;
  json["name"] = plan.name;
  json["reached"] = result.reached;
  json["waypoints"] = Json::array();
  for (std::size_t i = 0; i < result.waypoints.size(); ++i) {
    const WaypointResult& at = result.waypoints[i];
    Json entry{{"position", json_of(Vector3d(plan.waypoints[i].position()))},
               {"status", at.status},
               {"tip_error", at.tip_error},
               {"angle_error", at.angle_error},
               {"clearance", finite(at.clearance)}};
    if (at.nearest_obstacle >= 0)
      entry["obstacle"] = plan.obstacles[static_cast<std::size_t>(at.nearest_obstacle)].name;
    entry["steps"] = at.steps;
    entry["sections"] = states_json(in_own_frames(robot, at.states));
    if (robot.base().feed_limit > 0.0) entry["h"] = at.base.feed;
    entry["time"] = at.time;
    json["waypoints"].push_back(std::move(entry));
  }
  json["poses"] = result.path.size();
  json["min_clearance"] = finite(result.min_clearance);
  json["time"] = result.time;

  Json drawing = scene_json(plan);
  drawing["waypoints"] = Json::array();
  for (const WaypointResult& at : result.waypoints)
    drawing["waypoints"].push_back(backbone_json(robot, at.base, at.states));
  drawing["tip"] = tip_path_json(robot, result.path);
  return text_of(json, drawing);
}

std::string spatial_plan_json(const PathPlan& plan, const SpatialPlanResult& result) {
  const Vector3d guide(0.0, 0.0, result.guide_length);
  Json json{{"name", plan.name},
            {"status", to_string(result.path.status)},
            {"tip_error", result.path.tip_error},
            {"equilibria", result.path.equilibria},
            {"time", result.time}};
  json["poses"] = Json::array();
  for (const SpatialPose& pose : result.path.poses) {
    Json entry{{"length", pose.actuation.tail<1>().value()}, {"curvatures", Json::array()}};
    for (Eigen::Index c = 0; c + 1 < pose.actuation.size(); c += 2)
      entry["curvatures"].push_back({pose.actuation[c], pose.actuation[c + 1]});
    entry["tip"] = json_of(Vector3d(pose.tip + guide));
    entry["contacts"] = pose.contacts;
    entry["force"] = pose.contact_force;
    json["poses"].push_back(std::move(entry));
  }
  json["contacts"] = Json::array();
  for (const SpatialContact& contact : result.contacts)
    json["contacts"].push_back(
        {{"obstacle", plan.obstacles[static_cast<std::size_t>(contact.obstacle)].name},
         {"arc_length", contact.arc_length},
         {"gap", contact.gap},
         {"force", contact.force},
         {"point", json_of(Vector3d(contact.point + guide))},
         {"normal", json_of(contact.normal)}});

  Json drawing = scene_json(plan);
  Json points = Json::array();
  for (const Vector3d& p : result.centerline) points.push_back(drawn(p + guide));
  drawing["waypoints"] = Json::array({std::move(points)});
  drawing["tip"] = Json::array();
  for (const SpatialPose& pose : result.path.poses)
    drawing["tip"].push_back(drawn(pose.tip + guide));
  return text_of(json, drawing);
}

}  // namespace tendril
