#include "controllers/arm/reactive_planner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kRetargetFraction = 0.02;  // of the robot's length: motion of the target after
                                            // which a search begins again
constexpr int kMaxGoals = 24;               // solutions that the trees grow from
constexpr int kTries = 100;                 // for a first solution, one per step; then
constexpr int kTryPause = 50;               // one in this many steps, because obstacles move
constexpr int kTryPeriod = 3;               // steps from try to try for another solution
constexpr int kTryIterations = 60;          // of one try
constexpr double kMinGoalDifference = 0.1;  // [rad]: of poses that are different goals
constexpr int kTipIterations = 25;          // of one step of a tip in a search
constexpr double kTipStep = 0.08;           // of the robot's length: that step
constexpr int kTipSteps = 2;                // in one step of a search
constexpr int kTipPeriod = 2;
constexpr int kAimAtGoal = 4;   // one tip in so many goes towards the goal
constexpr int kChecks = 48;     // of poses in one step of a search
constexpr int kMaxTrees = 12;   // that are grown one after another without a pause; then
constexpr int kPathPause = 10;  // in one of this many steps
constexpr double kMinResolution = 1.5e-3,
                 kMaxResolution = 5e-3;  // [m], resolution of the checks of lines
constexpr int kStallTimeout = 250;       // steps of a search after which it is reported
constexpr ArcSearch kCheck{.tolerance = 1e-5, .most_steps = 100};  // of poses of the tracker
constexpr int kHalvings = 6;                // of the line to a pose that is not free
constexpr double kMinObstacleSpeed = 2e-3;  // of an obstacle that moves [m/s]
constexpr double kSpeedTime = 0.05;         // [s], of the filter of the obstacles' speed
constexpr double kBackOff = 1e-4;           // [m] more than the margin when backing away
constexpr int kEscapes = 12;                // poses that are tried there
constexpr double kGain = 1e-4;              // [m] in a step, with which it does without them
constexpr double kEscape = 0.1;             // [rad] as far as that
constexpr double kMaxLoss = 1e-4;           // [m], of clearance in a step towards one
constexpr double kMinGain = 1e-9;           // [m], of clearance in a step that backs away

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
    : PosePlanner(robot),
      options_(options),
      moving_(moving),
      slack_((kPathMargin - kGuardMargin) * options.margin),
      tracker_(robot, solver_options(options, options.max_iterations)),
      searcher_(robot, solver_options(options, kTryIterations)),
      stepper_(robot, solver_options(options, kTipIterations)),
      planner_(robot,
               {.safety_distance = options.body_radius + kPathMargin * options.margin,
                .resolution = std::clamp(0.5 * options.margin, kMinResolution, kMaxResolution)}),
      searching_(layout_.flag()),
      searched_target_(layout_.matrix<Vector3d>()),
      search_steps_(layout_.counter()),
      goal_count_(layout_.index(0, kMaxGoals)),
      goals_(layout_.matrix<Eigen::MatrixXd>(robot.coordinate_count(), kMaxGoals)),
      growing_(layout_.flag()),
      trees_begun_(layout_.counter()),
      tip_count_(layout_.index(0, planner_.options().max_nodes)),
      tips_(layout_.matrix<Eigen::MatrixXd>(3, planner_.options().max_nodes)),
      trees_(layout_.part(planner_.layout())),
      timing_memory_(options.timing ? layout_.part(options.timing->layout()) : Block()),
      waypoint_count_(layout_.index(0, planner_.options().max_waypoints)),
      next_waypoint_(layout_.index(0, planner_.options().max_waypoints)),
      waypoints_(layout_.matrix<Eigen::MatrixXd>(robot.coordinate_count(),
                                                 planner_.options().max_waypoints)),
      rail_known_(robot.rail_count() > 0 ? layout_.flag() : Slot<bool>()),
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
  for (int i = moving; i < obstacles.count(); ++i) {
    BodyArcs body(robot);
    const Clearance start = obstacles.nearest_of(i, body.at(robot.straight()));
    if (start.distance < options.body_radius)
      throw ModelError(
          fmt::format("avoidance: the straight arm, from which it starts, overlaps an obstacle by "
                      "{} mm: no path "
                      "can be free; name the obstacles that count with the setting obstacles",
                      std::lround(1e3 * (options.body_radius - start.distance))));
  }
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
    obstacles_.set_growth(i, std::min(kMaxGrowth, speed * (kLookAhead + options_.timestep)));
  }
  obstacles_known_(next_memory) = true;
}

/// Solves the inverse kinematics from the last solution; the new one is in q_solution_ and
/// solution_. A goal inside an obstacle is moved out of it. Returns whether the goal is reached.
bool ReactivePlanner::find_solution(TipTarget& goal, const BaseState& base,
                                    std::span<const double> memory, Step& step) noexcept {
  load_states(solution_memory_(memory), states_);
  ObstacleResult near = tracker_.solve(goal, states_, obstacles_, base);
  step.iterations = near.iterations;
  if (near.status == ObstacleStatus::TargetInObstacle) {
    goal.X_BG.translation() = near.nearest_free_point;
    near = tracker_.solve(goal, states_, obstacles_, base);
    step.iterations += near.iterations;
  }
  std::copy(near.states.begin(), near.states.end(), solution_.begin());
  to_coordinates(robot(), solution_, q_solution_);
  return near.reached();
}

/// Approaches a target that nothing reaches: along the line from the last solution to the best
/// pose, as far as it is free.
void ReactivePlanner::approach(const BaseState& base, std::span<const double> memory) noexcept {
  if (planner_.is_free(q_solution_, obstacles_, base)) return;
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
}

/// Returns whether all obstacles move relative to the base.
bool ReactivePlanner::base_moves(std::span<const double> memory) const noexcept {
  if (moving_ == 0 || moving_ < obstacles_.count()) return false;
  return moving_memory_(memory).row(7).minCoeff() > kMinObstacleSpeed;
}

bool ReactivePlanner::obstacles_move(std::span<const double> memory) const noexcept {
  return moving_ > 0 && moving_memory_(memory).row(7).maxCoeff() > kMinObstacleSpeed;
}

void ReactivePlanner::forget_path(std::span<double> next_memory) const noexcept {
  waypoint_count_(next_memory) = 0;
  next_waypoint_(next_memory) = 0;
}

/// Finds the next pose reached by a straight step, in q_goal_; returns whether there is one.
bool ReactivePlanner::find_path(const BaseState& base, std::span<double> next_memory) noexcept {
  const auto is_free = [&](const auto& to, double slack) {
    return planner_.line_is_free(q_last_, to, obstacles_, base, slack);
  };
  if (is_free(q_solution_, 0.0)) {
    forget_path(next_memory);
    q_goal_ = q_solution_;
    return true;
  }
  const auto waypoints = waypoints_(next_memory);
  const int count = waypoint_count_(next_memory);
  int next = next_waypoint_(next_memory);
  if (next < count && next + 1 < count && is_free(waypoints.col(next + 1), 0.0)) ++next;
  if (next < count && is_free(waypoints.col(next), slack_)) {
    next_waypoint_(next_memory) = next;
    q_goal_ = waypoints.col(next);
    return true;
  }
  if (next == count && count > 0 && is_free(q_solution_, slack_)) {
    q_goal_ = q_solution_;
    return true;
  }
  forget_path(next_memory);
  return false;
}

void ReactivePlanner::keep_goal(const Eigen::VectorXd& q, std::span<double> next_memory) noexcept {
  auto goals = goals_(next_memory);
  const int count = goal_count_(next_memory);
  for (int i = 0; i < count; ++i)
    if (largest_change(robot(), goals.col(i), q, TipIntegral::kLengthScale) < kMinGoalDifference)
      return;
  if (count < kMaxGoals) {
    goals.col(count) = q;
    goal_count_(next_memory) = count + 1;
  }
  if (growing_(next_memory)) planner_.add_goal(q, trees_(next_memory));
}

/// Takes one step of a search for a path to any pose that reaches the goal: a try to find another
/// such pose, or some growth of the trees. `reached`: q_solution_ is one.
void ReactivePlanner::search(const TipTarget& goal, bool reached, const BaseState& base,
                             std::span<double> next_memory, Step& step) noexcept {
  const double moved = (goal.position() - searched_target_(next_memory)).norm();
  if (!searching_(next_memory) || moved > kRetargetFraction * robot().max_length()) {
    searching_(next_memory) = true;
    searched_target_(next_memory) = goal.position();
    search_steps_(next_memory) = goal_count_(next_memory) = trees_begun_(next_memory) = 0;
    growing_(next_memory) = false;
    if (reached) keep_goal(q_solution_, next_memory);
  }
  const int steps = search_steps_(next_memory), goals = goal_count_(next_memory);
  search_steps_(next_memory) += 1;
  const bool tries =
      goals == 0 ? steps < kTries || steps % kTryPause == 0 : steps % kTryPeriod == 0;
  if (tries) {
    SplitMix64 random(static_cast<std::uint64_t>(steps));
    random_states(robot(), random, states_);
    if (growing_(next_memory) && steps / kTryPeriod % 2 == 1) {
      const std::span<double> trees = trees_(next_memory);
      const int count = planner_.reached_count(trees);
      const auto node = static_cast<int>(random.next() % static_cast<std::uint64_t>(count));
      q_goal_ = planner_.reached(node, trees);
      from_coordinates(robot(), q_goal_, states_);
    } else {
      const double bend = random.uniform();  // poses with smaller bends are easier to reach
      for (SectionState& state : states_) state.theta *= bend;
    }
    const ObstacleResult found = searcher_.solve(goal, states_, obstacles_, base);
    step.iterations += found.iterations;
    if (!found.reached()) return;
    to_coordinates(robot(), found.states, q_goal_);
    keep_goal(q_goal_, next_memory);
  } else if (goals > 0 && (trees_begun_(next_memory) <= kMaxTrees || steps % kPathPause == 0)) {
    if (growing_(next_memory) && steps % kTipPeriod == 0) {
      grow_tip(goal, base, next_memory, step);
    } else {
      grow(base, next_memory);
    }
  }
}

/// Moves the tip of a reached pose some steps towards a random point or the goal: the pose with the
/// nearest tip continues, its body sliding along the obstacles.
void ReactivePlanner::grow_tip(const TipTarget& goal, const BaseState& base,
                               std::span<double> next_memory, Step& step) noexcept {
  const std::span<double> trees = trees_(next_memory);
  auto tips = tips_(next_memory);
  const auto add_tips = [&] {
    for (int& i = tips_done_; i < planner_.reached_count(trees); ++i) {
      q_goal_ = planner_.reached(i, trees);
      from_coordinates(robot(), q_goal_, states_);
      tips.col(i) = tip_pose(robot(), states_, base).translation();
    }
  };
  tips_done_ = tip_count_(next_memory);
  add_tips();
  const auto steps = static_cast<std::uint64_t>(search_steps_(next_memory));
  SplitMix64 random((steps << 32) + static_cast<std::uint64_t>(trees_begun_(next_memory)));
  Vector3d aim = goal.position();
  if (random.next() % kAimAtGoal != 0) {
    const double reach = robot().max_length();
    do {
      for (int k = 0; k < 3; ++k) aim[k] = random.uniform(-reach, reach);
    } while (aim.norm() > reach);
  }
  for (int k = 0; k < kTipSteps; ++k) {
    int nearest = tips_done_ - 1;
    for (int i = 0; i < tips_done_; ++i) {
      const bool nearer =
          (tips.col(i) - aim).squaredNorm() < (tips.col(nearest) - aim).squaredNorm();
      if (nearer && random.next() % 2 == 0)
        nearest = i;  // otherwise a trapped tip would be tried indefinitely
    }
    const Vector3d tip = tips.col(nearest);
    const double distance = (aim - tip).norm(), length = kTipStep * robot().max_length();
    TipTarget next;
    next.X_BG.translation() =
        distance <= length ? aim : Vector3d(tip + length / distance * (aim - tip));
    q_next_ = planner_.reached(nearest, trees);
    from_coordinates(robot(), q_next_, states_);
    const ObstacleResult moved = stepper_.solve(next, states_, obstacles_, base);
    step.iterations += moved.iterations;
    if (!moved.reached()) break;
    to_coordinates(robot(), moved.states, q_goal_);
    if (!planner_.line_is_free(q_next_, q_goal_, obstacles_, base)) break;
    planner_.add_reached(q_goal_, nearest, trees);
    if (distance <= length && aim == goal.position()) keep_goal(q_goal_, next_memory);
    add_tips();
  }
  tip_count_(next_memory) = tips_done_;
  q_next_ = q_last_;
}

void ReactivePlanner::grow(const BaseState& base, std::span<double> next_memory) noexcept {
  const std::span<double> trees = trees_(next_memory);
  auto goals = goals_(next_memory);
  if (!growing_(next_memory)) {
    int count = 0;  // of the solutions that are free as the obstacles are now
    for (int i = 0; i < goal_count_(next_memory); ++i) {
      if (!planner_.is_free(goals.col(i), obstacles_, base)) continue;
      if (i > count) goals.col(count) = goals.col(i);
      ++count;
    }
    goal_count_(next_memory) = count;
    if (count == 0) return;
    planner_.begin(q_last_, goals.col(0), trees_begun_(next_memory), trees);
    for (int i = 1; i < count; ++i) planner_.add_goal(goals.col(i), trees);
    growing_(next_memory) = true;
    tip_count_(next_memory) = 0;
    trees_begun_(next_memory) += 1;
  }
  const ArmPathPlanner::Progress progress = planner_.resume(obstacles_, base, kChecks, trees);
  if (progress == ArmPathPlanner::Progress::Searching) return;
  growing_(next_memory) = false;
  if (progress == ArmPathPlanner::Progress::Failed) return;  // again with other random poses
  auto waypoints = waypoints_(next_memory);
  const int count = planner_.waypoint_count();
  for (int i = 0; i < count; ++i) waypoints.col(i) = planner_.waypoint(i);
  waypoint_count_(next_memory) = count;
  next_waypoint_(next_memory) = 0;
  q_solution_ = planner_.end();
  solution_ = states_;
  from_coordinates(robot(), q_solution_, solution_);
}

/// Backs away from an obstacle that has come too near: towards the solution or along the gradient
/// of the clearance, whichever increases it more; if neither does by enough, towards what is
/// clearer farther off; else the pose is kept. The new pose is in q_next_.
void ReactivePlanner::back_away(const BaseState& base, std::span<double> next_memory) noexcept {
  forget_path(next_memory);
  const double here = planner_.clearance(q_last_, obstacles_, base);
  q_next_ = q_last_;
  double most = here + kMinGain;
  // The step towards a pose, if the clearance after it is the largest so far.
  const auto try_step = [&](const Eigen::VectorXd& q) {
    direction_ = q_last_ + step_fraction(q_last_, q) * (q - q_last_);
    const double there = planner_.clearance(direction_, obstacles_, base);
    if (there <= most) return false;
    most = there;
    q_next_ = direction_;
    return true;
  };
  // The tip remains on the target where that suffices.
  const double enough = here + std::min(kGain, kBackOff - here);
  if (try_step(q_solution_) && most > enough) return;
  planner_.away(q_last_, obstacles_, base, direction_);
  q_goal_ = q_last_ + (kBackOff - here) * direction_;
  states_ = solution_;
  from_coordinates(robot(), q_goal_, states_);
  for (int i = 0; i < robot().section_count(); ++i)
    states_[static_cast<std::size_t>(i)] = robot().clamped(i, states_[static_cast<std::size_t>(i)]);
  to_coordinates(robot(), states_, q_goal_);
  if (try_step(q_goal_) && !planner_.is_free(q_solution_, obstacles_, base)) solution_ = states_;
  if (most > enough) return;
  // Between obstacles: towards the one of some poses farther off that is clearest.
  SplitMix64 random(std::bit_cast<std::uint64_t>(here));
  double farthest = most;
  bool found = false;
  for (int i = 0; i < kEscapes; ++i) {
    random_states(robot(), random, states_);
    to_coordinates(robot(), states_, direction_);
    const double change = largest_change(robot(), q_last_, direction_, TipIntegral::kLengthScale);
    direction_ =
        q_last_ + std::min(1.0, kEscape / std::max(change, 1e-12)) * (direction_ - q_last_);
    const double there = planner_.clearance(direction_, obstacles_, base);
    if (there <= farthest) continue;
    farthest = there;
    found = true;
    q_goal_ = direction_;
  }
  if (!found) return;
  direction_ = q_last_ + step_fraction(q_last_, q_goal_) * (q_goal_ - q_last_);
  if (planner_.clearance(direction_, obstacles_, base) >= here - kMaxLoss) q_next_ = direction_;
}

/// Returns the fraction of the line between two poses that one step covers within the rate limit.
double ReactivePlanner::step_fraction(const Eigen::VectorXd& from,
                                      const Eigen::VectorXd& to) const noexcept {
  return std::min(1.0, options_.rates.fraction(robot(), from, to, options_.timestep));
}

/// Takes one step towards q_goal_, into q_next_, if it is free.
void ReactivePlanner::follow(const BaseState& base, double slack, const ArmMeasurement& measurement,
                             std::span<double> next_memory, Step& step) noexcept {
  const double at_limit = options_.rates.fraction(robot(), q_last_, q_goal_, options_.timestep);
  step.scale = std::min(1.0, at_limit);
  if (options_.timing) {
    const std::span<double> timing = timing_memory_(next_memory);
    step.scale = options_.timing->fraction(at_limit, measurement.swing_period, options_.timestep,
                                           timing, timing);
  }
  q_next_ = q_last_ + step.scale * (q_goal_ - q_last_);
  if (!planner_.is_free(q_next_, obstacles_, base, slack)) {
    q_next_ = q_last_;
    step.scale = 0.0;
  } else if (step.scale == 1.0 && next_waypoint_(next_memory) < waypoint_count_(next_memory)) {
    next_waypoint_(next_memory) += 1;
  }
}

PosePlanner::Step ReactivePlanner::step(const TipTarget& target, const ArmMeasurement& measurement,
                                        std::span<const double> memory,
                                        std::span<double> next_memory) noexcept {
  Step step;
  place_obstacles(obstacles_or_none(measurement.obstacles), memory, next_memory);
  q_last_ = pose(memory);
  BaseState base = measurement.base;
  if (robot().rail_count() > 0) {
    if (!rail_known_(memory)) q_last_[kShift] = base.feed;
    rail_known_(next_memory) = true;
    base.feed = 0.0;
  }
  TipTarget goal = target;
  const bool reached = find_solution(goal, base, memory, step);
  const bool is_outside = goal.position() == target.position();
  q_next_ = q_last_;

  // A pose that an obstacle has pushed between others gets out again when nothing moves any more.
  const bool near = !planner_.is_free(q_last_, obstacles_, base, slack_);
  const double slack = near && !obstacles_move(next_memory) ? 2.0 * slack_ : slack_;
  if (near && !planner_.is_free(q_last_, obstacles_, base, slack)) {
    growing_(next_memory) = false;
    back_away(base, next_memory);
    step.scale = step_fraction(q_last_, q_solution_);
    step.reached = reached && is_outside;
  } else {
    const bool waits_for_base = options_.waits_for_base && base_moves(next_memory);
    bool has_path = !waits_for_base && reached && find_path(base, next_memory);
    if (waits_for_base || has_path) {
      searching_(next_memory) = false;
    } else {
      search(goal, reached, base, next_memory, step);
    }
    const bool waits = !has_path && goal_count_(next_memory) > 0;
    step.reached =
        is_outside && (has_path || (waits && search_steps_(next_memory) <= kStallTimeout));
    if (waits_for_base) step.reached = true;
    if (!has_path && !waits && !options_.waits_for_base) {
      approach(base, memory);
      has_path = find_path(base, next_memory);
    }
    if (has_path) follow(base, slack, measurement, next_memory, step);
  }
  step.there = q_next_ == q_solution_;
  store_states(solution_, solution_memory_(next_memory));
  pose_memory_(next_memory) = q_next_;
  return step;
}

}  // namespace tendril
