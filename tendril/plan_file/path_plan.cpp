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
#include "tendril/model/mesh_file.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

std::string millimeters(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f} mm", 1e3 * value + 0.0) : "no obstacles";
}

/// The plan's solver, for a robot on its rail.
class PathPlanner {
 public:
  explicit PathPlanner(const PathPlan& plan)
      : plan_(plan),
        robot_(plan.robot.kinematics()),
        solver_(robot_.on_rail(), plan.options),
        rails_(static_cast<std::size_t>(solver_.robot().rail_count())),
        base_(plan.base) {
    if (rails_ > 0) base_.feed = 0.0;
    std::vector<Obstacle> shapes;
    for (const PlanObstacle& obstacle : plan.obstacles) shapes.push_back(obstacle.obstacle);
    obstacles_ = Obstacles(std::move(shapes));
  }

  [[nodiscard]] Clearance clearance(SectionStates states, const BaseState& base) {
    return solver_.clearance(on_rail(states, base), obstacles_, base_);
  }
  void require_free_start();
  void reach(std::size_t waypoint, PathPlanResult& solution);
  [[nodiscard]] double least_clearance(const PathPlanResult& solution);

 private:
  [[nodiscard]] std::vector<SectionState> on_rail(SectionStates states,
                                                  const BaseState& base) const {
    std::vector<SectionState> all(rails_, {.extension = base.feed});
    all.insert(all.end(), states.begin(), states.end());
    return all;
  }
  [[nodiscard]] PathPose from_rail(double waypoint, SectionStates states) const {
    BaseState base = plan_.base;
    if (rails_ > 0) base.feed = states.front().extension;
    const SectionStates own = states.subspan(rails_);
    return {waypoint, {own.begin(), own.end()}, base};
  }

  const PathPlan& plan_;
  ContinuumRobot robot_;
  ObstacleSolver solver_;
  std::size_t rails_;
  BaseState base_;  // of the rail
  Obstacles obstacles_;
};

void PathPlanner::require_free_start() {
  const double safety_distance = plan_.options.body_radius + plan_.options.margin;
  const bool base_is_free = obstacles_.nearest(base_pose(plan_.base).translation()).distance >=
                            safety_distance - kTouchDistance;
  const Clearance at_start = clearance(plan_.start, plan_.base);
  if (!base_is_free || at_start.distance >= plan_.options.margin - kTouchDistance) return;
  throw ModelError(fmt::format(
      "start: the body's clearance from obstacle {} is {}: must be at least the margin, "
      "{}",
      plan_.obstacles[static_cast<std::size_t>(at_start.obstacle)].name,
      millimeters(at_start.distance), millimeters(plan_.options.margin)));
}

/// Reaches a waypoint, from 0, from the end of the path so far, and appends the way to it.
void PathPlanner::reach(std::size_t waypoint, PathPlanResult& solution) {
  const TipTarget& target = plan_.waypoints[waypoint];
  const std::vector<SectionState> from =
      on_rail(solution.path.back().states, solution.path.back().base);
  const auto begin = std::chrono::steady_clock::now();
  const WaypointPath path =
      path_through(solver_, {&target, 1}, from, obstacles_, base_, plan_.checks);
  WaypointResult found;
  found.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  solution.time += found.time;
  PathPose end;
  if (path.reached == 1) {
    end = from_rail(0.0, path.poses.back());
    found.reached = path.is_continuous;
    found.status = path.is_continuous ? "reached" : "no_free_path";
  } else {
    const ObstacleResult best = solver_.solve(target, from, obstacles_, base_);
    end = from_rail(0.0, best.states);
    found.status = to_string(best.status);
  }
  found.states = end.states;
  found.base = end.base;
  if (found.reached) {
    ++solution.reached;
    found.steps = static_cast<int>(path.poses.size()) - 1;
    for (int i = 1; i <= found.steps; ++i)
      solution.path.push_back(
          from_rail(static_cast<double>(waypoint) + static_cast<double>(i) / found.steps,
                    path.poses[static_cast<std::size_t>(i)]));
  }
  const Eigen::Isometry3d X_BE = tip_pose(robot_, found.states, found.base);
  found.tip_error = position_error(X_BE, target);
  found.angle_error = angle_error(X_BE, target);
  const Clearance least = clearance(found.states, found.base);
  found.clearance = least.distance;
  found.nearest_obstacle = least.obstacle;
  solution.waypoints.push_back(std::move(found));
}

double PathPlanner::least_clearance(const PathPlanResult& solution) {
  double least = clearance(plan_.start, plan_.base).distance;
  std::vector<SectionState> between(plan_.start.size());
  for (std::size_t i = 0; i + 1 < solution.path.size(); ++i) {
    const PathPose &a = solution.path[i], &b = solution.path[i + 1];
    for (int k = 1; k <= plan_.checks; ++k) {
      const double fraction = static_cast<double>(k) / plan_.checks;
      interpolate_pose(robot_, a.states, b.states, fraction, between);
      least = std::min(least, clearance(between, base_between(a.base, b.base, fraction)).distance);
    }
  }
  return least;
}

}  // namespace

PathPlanResult solve_path_plan(const PathPlan& plan) {
  PathPlanner planner(plan);
  planner.require_free_start();
  PathPlanResult solution;
  solution.path.push_back({0.0, plan.start, plan.base});
  for (std::size_t k = 0; k < plan.waypoints.size(); ++k) planner.reach(k, solution);
  solution.min_clearance = planner.least_clearance(solution);
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
    if (plan.robot.base.feed_limit > 0.0) text += ", h " + millimeters(at.base.feed);
    if (at.steps > 1) text += fmt::format(", in {} steps", at.steps);
    text += fmt::format(", {:.2f} ms\n", 1e3 * at.time);
  }
  return text;
}

}  // namespace tendril
