#include "tendril/plan_file/spatial_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kStraight = 1e-6;  // [rad]

void require(bool holds, const std::string& message) {
  if (!holds) throw ModelError(message + " for a path with contact");
}

void require_spatial(const PathPlan& plan) {
  const ContinuumDescription& robot = plan.robot;
  require(plan.waypoints.size() == 1,
          fmt::format("waypoints: {} of them: must be 1", plan.waypoints.size()));
  require(plan.waypoints.front().task == TipTask::Position,
          "waypoints: with a direction: must be a position");
  require(plan.options.margin == 0.0,
          fmt::format("margin = {:g} m: must be 0", plan.options.margin));
  require(!plan.robot.is_planar(), "planar = true: must be false");
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    require(robot.sections[i].variable_length == 0.0,
            fmt::format("section {}: variable_length = {:g} m: must be 0", i + 1,
                        robot.sections[i].variable_length));
    require(plan.start[i].theta < kStraight,
            fmt::format("start: section {} bends by {:g} rad: must be straight", i + 1,
                        plan.start[i].theta));
  }
  require(robot.base.feed_limit == 0.0 || robot.guide.exists(),
          "base.guide_length = 0 m: must be > 0 with feed");
}

/// The part of the arm that can be past its guide.
SpatialBody spatial_body(const PathPlan& plan) {
  const ContinuumDescription& robot = plan.robot;
  SpatialBody body;
  body.radius = plan.options.body_radius;
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const double length = robot.sections[i].length;
    body.sections.push_back({.length = length,
                             .max_curvature = robot.sections[i].bend_angle_limit / length,
                             .bending_stiffness = robot.physics[i].bending_stiffness});
  }
  const double length = body.length(), past_guide = length - robot.guide.length;
  body.start_length = past_guide + plan.base.feed;
  require(
      body.start_length > 0.0,
      fmt::format("start.feed = {:g} m: the arm, {:g} m long, must come out of its guide, {:g} m",
                  plan.base.feed, length, robot.guide.length));
  double hidden = std::max(0.0, robot.guide.length - robot.base.feed_limit);  // always in the guide
  while (hidden >= body.sections.front().length) {
    hidden -= body.sections.front().length;
    body.sections.erase(body.sections.begin());
  }
  body.sections.front().length -= hidden;
  body.start_length = std::min(body.start_length, body.length());
  return body;
}

}  // namespace

SpatialPlanResult solve_spatial_plan(const PathPlan& plan) {
  require_spatial(plan);
  SpatialPlanResult result;
  result.guide_length = plan.robot.guide.length;
  const Vector3d to_guide(0.0, 0.0, -result.guide_length);
  std::vector<Obstacle> obstacles;
  for (const PlanObstacle& obstacle : plan.obstacles) {
    obstacles.push_back(obstacle.obstacle);
    obstacles.back().X_BO.pretranslate(to_guide);
  }
  SpatialPlanner planner(spatial_body(plan), Obstacles(std::move(obstacles)));
  const auto begin = std::chrono::steady_clock::now();
  result.path = planner.plan(plan.waypoints.front().position() + to_guide);
  result.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.path.poses.empty()) return result;
  SpatialRod rod = planner.rod();
  rod.set_shape(result.path.poses.back().shape);
  (void)rod.solve(result.path.poses.back().actuation);
  result.contacts.assign(rod.contacts().begin(), rod.contacts().end());
  result.centerline.assign(rod.nodes().begin(), rod.nodes().end());
  return result;
}

std::string spatial_plan_text(const PathPlan& plan, const SpatialPlanResult& result) {
  std::string text =
      fmt::format("{}: {}; {} poses, tip error {:.3f} mm, {} equilibria, {:.2f} ms\n", plan.name,
                  to_string(result.path.status), result.path.poses.size(),
                  1e3 * result.path.tip_error, result.path.equilibria, 1e3 * result.time);
  for (const SpatialContact& contact : result.contacts)
    text += fmt::format("contact with obstacle {} at {:.4f} m of the body, force {:.3f} N\n",
                        plan.obstacles[static_cast<std::size_t>(contact.obstacle)].name,
                        contact.arc_length, contact.force);
  return text;
}

std::string spatial_plan_csv(const SpatialPlanResult& result) {
  const Eigen::Index sections =
      result.path.poses.empty() ? 0 : (result.path.poses.front().actuation.size() - 1) / 2;
  std::string text = "length";
  for (Eigen::Index k = 1; k <= sections; ++k) text += fmt::format(",k{}_x,k{}_y", k, k);
  text += ",tip_x,tip_y,tip_z,contacts,force\n";
  for (const SpatialPose& pose : result.path.poses) {
    text += fmt::format("{}", pose.actuation[2 * sections]);
    for (Eigen::Index c = 0; c < 2 * sections; ++c) text += fmt::format(",{}", pose.actuation[c]);
    text += fmt::format(",{},{},{},{},{}\n", pose.tip.x(), pose.tip.y(),
                        pose.tip.z() + result.guide_length, pose.contacts, pose.contact_force);
  }
  return text;
}

}  // namespace tendril
