#include "controllers/reactive_planner.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "controllers/arm_memory.hpp"
#include "controllers/tip_integral.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kSearchDistance = 1e-3;  // [m]: motion of the target after which failed searches
                                          // are repeated
constexpr int kSearches = 40;             // for one target position, one per step; then
constexpr int kSearchPause = 50;          // one in this many steps, because obstacles move
constexpr int kSearchIterations = 100;    // of one search
constexpr int kPathSearches = 25;         // likewise for paths
constexpr int kPathPause = 10;
constexpr int kMostWaits = 100;  // steps without a path after which another solution is tried
constexpr ArcSearch kCheck{.tolerance = 1e-5, .most_steps = 100};  // of poses of the tracker
constexpr double kFractions[] = {0.5, 0.2};  // fractions of the tip's path that are tried alone
constexpr int kHalvings = 6;                 // of the line to a pose that is not free
constexpr double kSpeedTime = 0.05;          // [s], of the filter of the obstacles' speed
constexpr double kBackOff = 1e-4;            // [m] beyond the margin when backing away
constexpr double kLeastGain = 1e-9;          // [m], of clearance in a step that backs away

ObstacleOptions solver_options(const ReactivePlannerOptions& options, int iterations) {
  return {.max_iterations = iterations,
          .position_tolerance = options.position_tolerance,
          .angle_tolerance = options.angle_tolerance,
          .body_radius = options.body_radius,
          .margin = options.margin,
          .max_restarts = 0,
          .search = kCheck};
}

}  // namespace

ReactivePlanner::ReactivePlanner(const ContinuumRobot& robot, const Obstacles& obstacles,
                                 int moving, const ReactivePlannerOptions& options)
    : options_(options),
      moving_(moving),
      tracker_(robot, solver_options(options, options.max_iterations)),
      searcher_(robot, solver_options(options, kSearchIterations)),
      planner_(robot, {.safety_distance = options.body_radius + kPathMargin * options.margin}),
      solution_memory_(add_states(layout_, robot)),
      pose_memory_(layout_.matrix(straight_coordinates(robot))),
      searches_(layout_.counter()),
      searched_target_(layout_.matrix<Vector3d>()),
      waits_(layout_.counter()),
      waypoint_count_(layout_.index(0, planner_.options().max_waypoints)),
      next_waypoint_(layout_.index(0, planner_.options().max_waypoints)),
      waypoints_(layout_.matrix<Eigen::MatrixXd>(robot.coordinate_count(),
                                                 planner_.options().max_waypoints)),
      obstacles_known_(layout_.flag()),
      moving_memory_(layout_.matrix<Eigen::MatrixXd>(kMovingRows, moving)),
      obstacles_(obstacles),
      states_(static_cast<std::size_t>(robot.section_count())),
      solution_(states_.size()),
      q_last_(robot.coordinate_count()),
      q_solution_(robot.coordinate_count()),
      q_goal_(robot.coordinate_count()),
      q_next_(robot.coordinate_count()),
      direction_(robot.coordinate_count()) {
  const Clearance base = obstacles.nearest(Vector3d(Vector3d::Zero()));
  if (base.obstacle >= moving && base.distance < options.body_radius + options.margin)
    throw ModelError(
        "avoidance: the arm's base is nearer to an obstacle than the radius of its body and "
        "obstacle_margin: no pose can be free; name the obstacles that count with the setting "
        "obstacles");
}

/// Updates the obstacles to their present poses; moving ones are inflated by speed times
/// kLookAhead.
void ReactivePlanner::place_obstacles(const Obstacles& obstacles, std::span<const double> memory,
                                      std::span<double> next_memory) noexcept {
  assert(obstacles.count() == obstacles_.count());
  const bool known = obstacles_known_(memory);
  const auto before = moving_memory_(memory);
  auto now = moving_memory_(next_memory);
  for (int i = 0; i < obstacles_.count(); ++i) {
    const Eigen::Isometry3d& X_BO = obstacles.pose(i);
    if (X_BO.matrix() != obstacles_.pose(i).matrix()) obstacles_.set_pose(i, X_BO);
  }
  for (int i = 0; i < moving_; ++i) {
    const Eigen::Isometry3d& X_BO = obstacles.pose(i);
    const Eigen::Quaterniond rotation(X_BO.linear());
    double speed = 0.0;
    if (known) {
      const Vector3d p = before.col(i).head<3>();
      const Eigen::Quaterniond q(Eigen::Vector4d(before.col(i).segment<4>(3)));
      const double extent = std::min(obstacles.extent(i), robot().max_length());
      const double moved = (X_BO.translation() - p).norm() + extent * q.angularDistance(rotation);
      const double weight = std::min(1.0, options_.timestep / kSpeedTime);
      speed = before(7, i) + weight * (moved / options_.timestep - before(7, i));
    }
    now.col(i) << X_BO.translation(), rotation.coeffs(), speed;
    obstacles_.set_growth(i, std::min(kMostGrowth, speed * (kLookAhead + options_.timestep)));
  }
  obstacles_known_(next_memory) = true;
}

/// Finds the goal pose, in q_solution_ and solution_; returns whether it reaches the target.
bool ReactivePlanner::find_solution(const TipTarget& target, const BaseState& base,
                                    std::span<const double> memory, std::span<double> next_memory,
                                    Step& step) noexcept {
  const auto take = [&](const ObstacleResult& result) {
    std::copy(result.states.begin(), result.states.end(), solution_.begin());
    to_coordinates(robot(), solution_, q_solution_);
  };
  load_states(solution_memory_(memory), states_);
  TipTarget goal = target;
  ObstacleResult near = tracker_.solve(goal, states_, obstacles_, base);
  step.iterations = near.iterations;
  const bool is_outside = near.status != ObstacleStatus::TargetInObstacle;
  if (!is_outside) {
    goal.X_BG.translation() = near.nearest_free_point;
    near = tracker_.solve(goal, states_, obstacles_, base);
    step.iterations += near.iterations;
  }
  take(near);

  if ((target.position() - searched_target_(next_memory)).norm() >= kSearchDistance) {
    searches_(next_memory) = 0;
    waits_(next_memory) = 0;
    searched_target_(next_memory) = target.position();
  }
  if (near.reached()) return is_outside;

  const auto searches = static_cast<std::uint64_t>(searches_(next_memory));
  searches_(next_memory) += 1;
  if (searches < kSearches || searches % kSearchPause == 0) {
    SplitMix64 random(searches);
    random_states(robot(), random, states_);
    const ObstacleResult elsewhere = searcher_.solve(goal, states_, obstacles_, base);
    step.iterations += elsewhere.iterations;
    if (elsewhere.reached()) {
      take(elsewhere);
      return is_outside;
    }
  }
  // As near as possible: along the line to the best pose, as far as it is free.
  if (planner_.is_free(q_solution_, obstacles_, base)) return false;
  load_states(solution_memory_(memory), states_);
  to_coordinates(robot(), states_, q_goal_);
  double free = 0.0, blocked = 1.0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (free + blocked);
    q_next_ = q_goal_ + middle * (q_solution_ - q_goal_);
    (planner_.is_free(q_next_, obstacles_, base) ? free : blocked) = middle;
  }
  q_solution_ = q_goal_ + free * (q_solution_ - q_goal_);
  solution_ = states_;
  from_coordinates(robot(), q_solution_, solution_);
  return false;
}

void ReactivePlanner::forget_path(std::span<double> next_memory) const noexcept {
  waypoint_count_(next_memory) = 0;
  next_waypoint_(next_memory) = 0;
}

/// The next pose reached by a straight step, in q_goal_; returns whether there is one.
bool ReactivePlanner::find_path(const Eigen::VectorXd& from, const Vector3d& goal,
                                const BaseState& base, std::span<double> next_memory) noexcept {
  auto waypoints = waypoints_(next_memory);
  if (planner_.line_is_free(from, q_solution_, obstacles_, base)) {
    forget_path(next_memory);
    waits_(next_memory) = 0;
    q_goal_ = q_solution_;
    return true;
  }
  const int count = waypoint_count_(next_memory);
  int next = next_waypoint_(next_memory);
  if (next < count) {
    if (next + 1 < count && planner_.line_is_free(from, waypoints.col(next + 1), obstacles_, base))
      ++next;
    if (planner_.line_is_free(from, waypoints.col(next), obstacles_, base)) {
      next_waypoint_(next_memory) = next;
      q_goal_ = waypoints.col(next);
      return true;
    }
  }
  forget_path(next_memory);
  // A fraction of the tip's path may be free for the whole arm; the next solution is then computed
  // from there.
  from_coordinates(robot(), from, states_);
  TipTarget part;
  for (const double fraction : kFractions) {
    const Vector3d tip = tip_pose(robot(), states_, base).translation();
    part.X_BG.translation() = tip + fraction * (goal - tip);
    const ObstacleResult nearer = tracker_.solve(part, states_, obstacles_, base);
    if (!nearer.reached()) continue;
    to_coordinates(robot(), nearer.states, q_goal_);
    if (!planner_.line_is_free(from, q_goal_, obstacles_, base)) continue;
    std::copy(nearer.states.begin(), nearer.states.end(), solution_.begin());
    q_solution_ = q_goal_;
    return true;
  }
  const auto waits = static_cast<std::uint64_t>(waits_(next_memory));
  waits_(next_memory) += 1;
  if (waits >= kPathSearches && waits % kPathPause != 0) return false;
  const int found = planner_.search(from, q_solution_, obstacles_, base, waits);
  if (found <= 0) {
    if (waits > 0 && waits % kMostWaits == 0) {
      // No path to this solution: search for another one from a pose on the line to a random pose.
      SplitMix64 random(waits);
      random_states(robot(), random, states_);
      to_coordinates(robot(), states_, q_goal_);
      q_goal_ = from + random.uniform() * (q_goal_ - from);
      from_coordinates(robot(), q_goal_, solution_);
    }
    return false;
  }
  for (int i = 0; i < found; ++i) waypoints.col(i) = planner_.waypoint(i);
  waypoint_count_(next_memory) = found;
  q_goal_ = waypoints.col(0);
  return true;
}

/// Backs away from an obstacle that has come too near: towards the solution if this increases the
/// clearance, else along the gradient of the clearance, else the pose is kept. The new pose is in
/// q_next_.
void ReactivePlanner::back_away(const BaseState& base, std::span<double> next_memory) noexcept {
  forget_path(next_memory);
  const double here = planner_.clearance(q_last_, obstacles_, base);
  q_next_ = q_last_ + step_fraction(q_last_, q_solution_) * (q_solution_ - q_last_);
  if (planner_.clearance(q_next_, obstacles_, base) > here + kLeastGain) return;
  planner_.away(q_last_, obstacles_, base, direction_);
  q_goal_ = q_last_ + (kBackOff - here) * direction_;
  for (int i = 0; i < robot().section_count(); ++i)
    states_[static_cast<std::size_t>(i)] = solution_[static_cast<std::size_t>(i)];
  from_coordinates(robot(), q_goal_, states_);
  for (int i = 0; i < robot().section_count(); ++i)
    states_[static_cast<std::size_t>(i)] = robot().clamped(i, states_[static_cast<std::size_t>(i)]);
  to_coordinates(robot(), states_, q_goal_);
  q_next_ = q_last_ + step_fraction(q_last_, q_goal_) * (q_goal_ - q_last_);
  if (planner_.clearance(q_next_, obstacles_, base) > here + kLeastGain) {
    if (!planner_.is_free(q_solution_, obstacles_, base)) solution_ = states_;
    return;
  }
  q_next_ = q_last_;
}

/// The fraction of the line between two poses that one step covers within the rate limit.
double ReactivePlanner::step_fraction(const Eigen::VectorXd& from,
                                      const Eigen::VectorXd& to) const noexcept {
  const double change = largest_change(robot(), from, to, TipIntegral::kLengthScale);
  return std::min(1.0, options_.rate_limit * options_.timestep / std::max(change, 1e-12));
}

ReactivePlanner::Step ReactivePlanner::step(const TipTarget& target, const BaseState& base,
                                            const Obstacles& obstacles,
                                            std::span<const double> memory,
                                            std::span<double> next_memory) noexcept {
  Step step;
  std::copy(memory.begin(), memory.end(), next_memory.begin());
  place_obstacles(obstacles, memory, next_memory);
  q_last_ = pose(memory);
  step.reached = find_solution(target, base, memory, next_memory, step);

  if (!planner_.is_free(q_last_, obstacles_, base)) {
    back_away(base, next_memory);
    step.scale = step_fraction(q_last_, q_solution_);
  } else if (find_path(q_last_, target.position(), base, next_memory)) {
    step.scale = step_fraction(q_last_, q_goal_);
    q_next_ = q_last_ + step.scale * (q_goal_ - q_last_);
    if (!planner_.is_free(q_next_, obstacles_, base)) {
      q_next_ = q_last_;
      step.scale = 0.0;
    } else if (step.scale == 1.0 && next_waypoint_(next_memory) < waypoint_count_(next_memory)) {
      next_waypoint_(next_memory) += 1;
    }
  } else {
    q_next_ = q_last_;
    step.reached = step.reached && waits_(next_memory) <= kPathSearches;
  }
  step.there = q_next_ == q_solution_;
  store_states(solution_, solution_memory_(next_memory));
  pose_memory_(next_memory) = q_next_;
  return step;
}

}  // namespace tendril
