#include "tendril/avoidance/obstacle_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/avoidance/pose_path.hpp"
#include "tendril/ik/solver_support.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using End = DescentEnd;

constexpr std::array kMargins{1e-3, 2e-4,
                              1e-6};  // [m] more than what must be kept, one after another
constexpr double kMaxErrorForRetry =
    30.0;                            // squared margins; a cost below may only be the margin's
constexpr int kLinkIterations = 20;  // of FABRIKx with avoidance
constexpr int kDraws = 8;            // random poses, the best of which is a start
constexpr int kPerDescent = 150;     // poses that one descent may evaluate
constexpr double kPushOut = 1e-9;    // [m] past the surface that a point is pushed to
constexpr int kPushes = 20;          // where obstacles overlap
constexpr int kMaxHalvings = 6;      // of a step between waypoints

}  // namespace

const char* to_string(ObstacleStatus status) noexcept {
  switch (status) {
    case ObstacleStatus::Reached:
      return "reached";
    case ObstacleStatus::ReachedButColliding:
      return "reached_but_colliding";
    case ObstacleStatus::NotReached:
      return "not_reached";
    case ObstacleStatus::BaseInObstacle:
      return "base_in_obstacle";
    case ObstacleStatus::TargetInObstacle:
      return "target_in_obstacle";
    case ObstacleStatus::InvalidTarget:
      return "invalid_target";
    case ObstacleStatus::InvalidStart:
      return "invalid_start";
  }
  return "unknown";
}

ObstacleSolver::ObstacleSolver(const ContinuumRobot& robot, const ObstacleOptions& options)
    : robot_(robot),
      options_(options),
      safety_distance_(options.body_radius + options.margin),
      links_keep_planes_(robot.rail_count() == 0 &&
                         (robot.is_planar() || robot.bends_in_any_plane())),
      descent_(robot),
      reach_(robot),
      body_(robot),
      start_(static_cast<std::size_t>(robot.section_count())),
      trial_(start_.size()),
      drawn_(start_.size()),
      best_(start_.size()) {
  constexpr const char* kObject = "obstacle options";
  require_solver_options(kObject, options);
  require(kObject, "body_radius", options.body_radius, kNotNegative, "m");
  require(kObject, "margin", options.margin, kNotNegative, "m");
  require(kObject, "max_restarts", options.max_restarts, kNotNegative);
  if (options.method == ObstacleMethod::Reach && robot.rail_count() > 0)
    refuse(kObject, "number of rails of the robot", robot.rail_count(), "0: Reach moves no base");
}

Clearance ObstacleSolver::clearance(SectionStates states, const Obstacles& obstacles,
                                    const BaseState& base) noexcept {
  return body_clearance(body_, states, base, obstacles, options_.body_radius, options_.search);
}

bool ObstacleSolver::is_free(SectionStates states, const Obstacles& obstacles,
                             const BaseState& base) noexcept {
  ArcSearch search = options_.search;
  search.below = safety_distance_ - kTouchDistance;
  return body_clearance(body_, states, base, obstacles, 0.0, search).obstacle < 0;
}

ObstacleResult ObstacleSolver::solve(const TipTarget& target, SectionStates start,
                                     const Obstacles& obstacles, const BaseState& base) noexcept {
  ObstacleResult result;
  result.base = base;
  if (const auto refusal = refused_solve(robot_, target, start, base)) {
    result.status = refusal->status == IkStatus::InvalidTarget ? ObstacleStatus::InvalidTarget
                                                               : ObstacleStatus::InvalidStart;
    result.position_error = refusal->position_error;
    result.angle_error = refusal->angle_error;
    result.base = refusal->base;
    result.states = refusal->states;
    return result;
  }
  for (std::size_t i = 0; i < start_.size(); ++i)
    start_[i] = robot_.clamped(static_cast<int>(i), start[i]);
  best_ = start_;

  // Cases that no pose can solve.
  result.nearest_free_point = target.position();
  for (int i = 0; i < kPushes; ++i) {
    const Clearance inside =
        obstacles.nearest(result.nearest_free_point, safety_distance_ - kTouchDistance);
    if (inside.obstacle < 0) break;
    result.nearest_free_point += (safety_distance_ - inside.distance + kPushOut) * inside.normal;
  }
  const bool base_is_free =
      robot_.rail_count() > 0 ||  // it moves
      obstacles.nearest(base_pose(base).translation(), safety_distance_ - kTouchDistance).obstacle <
          0;
  const bool target_is_free =
      obstacles.nearest(target.position(), safety_distance_ - kTouchDistance).obstacle < 0;
  if (!base_is_free || !target_is_free) {
    report(target, obstacles, base, result);
    result.status =
        base_is_free ? ObstacleStatus::TargetInObstacle : ObstacleStatus::BaseInObstacle;
    return result;
  }

  Best best{std::numeric_limits<double>::infinity(), false};
  if (options_.method == ObstacleMethod::Reach) {
    if (!reach_by_links(target, obstacles, base, options_.max_iterations, result.iterations, best))
      best_ = trial_;
  } else {
    (void)search(target, obstacles, base, result.iterations, best);
  }
  result.jumped = best.restarted;
  report(target, obstacles, base, result);
  return result;
}

/// Descents from the start, from the pose of FABRIKx with avoidance, from random poses.
bool ObstacleSolver::search(const TipTarget& target, const Obstacles& obstacles,
                            const BaseState& base, int& iterations, Best& best) noexcept {
  descent_.aim(target, options_.position_tolerance, options_.angle_tolerance);
  if (descend(start_, obstacles, base, false, iterations, best)) return true;
  if (options_.max_restarts == 0) return false;
  if (links_keep_planes_) {
    const int budget = std::min(iterations + kLinkIterations, options_.max_iterations);
    if (reach_by_links(target, obstacles, base, budget, iterations, best) ||
        descend(trial_, obstacles, base, false, iterations, best))
      return true;
  }
  SplitMix64 random(options_.seed);
  for (int i = 0; i < options_.max_restarts; ++i) {
    if (iterations + kDraws >= options_.max_iterations) break;
    double least = std::numeric_limits<double>::infinity();
    descent_.around(&obstacles, safety_distance_, kMargins[0]);
    for (int k = 0; k < kDraws; ++k, ++iterations) {
      random_states(robot_, random, drawn_);
      descent_.place(drawn_, base);
      descent_.measure();
      if (descent_.cost() < least) {
        least = descent_.cost();
        trial_ = drawn_;
      }
    }
    if (descend(trial_, obstacles, base, true, iterations, best)) return true;
  }
  return false;
}

/// One descent with smaller and smaller margins; keeps the pose in best_ if it is the best so far.
/// Whether it is a solution.
bool ObstacleSolver::descend(SectionStates from, const Obstacles& obstacles, const BaseState& base,
                             bool restarted, int& iterations, Best& best) noexcept {
  const int budget = std::min(options_.max_iterations, iterations + kPerDescent);
  bool found = false;
  for (std::size_t i = 0; i < kMargins.size() && !found; ++i) {
    descent_.around(&obstacles, safety_distance_, kMargins[i]);
    if (i == 0) descent_.place(from, base);
    const End end = descent_.run(iterations, budget);
    if (end == End::Converged) {
      descent_.states(drawn_);
      found = is_free(drawn_, obstacles, base);
    }
    if (iterations >= budget || descent_.cost() > kMaxErrorForRetry * kMargins[i] * kMargins[i])
      break;
  }
  if (found || descent_.cost() < best.score) {
    best = {found ? 0.0 : descent_.cost(), restarted};
    descent_.states(best_);
  }
  return found;
}

/// FABRIKx with avoidance from the start, until `iterations` is `budget`. The pose is in trial_,
/// and in best_ if it is a solution.
bool ObstacleSolver::reach_by_links(const TipTarget& target, const Obstacles& obstacles,
                                    const BaseState& base, int budget, int& iterations,
                                    Best& best) noexcept {
  reach_.aim(target, obstacles, safety_distance_);
  reach_.place(start_, base);
  while (true) {
    if (reach_.position_error() <= options_.position_tolerance &&
        reach_.angle_error() <= options_.angle_tolerance) {
      reach_.states(trial_);
      if (is_free(trial_, obstacles, base)) {
        best = {0.0, false};
        best_ = trial_;
        return true;
      }
    }
    if (iterations >= budget) break;
    reach_.iterate();
    ++iterations;
  }
  reach_.states(trial_);
  return false;
}

/// Errors, clearance and status of best_.
void ObstacleSolver::report(const TipTarget& target, const Obstacles& obstacles,
                            const BaseState& base, ObstacleResult& result) noexcept {
  const Eigen::Isometry3d X_BE = tip_pose(robot_, best_, base);
  result.position_error = position_error(X_BE, target);
  result.angle_error = angle_error(X_BE, target);
  const Clearance least = clearance(best_, obstacles, base);
  result.clearance = least.distance;
  result.nearest_obstacle = least.obstacle;
  const bool met = result.position_error <= options_.position_tolerance &&
                   result.angle_error <= options_.angle_tolerance;
  const bool free = is_free(best_, obstacles, base);
  result.status = !met   ? ObstacleStatus::NotReached
                  : free ? ObstacleStatus::Reached
                         : ObstacleStatus::ReachedButColliding;
  result.states = best_;
}

namespace {

TipTarget halfway(const Eigen::Isometry3d& from, const TipTarget& to) {
  TipTarget target = to;
  target.X_BG.translation() = 0.5 * (from.translation() + to.position());
  const Eigen::Quaterniond rotation = rotation_between(from.linear().col(2), to.direction());
  target.X_BG.linear() =
      Eigen::Quaterniond::Identity().slerp(0.5, rotation).toRotationMatrix() * from.linear();
  return target;
}

struct PathBuilder {
  ObstacleSolver& solver;
  const Obstacles& obstacles;
  const BaseState& base;
  int checks;
  WaypointPath& path;

  [[nodiscard]] bool step_is_free(SectionStates a, SectionStates b) const {
    std::vector<SectionState> between(a.size());
    for (int k = 1; k < checks; ++k) {
      interpolate_pose(solver.robot(), a, b, static_cast<double>(k) / checks, between);
      if (!solver.is_free(between, obstacles, base)) return false;
    }
    return true;
  }

  /// Appends poses up to one that meets the target; whether there is one.
  bool append(const TipTarget& target, int halvings) {
    const std::vector<SectionState> from = path.poses.back();
    const ObstacleResult result = solver.solve(target, from, obstacles, base);
    if (!result.reached()) return false;
    const std::vector<SectionState> to(result.states.begin(), result.states.end());
    if (step_is_free(from, to)) {
      path.poses.push_back(to);
      return true;
    }
    const std::size_t before = path.poses.size();
    if (halvings > 0) {
      const TipTarget middle = halfway(tip_pose(solver.robot(), from, base), target);
      if (append(middle, halvings - 1) && append(target, halvings - 1)) return true;
    }
    path.poses.resize(before);
    path.poses.push_back(to);
    path.is_continuous = false;
    return true;
  }
};

}  // namespace

WaypointPath path_through(ObstacleSolver& solver, std::span<const TipTarget> waypoints,
                          SectionStates start, const Obstacles& obstacles, const BaseState& base,
                          int checks) {
  WaypointPath path;
  path.poses.emplace_back(start.begin(), start.end());
  PathBuilder builder{solver, obstacles, base, checks, path};
  for (const TipTarget& waypoint : waypoints) {
    const bool reached = builder.append(waypoint, kMaxHalvings);
    path.reached += reached;
    path.pose_of_waypoint.push_back(reached ? static_cast<int>(path.poses.size()) - 1 : -1);
  }
  return path;
}

}  // namespace tendril
