#include "tendril/plan_file/path_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numbers>
#include <utility>

#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/mesh_file.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

std::string millimeters(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f} mm", 1e3 * value + 0.0) : "no obstacles";
}

}  // namespace

PathPlanResult solve_path_plan(const PathPlan& plan) {
  const ContinuumRobot robot = plan.robot.kinematics();
  ObstacleSolver solver(robot, plan.options);
  std::vector<Obstacle> shapes;
  for (const PlanObstacle& obstacle : plan.obstacles) shapes.push_back(obstacle.obstacle);
  const Obstacles obstacles(std::move(shapes));

  const double safety_distance = plan.options.body_radius + plan.options.margin;
  const bool base_is_free = obstacles.nearest(base_pose(plan.base).translation()).distance >=
                            safety_distance - kTouchDistance;
  const Clearance at_start = solver.clearance(plan.start, obstacles, plan.base);
  if (base_is_free && at_start.distance < plan.options.margin - kTouchDistance) {
    throw ModelError(fmt::format(
        "start: the body's clearance from obstacle {} is {}: must be at least the margin, {}",
        plan.obstacles[static_cast<std::size_t>(at_start.obstacle)].name,
        millimeters(at_start.distance), millimeters(plan.options.margin)));
  }

  PathPlanResult solution;
  solution.path.push_back({0.0, plan.start, plan.base});
  for (std::size_t k = 0; k < plan.waypoints.size(); ++k) {
    const TipTarget& target = plan.waypoints[k];
    const std::vector<SectionState> from = solution.path.back().states;
    const auto begin = std::chrono::steady_clock::now();
    const WaypointPath path =
        path_through(solver, {&target, 1}, from, obstacles, plan.base, plan.checks);
    WaypointResult found;
    found.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solution.time += found.time;
    if (path.reached == 1) {
      found.states = path.poses.back();
      found.reached = path.is_continuous;
      found.status = path.is_continuous ? "reached" : "no_free_path";
    } else {
      const ObstacleResult best = solver.solve(target, from, obstacles, plan.base);
      found.states.assign(best.states.begin(), best.states.end());
      found.status = to_string(best.status);
    }
    if (found.reached) {
      ++solution.reached;
      found.steps = static_cast<int>(path.poses.size()) - 1;
      for (int i = 1; i <= found.steps; ++i) {
        const double waypoint = static_cast<double>(k) + static_cast<double>(i) / found.steps;
        solution.path.push_back({waypoint, path.poses[static_cast<std::size_t>(i)], plan.base});
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
                  millimeters(solution.min_clearance), 1e3 * solution.time);
  for (std::size_t i = 0; i < solution.waypoints.size(); ++i) {
    const WaypointResult& at = solution.waypoints[i];
    const Vector3d p = (1e9 * plan.waypoints[i].position()).array().round() / 1e9 + 0.0;  // no -0
    text += fmt::format("waypoint {:<3} ({:g}, {:g}, {:g})  {}  tip error {}", i + 1, p.x(), p.y(),
                        p.z(), at.status, millimeters(at.tip_error));
    if (plan.waypoints[i].task == TipTask::PositionAndDirection)
      text += fmt::format(", {:.4f} rad", at.angle_error);
    if (at.nearest_obstacle >= 0)
      text += fmt::format(", clearance {} from obstacle {}", millimeters(at.clearance),
                          plan.obstacles[static_cast<std::size_t>(at.nearest_obstacle)].name);
    if (at.steps > 1) text += fmt::format(", in {} steps", at.steps);
    text += fmt::format(", {:.2f} ms\n", 1e3 * at.time);
  }
  return text;
}

}  // namespace tendril
