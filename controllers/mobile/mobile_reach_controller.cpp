#include "controllers/mobile/mobile_reach_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "controllers/interface/obstacle_settings.hpp"
#include "tendril/mobile/support.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPlanFraction = 0.95;      // of the speed limits; the rest is for the correction
constexpr double kFollowDistance = 0.01;    // [m] a target that moves less in a step is tracked
constexpr double kFollowAngle = 0.05;       // [rad]
constexpr double kFollowSpeed = 1.5;        // of the limits; the rate of a faster goal is not used
constexpr double kMaxFollowTime = 0.15;     // [s] a solution farther away is a branch switch
constexpr double kRateTime = 0.02;          // [s] time constant of the filter of the goal's rate
constexpr double kGuardFraction = 0.75;     // of the margins that is kept while moving
constexpr double kAtRest = 1e-9;            // of the speed limits
constexpr double kArrivalTolerance = 1e-7;  // [m], [rad]
constexpr double kRotationSlack = 1e-6;     // entries of R^T R - I
constexpr int kCandidates = 64;             // evaluated in one step of a search
constexpr int kChecks = 60;                 // the same in a search for a path
constexpr double kCostStep = 0.3;           // [rad] least difference in cost of the next goal
constexpr double kMaxClearance = 1.0;       // [m] largest value that is reported
constexpr double kApproachTime = 0.05;      // [s] time constant of the filter of obstacles' speed
constexpr double kMaxApproachSpeed = 2.0;   // [m/s], faster ones cannot be avoided
constexpr double kMinApproachSpeed = 0.01;  // [m/s]
constexpr double kReaction = 0.1;           // [s] from the decision to the motion of the platform
constexpr double kGuardSlack = 1e-3;        // [m] less than what is kept while moving
constexpr double kBackOff = 0.02;           // [m] farther than what made it back away
constexpr double kMinBackOff = 0.05;        // [m], of a step that is tried
constexpr int kBackDirections = 16;

bool is_pose(const Isometry3d& X) noexcept {
  const Eigen::Matrix3d R = X.linear();
  return X.matrix().allFinite() && std::isfinite(X.translation().squaredNorm()) &&
         (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <=
             kRotationSlack &&
         R.determinant() > 0.0;
}

/// The pose in a slot of the memory.
template <class Affine>
Isometry3d to_pose(const Affine& affine) noexcept {
  Isometry3d X = Isometry3d::Identity();
  X.affine() = affine;
  return X;
}
constexpr OwnQuantities<MobileReachController::kQuantities> own;
bool is_near(const Isometry3d& a, const Isometry3d& b) noexcept {
  return (a.translation() - b.translation()).norm() <= kFollowDistance &&
         rotation_angle(a.linear(), b.linear()) <= kFollowAngle;
}

MobileBody make_body(const MobileContext& context) {
  return {context.robot,
          context.capsules.empty()
              ? standard_capsules(context.robot)
              : std::vector<BodyCapsule>(context.capsules.begin(), context.capsules.end())};
}

/// Without priorities the cheapest pose over the base distance; with them that of FABRIK, which
/// they are for.
MobileFabrikOptions solver_options(const MobileRobot& robot) {
  return {.planes = PlaneOrder::NearestFirst,
          .polish = robot.link_count() == 3 && robot.parameters().priorities.empty()};
}

}  // namespace

std::span<const SettingInfo> MobileReachController::settings() {
  static constexpr SettingInfo kAll[] = {
      setting::body_name("target", "target",
                         "mocap body to which the tool moves; its x axis is the tool axis"),
      setting::number("tolerance", "m", "0.003", kPositive,
                      "tip error within which the target counts as reached"),
      setting::number("angle_tolerance", "rad", "0.0175", kPositive,
                      "the same for the orientation"),
      setting::number(
          "platform_weight", "", "6", {0.01, 1000.0},
          "weight of 1 m of the platform relative to 1 rad of a joint when following a target"),
      setting::number("speed", "", "1", {0.0, 1.0, true},
                      "fraction of the robot's speed and acceleration limits that is used"),
      setting::number("gain", "1/s", "5", {0.0, 1000.0},
                      "gain of the integral of setpoint minus measured position; 0: none"),
      setting::number("correction_limit", "rad", "0.05", {0.0, 1.0},
                      "largest correction of each joint; of the platform in m"),
      setting::number("settle_time", "s", "2", kNotNegative,
                      "time from an arrival until settled errors are recorded"),
      setting::flag("avoidance", false, "keep away from the scene's obstacles"),
      setting::obstacles(),
      setting::obstacle_margin("0.03"),
  };
  return kAll;
}

MobileReachController::MobileReachController(const MobileContext& context)
    : robot_(context.robot),
      tolerance_(context.settings.number("tolerance")),
      angle_tolerance_(context.settings.number("angle_tolerance")),
      gain_(context.settings.number("gain")),
      correction_limit_(context.settings.number("correction_limit")),
      settle_time_(context.settings.number("settle_time")),
      h_(context.timestep),
      braking_(kPlanFraction * context.settings.number("speed") *
               context.limits.platform_acceleration),
      solver_(context.robot, solver_options(context.robot)),
      tracker_(context.robot, {.platform_weight = context.settings.number("platform_weight")}),
      postures_(context.robot),
      planner_(make_body(context), {.margin = context.settings.number("obstacle_margin")}),
      motion_(context.robot, context.limits, kPlanFraction * context.settings.number("speed"),
              context.timestep),
      candidate_(memory_.counter()),
      waypoint_count_(memory_.index(0, planner_.options().max_waypoints)),
      next_waypoint_(memory_.index(0, planner_.options().max_waypoints)),
      waypoints_(memory_.matrix<Eigen::MatrixXd>(configuration_size(robot_),
                                                 planner_.options().max_waypoints)),
      planner_memory_(memory_.part(planner_.layout())),
      x_(configuration_size(robot_)),
      v_(configuration_size(robot_)),
      stop_(configuration_size(robot_)),
      rate_(configuration_size(robot_)) {
  context.scene.measure_target("target");
  if (context.settings.flag("avoidance"))
    static_cast<void>(context.scene.measure_obstacles("obstacles"));
  for (Vectors* const vectors :
       {&plan_, &velocity_, &goal_, &goal_rate_, &correction_, &correction_rate_, &best_})
    *vectors = memory_.vector(configuration_size(robot_));
}

/// The side of the tool on which the arm's plane lies: 1 facing, -1 opposite, 0 for a vertical
/// tool.
double MobileReachController::side(const MobileConfiguration& x,
                                   const Isometry3d& X_WG) const noexcept {
  const Vector3d axis = X_WG.linear().col(0);
  const double psi = x[2] + x[kPlatformSize];
  const double along = axis.x() * std::cos(psi) + axis.y() * std::sin(psi);
  return std::abs(along) < 1e-6 ? 0.0 : std::copysign(1.0, along);
}

void MobileReachController::adopt(const Isometry3d& X_WG, const MobileConfiguration& goal,
                                  int waypoints, std::span<double> next) noexcept {
  const bool known = !goal_target_(next).col(0).isZero(0.0);  // first column of a rotation
  if (known && is_near(to_pose(goal_target_(next)), X_WG) &&
      side(goal, X_WG) * side(goal_(next), X_WG) < 0.0) {
    branch_switches_(next) += 1;
  }
  goal_(next) = goal;
  goal_rate_(next).setZero();
  mode_(next) = Mode::Going;
  reason_(next) = MobileStatus::Converged;
  waypoint_count_(next) = waypoints;
  next_waypoint_(next) = 0;
  for (int i = 0; i < waypoints; ++i) waypoints_(next).col(i) = planner_.waypoint(i);
  target_(next) = X_WG.affine();
  goal_target_(next) = X_WG.affine();
}

void MobileReachController::begin_search(const Isometry3d& X_WG,
                                         std::span<double> next) const noexcept {
  mode_(next) = Mode::Searching;
  candidate_(next) = 0;
  has_best_(next) = false;
  cost_floor_(next) = -1.0;
  to_best_(next) = false;
  planning_(next) = false;
  failed_(next) = false;
  target_(next) = X_WG.affine();
}

/// Updates the goal by tracking if the target moves little; returns false if this fails.
bool MobileReachController::follow(const Isometry3d& X_WG, std::span<double> next,
                                   ControllerReport& report) noexcept {
  if (!is_near(to_pose(goal_target_(next)), X_WG)) return false;
  auto goal = goal_(next);
  x_ = goal;
  const MobileTracker::Result found = tracker_.follow(X_WG, x_);
  report.iterations += found.iterations;
  if (!found.converged) return false;
  // Duration of the motion at full speed. It exceeds one step if the robot has been waiting or
  // searching while the target continued to move.
  v_ = x_ - goal;
  const double duration = motion_.speed_ratio(v_);
  if (duration > kMaxFollowTime || !planner_.is_free(x_, *obstacles_)) return false;
  if (duration <= kFollowSpeed * h_) goal_rate_(next) += h_ / (h_ + kRateTime) * (v_ / h_);
  goal = x_;
  mode_(next) = Mode::Going;
  reason_(next) = MobileStatus::Converged;
  target_(next) = X_WG.affine();
  goal_target_(next) = X_WG.affine();
  return true;
}

/// A new target: FABRIK's solution is taken if the straight line to it is free; otherwise a search
/// begins, or the target is refused.
void MobileReachController::reach(const Isometry3d& X_WG, std::span<double> next,
                                  ControllerReport& report) noexcept {
  const auto plan = plan_(next);
  const ToolTarget target{.X_WG = X_WG, .azimuth = {}};
  const PlatformPose base = platform_of(plan);
  MobileResult result = solver_.solve(target, base, joints_of(plan), {.frozen = true});
  report.iterations += result.iterations;
  if (!result.converged()) {
    result = solver_.solve(target, base, joints_of(plan));
    report.iterations += result.iterations;
  }
  if (result.converged()) {
    set_configuration(result.base, result.joints, x_);
    v_ = x_;
    if (!tracker_.follow(X_WG, x_).converged) x_ = v_;
    if (planner_.line_is_free(plan, x_, *obstacles_)) {
      adopt(X_WG, x_, 0, next);
      return;
    }
  } else if (result.status != MobileStatus::Stalled) {
    mode_(next) = Mode::Refused;
    reason_(next) = result.status;
    target_(next) = X_WG.affine();
    return;
  }
  begin_search(X_WG, next);
}

void MobileReachController::choose(const Isometry3d& X_WG, std::span<double> next,
                                   ControllerReport& report) noexcept {
  const Mode mode = mode_(next);
  const Isometry3d known = to_pose(target_(next));
  if (mode != Mode::Holding && known.affine() == X_WG.affine()) return;
  if (mode == Mode::Searching) {
    const bool given_up = failed_(next) || cost_floor_(next) >= 0.0;
    if (!given_up || is_near(known, X_WG)) return;
  }
  if ((mode == Mode::Going || mode == Mode::Refused) && follow(X_WG, next, report)) return;
  reach(X_WG, next, report);
}

/// One step of a search: first for the free goal of least cost, then for a path to it.
void MobileReachController::search(std::span<double> next, ControllerReport& report) noexcept {
  const auto plan = plan_(next);
  const Isometry3d X_WG = to_pose(target_(next));
  auto best = best_(next);
  if (to_best_(next)) {
    const std::span<double> trees = planner_memory_(next);
    if (!planning_(next)) {
      planner_.begin(plan, best, searches_(next), trees);
      planning_(next) = true;
      searches_(next) += 1;
    }
    const MobilePathPlanner::Progress progress = planner_.resume(*obstacles_, kChecks, trees);
    if (progress == MobilePathPlanner::Progress::Searching) return;
    planning_(next) = false;
    if (progress == MobilePathPlanner::Progress::Found) {
      adopt(X_WG, best, planner_.waypoint_count(), next);
      return;
    }
    cost_floor_(next) = best_cost_(next) + kCostStep;  // requires a different goal
    to_best_(next) = false;
    has_best_(next) = false;
    candidate_(next) = 0;
    return;
  }
  const int count = postures_.begin({.X_WG = X_WG, .azimuth = {}}, plan);
  const int first = std::min<int>(candidate_(next), count);
  const int last = std::min(count, first + kCandidates);
  for (int i = first; i < last; ++i) {
    double cost = 0.0;
    ++report.iterations;
    if (postures_.at(i, x_, cost) && (!has_best_(next) || cost < best_cost_(next)) &&
        cost > cost_floor_(next) && planner_.is_free(x_, *obstacles_)) {
      has_best_(next) = true;
      best_cost_(next) = cost;
      best = x_;
    }
  }
  candidate_(next) = last;
  if (last < count) return;
  if (has_best_(next)) {
    to_best_(next) = true;
    return;
  }
  // No free goal, or no path to any: the search restarts with other random numbers.
  reason_(next) = MobileStatus::BaseBlocked;
  failed_(next) = true;
  cost_floor_(next) = -1.0;
  candidate_(next) = 0;
}

double MobileReachController::clearance(const MobileConfiguration& x) noexcept {
  if (obstacles_->count() == 0) return kMaxClearance;
  return std::min(kMaxClearance, planner_.body().clearance(platform_of(x), joints_of(x),
                                                           *obstacles_, kMaxClearance));
}

/// Returns whether an obstacle is, or comes, nearer than the platform can back away from.
bool MobileReachController::is_threatened(std::span<double> next) noexcept {
  if (obstacles_->count() == 0) return false;
  const double here = clearance(plan_(next));
  const double nearer = std::clamp((clearance_(next) - here) / h_, 0.0, kMaxApproachSpeed);
  const double speed = approach_(next) + h_ / (h_ + kApproachTime) * (nearer - approach_(next));
  approach_(next) = speed;
  const double kept = kGuardFraction * planner_.options().margin;
  const double needed = kept + speed * (kReaction + 0.5 * speed / braking_);
  const bool approaches = speed > kMinApproachSpeed && here < needed;
  return approaches || here < kept - kGuardSlack || (backing_(next) && here < needed + kBackOff);
}

/// A step of the platform to where the clearance is largest, of some directions. False: it is
/// nowhere larger.
bool MobileReachController::back_away(std::span<double> next) noexcept {
  auto plan = plan_(next), velocity = velocity_(next);
  double most = clearance(plan) + kArrivalTolerance;
  bool found = false;
  const double distance = std::max(kMinBackOff, approach_(next) * kReaction * 2.0);
  for (int i = 0; i < kBackDirections; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / kBackDirections;
    x_ = plan;
    x_[0] += distance * std::cos(angle);
    x_[1] += distance * std::sin(angle);
    const double there = clearance(x_);
    if (there <= most) continue;
    most = there;
    stop_ = x_;
    found = true;
  }
  if (!found) return false;
  x_ = plan;
  v_ = velocity;
  rate_.setZero();
  motion_.step(stop_, rate_, x_, v_);
  travel_(next) += hypotenuse(x_[0] - plan[0], x_[1] - plan[1]);
  plan = x_;
  velocity = v_;
  return true;
}

/// The next step of the plan; if braking after it could not prevent a collision, brakes instead.
void MobileReachController::move(std::span<double> next, bool hold) noexcept {
  auto plan = plan_(next), velocity = velocity_(next);
  const auto goal = goal_(next);
  const bool going = mode_(next) == Mode::Going && !hold;
  x_ = plan;
  v_ = velocity;
  if (going) {
    const int waypoint = next_waypoint_(next);
    const bool last = waypoint >= waypoint_count_(next);
    rate_ = goal_rate_(next);
    if (last) {
      motion_.step(goal, rate_, x_, v_);
    } else {
      rate_.setZero();
      motion_.step(waypoints_(next).col(waypoint), rate_, x_, v_);
    }
    motion_.stop_point(x_, v_, stop_);
    const bool moves = motion_.speed_ratio(v_) > kAtRest;
    if (moves && !(planner_.is_free(x_, *obstacles_, kGuardFraction) &&
                   planner_.is_free(stop_, *obstacles_, kGuardFraction))) {
      x_ = plan;
      v_ = velocity;
      motion_.brake(x_, v_);
      if (motion_.speed_ratio(v_) <= kAtRest) begin_search(to_pose(target_(next)), next);
    } else if (!last &&
               (x_ - waypoints_(next).col(waypoint)).cwiseAbs().maxCoeff() <= kArrivalTolerance) {
      next_waypoint_(next) += 1;
    }
  } else {
    motion_.brake(x_, v_);
  }
  travel_(next) += hypotenuse(x_[0] - plan[0], x_[1] - plan[1]);
  plan = x_;
  velocity = v_;
}

/// Setpoints: the plan plus the integral of the servo error.
void MobileReachController::correct(const MobileMeasurement& measurement,
                                    std::span<const double> memory, std::span<double> next,
                                    MobileCommand& command) noexcept {
  const auto joints = static_cast<std::size_t>(robot_.joint_count());
  const auto planned = plan_(memory);
  set_configuration(measurement.base, {measurement.q.data(), joints}, x_);
  auto correction = correction_(next), rate = correction_rate_(next);
  const auto plan = plan_(next), velocity = velocity_(next);
  constexpr double kCorrectionFraction = (1.0 - kPlanFraction) / kPlanFraction;
  for (Eigen::Index k = 0; k < x_.size(); ++k) {
    const double fastest =
        kCorrectionFraction * motion_.speed()[k] * (k < 2 ? std::sqrt(0.5) : 1.0);
    const double change =
        kCorrectionFraction * motion_.acceleration()[k] * h_ * (k < 2 ? std::sqrt(0.5) : 1.0);
    const double error = started_(memory) ? planned[k] - x_[k] : 0.0;
    double desired = std::clamp(gain_ * error, -fastest, fastest);
    if (std::abs(correction[k] + h_ * desired) > correction_limit_ && desired * correction[k] > 0.0)
      desired = 0.0;
    rate[k] += std::clamp(desired - rate[k], -change, change);
    correction[k] += h_ * rate[k];
  }
  x_ = plan + correction;
  command.base = platform_of(x_);
  command.base_rate = platform_of(velocity);
  for (int j = 0; j < robot_.joint_count(); ++j) {
    const JointLimits& limits = robot_.joint_limits(j);
    command.q[j] = std::clamp(x_[kPlatformSize + j], limits.min, limits.max);
    command.q_rate[j] = velocity[kPlatformSize + j];
  }
}

/// Errors, arrivals and status.
void MobileReachController::evaluate(const MobileMeasurement& measurement, std::span<double> next,
                                     ControllerReport& report) const noexcept {
  const Mode mode = mode_(next);
  const Isometry3d known = to_pose(goal_target_(next));
  const bool at_goal = mode == Mode::Going && known.affine() == measurement.X_WG.affine() &&
                       next_waypoint_(next) >= waypoint_count_(next) &&
                       (goal_(next) - plan_(next)).cwiseAbs().maxCoeff() <= kArrivalTolerance &&
                       motion_.speed_ratio(velocity_(next)) <= kAtRest;
  report.arrived = at_goal;
  if (at_goal && !arrived_(next)) {
    arrived_(next) = true;
    targets_reached_(next) += 1;
    arrival_time_(next) = measurement.time;
  } else if (!at_goal) {
    arrived_(next) = false;
  }
  if (arrived_(next) && measurement.time >= arrival_time_(next) + settle_time_) {
    settled_error_(next) = std::max<double>(settled_error_(next), report.tip_error);
    settled_angle_(next) = std::max<double>(settled_angle_(next), report.angle_error);
  }
  if (mode == Mode::Refused || (mode == Mode::Searching && failed_(next))) {
    report.status = ControllerStatus::NotReached;
  } else if (at_goal && report.tip_error <= tolerance_ && report.angle_error <= angle_tolerance_) {
    report.status = ControllerStatus::Finished;
  }
  own(report, "ik_status") = static_cast<double>(MobileStatus(reason_(next)));
  own(report, "targets_reached") = targets_reached_(next);
  own(report, "settled_error") = settled_error_(next);
  own(report, "settled_angle") = settled_angle_(next);
  own(report, "base_travel") = travel_(next);
  own(report, "branch_switches") = branch_switches_(next);
  own(report, "searches") = searches_(next);
}

void MobileReachController::update(const MobileMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   MobileCommand& command, ControllerReport& report) noexcept {
  const std::span<double> next = next_memory;
  obstacles_ = &obstacles_or_none(measurement.obstacles);
  if (!started_(memory)) {
    auto plan = plan_(next);
    set_configuration(measurement.base,
                      {measurement.q.data(), static_cast<std::size_t>(measurement.q.size())}, plan);
    for (int j = 0; j < robot_.joint_count(); ++j) {
      const JointLimits& limits = robot_.joint_limits(j);
      plan[kPlatformSize + j] = std::clamp(plan[kPlatformSize + j], limits.min, limits.max);
    }
    goal_(next) = plan;
    started_(next) = true;
  }
  const bool valid = measurement.has_target && is_pose(measurement.X_WG);
  if (valid) {
    const Isometry3d& X_WG = measurement.X_WG;
    report.tip_error = (X_WG.translation() - measurement.X_WE.translation()).norm();
    report.angle_error = rotation_angle(measurement.X_WE.linear(), X_WG.linear());
    auto rate = goal_rate_(next);  // low-pass filter; `follow` adds the new sample
    rate *= kRateTime / (h_ + kRateTime);
    if (motion_.speed_ratio(rate) <= kAtRest) rate.setZero();
    choose(X_WG, next, report);
    if (mode_(next) == Mode::Searching && !backing_(memory) &&
        motion_.speed_ratio(velocity_(next)) <= kAtRest)
      search(next, report);
  }
  const bool backs = is_threatened(next);
  const bool planned = mode_(next) == Mode::Going || mode_(next) == Mode::Searching;
  if (backs && planned) begin_search(to_pose(target_(next)), next);
  backing_(next) = backs;
  if (!backs || !back_away(next)) move(next, !valid);
  correct(measurement, memory, next, command);
  if (valid) {
    evaluate(measurement, next, report);
  } else if (measurement.has_target) {
    report.status = ControllerStatus::InvalidTarget;
    const MobileStatus reason = measurement.X_WG.matrix().allFinite()
                                    ? MobileStatus::InvalidRotation
                                    : MobileStatus::InvalidTarget;
    own(report, "ik_status") = static_cast<double>(reason);
  }
  clearance_(next) = clearance(plan_(next));
  own(report, "clearance") = clearance_(next);
}

}  // namespace tendril
