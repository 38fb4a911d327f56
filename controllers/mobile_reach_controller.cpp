#include "controllers/mobile_reach_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/mobile/mobile_support.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPlanShare = 0.95;         // of the speed limits; the rest is the correction's
constexpr double kFollowDistance = 0.01;    // [m] a target that moves less in a step is followed
constexpr double kFollowAngle = 0.05;       // [rad]
constexpr double kFollowSpeed = 1.5;        // of the limits; a goal that is faster has no rate
constexpr double kLongestFollow = 0.15;     // [s] a solution that is farther away has jumped
constexpr double kRateTime = 0.02;          // [s] over which the goal's rate is averaged
constexpr double kGuardShare = 0.75;        // of the margins, kept while moving
constexpr double kAtRest = 1e-9;            // of the speed limits
constexpr double kThere = 1e-7;             // [m], [rad]
constexpr double kRotationSlack = 1e-6;     // entries of R^T R - I
constexpr int kCandidates = 64;             // looked at in one step of a search
constexpr int kChecks = 60;                 // the same of a search for a way
constexpr double kCostStep = 0.3;           // [rad] by which the next goal must cost more
constexpr double kFarthestClearance = 1.0;  // [m] that is reported
const Obstacles kNone;                      // where a measurement has none

// Memory layout: these, then the vectors.
enum Slot : std::size_t {
  kStarted,
  kMode,
  kReason,
  kCandidate,  // next one of a search; -1: the way to the best is searched
  kBestCost,
  kCostFloor,  // goals that cost no more have been given up
  kSearching,  // for a way; its trees are at the end of the memory
  kInVain,     // a whole search has found nothing
  kTurns,      // of the way
  kNextWaypoint,
  kArrived,
  kArrivals,
  kArrivalTime,
  kSettledError,
  kSettledAngle,
  kTravel,
  kBranchSwitches,
  kSearches,
  kTarget,                     // that the mode is about; 12 numbers
  kGoalTarget = kTarget + 12,  // that the goal meets
  kVectors = kGoalTarget + 12
};

bool is_pose(const Isometry3d& X) noexcept {
  const Eigen::Matrix3d R = X.linear();
  return X.matrix().allFinite() && std::isfinite(X.translation().squaredNorm()) &&
         (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <=
             kRotationSlack &&
         R.determinant() > 0.0;
}

Eigen::Map<Eigen::Matrix<double, 3, 4>> pose_in(std::span<double> memory, std::size_t slot) {
  return Eigen::Map<Eigen::Matrix<double, 3, 4>>(memory.data() + slot);
}
Isometry3d read_pose(std::span<double> memory, std::size_t slot) noexcept {
  Isometry3d X = Isometry3d::Identity();
  X.affine() = pose_in(memory, slot);
  return X;
}
void write_pose(const Isometry3d& X, std::span<double> memory, std::size_t slot) noexcept {
  pose_in(memory, slot) = X.affine();
}
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

MobileFabrikOptions solver_options(const MobileRobot& robot) {
  return {.planes = PlaneOrder::NearestFirst, .polish = robot.link_count() == 3};
}

}  // namespace

std::span<const SettingInfo> MobileReachController::settings() {
  static constexpr SettingInfo kAll[] = {
      {"target", "", "target", "mocap body that the tool shall coincide with, its x axis along it"},
      {"tolerance", "m", "0.003", "tool error within which the target counts as reached"},
      {"angle_tolerance", "rad", "0.0175", "the same of the orientation"},
      {"platform_weight", "", "6",
       "following a target: what 1 m of the platform weighs against 1 rad of a joint"},
      {"speed", "", "1", "part of the robot's speed and acceleration limits that is used"},
      {"gain", "1/s", "5", "of the integral of setpoint minus measured position; 0: none"},
      {"correction_limit", "rad", "0.05", "largest integral of each joint, of the platform in m"},
      {"settle_time", "s", "2", "after an arrival, before settled errors are recorded"},
      {"avoidance", "", "false", "keep away from the scene's obstacles"},
      {"obstacles", "", "",
       "geoms and bodies to keep away from, separated by spaces; default: all that the robot can "
       "touch"},
      {"obstacle_margin", "m", "0.03", "kept between the robot and obstacles"},
  };
  return kAll;
}

MobileReachController::MobileReachController(const MobileContext& context)
    : robot_(context.robot),
      tolerance_(context.settings.number("tolerance", 0.003, {.low = 0.0, .open_low = true})),
      angle_tolerance_(
          context.settings.number("angle_tolerance", 0.0175, {.low = 0.0, .open_low = true})),
      gain_(context.settings.number("gain", 5.0, {.low = 0.0, .high = 1000.0})),
      correction_limit_(
          context.settings.number("correction_limit", 0.05, {.low = 0.0, .high = 1.0})),
      settle_time_(context.settings.number("settle_time", 2.0, {.low = 0.0})),
      h_(context.timestep),
      solver_(context.robot, solver_options(context.robot)),
      tracker_(context.robot, {.platform_weight = context.settings.number(
                                   "platform_weight", 6.0, {.low = 0.01, .high = 1000.0})}),
      postures_(context.robot),
      way_(make_body(context),
           {.margin = context.settings.number("obstacle_margin", 0.03, {.low = 0.0, .high = 1.0})}),
      motion_(context.robot, context.limits,
              kPlanShare * context.settings.number("speed", 1.0,
                                                   {.low = 0.0, .high = 1.0, .open_low = true}),
              context.timestep),
      x_(configuration_size(robot_)),
      v_(configuration_size(robot_)),
      stop_(configuration_size(robot_)),
      rate_(configuration_size(robot_)) {}

int MobileReachController::memory_size() const noexcept {
  const auto parts = kTurn + static_cast<std::size_t>(way_.options().max_waypoints);
  return static_cast<int>(kVectors + parts * static_cast<std::size_t>(x_.size())) +
         way_.memory_size();
}

void MobileReachController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
}

MobileReachController::Map MobileReachController::part(std::span<double> memory,
                                                       std::size_t part) const noexcept {
  const auto n = static_cast<std::size_t>(x_.size());
  return {memory.data() + kVectors + part * n, x_.size()};
}

/// Which side of the tool the arm's plane lies on: 1 facing, -1 opposite, 0 for a vertical tool.
double MobileReachController::side(const MobileConfiguration& x,
                                   const Isometry3d& X_WG) const noexcept {
  const Vector3d axis = X_WG.linear().col(0);
  const double psi = x[2] + x[kPlatformSize];
  const double along = axis.x() * std::cos(psi) + axis.y() * std::sin(psi);
  return std::abs(along) < 1e-6 ? 0.0 : std::copysign(1.0, along);
}

void MobileReachController::adopt(const Isometry3d& X_WG, const MobileConfiguration& goal,
                                  int turns, std::span<double> next) noexcept {
  const bool known = next[kGoalTarget] != 0.0 || next[kGoalTarget + 1] != 0.0 ||
                     next[kGoalTarget + 2] != 0.0;  // first column of a rotation
  if (known && is_near(read_pose(next, kGoalTarget), X_WG) &&
      side(goal, X_WG) * side(part(next, kGoal), X_WG) < 0.0) {
    next[kBranchSwitches] += 1.0;
  }
  part(next, kGoal) = goal;
  part(next, kGoalRate).setZero();
  next[kMode] = static_cast<double>(Mode::Going);
  next[kReason] = static_cast<double>(MobileStatus::Converged);
  next[kTurns] = turns;
  next[kNextWaypoint] = 0.0;
  for (int i = 0; i < turns; ++i) part(next, kTurn + static_cast<std::size_t>(i)) = way_.waypoint(i);
  write_pose(X_WG, next, kTarget);
  write_pose(X_WG, next, kGoalTarget);
}

void MobileReachController::begin_search(const Isometry3d& X_WG,
                                         std::span<double> next) const noexcept {
  next[kMode] = static_cast<double>(Mode::Searching);
  next[kCandidate] = 0.0;
  next[kBestCost] = kInfinity;
  next[kCostFloor] = -1.0;
  next[kSearching] = 0.0;
  next[kInVain] = 0.0;
  write_pose(X_WG, next, kTarget);
}

/// A target that moves little: the goal moves on with it. False if it cannot.
bool MobileReachController::follow(const Isometry3d& X_WG, std::span<double> next,
                                   MobileReport& report) noexcept {
  if (!is_near(read_pose(next, kGoalTarget), X_WG)) return false;
  Map goal = part(next, kGoal);
  x_ = goal;
  const MobileTracker::Result found = tracker_.follow(X_WG, x_);
  report.iterations += found.iterations;
  if (!found.converged) return false;
  // How long the robot would take at full speed. More than a step: it has been waiting or searching
  // while the target went on.
  v_ = x_ - goal;
  const double duration = motion_.speed_ratio(v_);
  if (duration > kLongestFollow || !way_.is_free(x_, *obstacles_)) return false;
  if (duration <= kFollowSpeed * h_) part(next, kGoalRate) += h_ / (h_ + kRateTime) * (v_ / h_);
  goal = x_;
  next[kMode] = static_cast<double>(Mode::Going);
  next[kReason] = static_cast<double>(MobileStatus::Converged);
  write_pose(X_WG, next, kTarget);
  write_pose(X_WG, next, kGoalTarget);
  return true;
}

/// A new target: FABRIK's solution if the way to it is free; otherwise a search begins, or it is
/// refused.
void MobileReachController::reach(const Isometry3d& X_WG, std::span<double> next,
                                  MobileReport& report) noexcept {
  const Map plan = part(next, kPlan);
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
    if (way_.line_is_free(plan, x_, *obstacles_)) {
      adopt(X_WG, x_, 0, next);
      return;
    }
  } else if (result.status != MobileStatus::Stalled) {
    next[kMode] = static_cast<double>(Mode::Refused);
    next[kReason] = static_cast<double>(result.status);
    write_pose(X_WG, next, kTarget);
    return;
  }
  begin_search(X_WG, next);
}

void MobileReachController::choose(const Isometry3d& X_WG, std::span<double> next,
                                   MobileReport& report) noexcept {
  const Mode mode = static_cast<Mode>(static_cast<int>(next[kMode]));
  const Isometry3d known = read_pose(next, kTarget);
  if (mode != Mode::Holding && known.affine() == X_WG.affine()) return;
  if (mode == Mode::Searching) {
    const bool given_up = next[kInVain] != 0.0 || next[kCostFloor] >= 0.0;
    if (!given_up || is_near(known, X_WG)) return;
  }
  if ((mode == Mode::Going || mode == Mode::Refused) && follow(X_WG, next, report)) return;
  reach(X_WG, next, report);
}

/// Some of a search: for the cheapest free goal, then for a way to it.
void MobileReachController::search(std::span<double> next, MobileReport& report) noexcept {
  const Map plan = part(next, kPlan);
  const Isometry3d X_WG = read_pose(next, kTarget);
  Map best = part(next, kBest);
  if (next[kCandidate] < 0.0) {
    const std::span<double> trees = next.last(static_cast<std::size_t>(way_.memory_size()));
    if (next[kSearching] == 0.0) {
      way_.begin(plan, best, static_cast<int>(next[kSearches]), trees);
      next[kSearching] = 1.0;
      next[kSearches] += 1.0;
    }
    const MobilePathPlanner::Progress progress = way_.resume(*obstacles_, kChecks, trees);
    if (progress == MobilePathPlanner::Progress::Searching) return;
    next[kSearching] = 0.0;
    if (progress == MobilePathPlanner::Progress::Found) {
      adopt(X_WG, best, way_.waypoint_count(), next);
      return;
    }
    next[kCostFloor] = next[kBestCost] + kCostStep;  // a goal that differs
    next[kBestCost] = kInfinity;
    next[kCandidate] = 0.0;
    return;
  }
  const int count = postures_.begin({.X_WG = X_WG, .azimuth = {}}, plan);
  const int first = static_cast<int>(next[kCandidate]);
  const int last = std::min(count, first + kCandidates);
  for (int i = first; i < last; ++i) {
    double cost = 0.0;
    ++report.iterations;
    if (postures_.at(i, x_, cost) && cost < next[kBestCost] && cost > next[kCostFloor] &&
        way_.is_free(x_, *obstacles_)) {
      next[kBestCost] = cost;
      best = x_;
    }
  }
  next[kCandidate] = last;
  if (last < count) return;
  if (std::isfinite(next[kBestCost])) {
    next[kCandidate] = -1.0;
    return;
  }
  // Nothing, or no way to any: it begins again, with other random numbers.
  next[kReason] = static_cast<double>(MobileStatus::BaseBlocked);
  next[kInVain] = 1.0;
  next[kCostFloor] = -1.0;
  next[kCandidate] = 0.0;
}

/// The plan's next step, if it could still brake before a collision.
void MobileReachController::move(std::span<double> next, bool hold) noexcept {
  Map plan = part(next, kPlan), velocity = part(next, kVelocity);
  const Map goal = part(next, kGoal);
  const bool going = next[kMode] == static_cast<double>(Mode::Going) && !hold;
  x_ = plan;
  v_ = velocity;
  if (going) {
    const auto turn = static_cast<std::size_t>(next[kNextWaypoint]);
    const bool last = turn >= static_cast<std::size_t>(next[kTurns]);
    rate_ = part(next, kGoalRate);
    if (!last) rate_.setZero();
    motion_.step(last ? goal : part(next, kTurn + turn), rate_, x_, v_);
    motion_.stop_point(x_, v_, stop_);
    const bool moves = motion_.speed_ratio(v_) > kAtRest;
    if (moves && !(way_.is_free(x_, *obstacles_, kGuardShare) &&
                   way_.is_free(stop_, *obstacles_, kGuardShare))) {
      x_ = plan;
      v_ = velocity;
      motion_.brake(x_, v_);
      if (motion_.speed_ratio(v_) <= kAtRest) begin_search(read_pose(next, kTarget), next);
    } else if (!last && (x_ - part(next, kTurn + turn)).cwiseAbs().maxCoeff() <= kThere) {
      next[kNextWaypoint] += 1.0;
    }
  } else {
    motion_.brake(x_, v_);
  }
  next[kTravel] += std::hypot(x_[0] - plan[0], x_[1] - plan[1]);
  plan = x_;
  velocity = v_;
}

/// Setpoints: the plan, and what integrates the servos' error away.
void MobileReachController::correct(const MobileMeasurement& measurement,
                                    std::span<const double> memory, std::span<double> next,
                                    MobileCommand& command) noexcept {
  const auto n = static_cast<std::size_t>(x_.size());
  const Eigen::Map<const Eigen::VectorXd> planned(memory.data() + kVectors + kPlan * n, x_.size());
  set_configuration(measurement.base, {measurement.q.data(), n - kPlatformSize}, x_);
  Map correction = part(next, kCorrection), rate = part(next, kCorrectionRate);
  const Map plan = part(next, kPlan), velocity = part(next, kVelocity);
  constexpr double kShare = (1.0 - kPlanShare) / kPlanShare;
  for (Eigen::Index k = 0; k < x_.size(); ++k) {
    const double fastest = kShare * motion_.speed()[k] * (k < 2 ? std::sqrt(0.5) : 1.0);
    const double change = kShare * motion_.acceleration()[k] * h_ * (k < 2 ? std::sqrt(0.5) : 1.0);
    const double error = memory[kStarted] == 0.0 ? 0.0 : planned[k] - x_[k];
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
void MobileReachController::judge(const MobileMeasurement& measurement, std::span<double> next,
                                  MobileReport& report) const noexcept {
  const Mode mode = static_cast<Mode>(static_cast<int>(next[kMode]));
  report.reason = static_cast<MobileStatus>(static_cast<int>(next[kReason]));
  const Isometry3d known = pose_in(next, kGoalTarget).allFinite() ? read_pose(next, kGoalTarget)
                                                                  : Isometry3d::Identity();
  const bool at_goal = mode == Mode::Going && known.affine() == measurement.X_WG.affine() &&
                       next[kNextWaypoint] >= next[kTurns] &&
                       (part(next, kGoal) - part(next, kPlan)).cwiseAbs().maxCoeff() <= kThere &&
                       motion_.speed_ratio(part(next, kVelocity)) <= kAtRest;
  if (at_goal && next[kArrived] == 0.0) {
    next[kArrived] = 1.0;
    next[kArrivals] += 1.0;
    next[kArrivalTime] = measurement.time;
  } else if (!at_goal) {
    next[kArrived] = 0.0;
  }
  if (next[kArrived] != 0.0 && measurement.time >= next[kArrivalTime] + settle_time_) {
    next[kSettledError] = std::max(next[kSettledError], report.tip_error);
    next[kSettledAngle] = std::max(next[kSettledAngle], report.angle_error);
  }
  if (mode == Mode::Refused || (mode == Mode::Searching && next[kInVain] != 0.0)) {
    report.status = ControllerStatus::NotReached;
  } else if (at_goal && report.tip_error <= tolerance_ && report.angle_error <= angle_tolerance_) {
    report.status = ControllerStatus::Finished;
  }
  report.arrivals = static_cast<int>(next[kArrivals]);
  report.settled_error = next[kSettledError];
  report.settled_angle_error = next[kSettledAngle];
  report.base_travel = next[kTravel];
  report.branch_switches = static_cast<int>(next[kBranchSwitches]);
  report.searches = static_cast<int>(next[kSearches]);
}

void MobileReachController::update(const MobileMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   MobileCommand& command, MobileReport& report) noexcept {
  const std::span<double> next = next_memory;
  obstacles_ = measurement.obstacles ? measurement.obstacles : &kNone;
  if (memory[kStarted] == 0.0) {
    Map plan = part(next, kPlan);
    set_configuration(measurement.base,
                      {measurement.q.data(), static_cast<std::size_t>(measurement.q.size())}, plan);
    for (int j = 0; j < robot_.joint_count(); ++j) {
      const JointLimits& limits = robot_.joint_limits(j);
      plan[kPlatformSize + j] = std::clamp(plan[kPlatformSize + j], limits.min, limits.max);
    }
    part(next, kGoal) = plan;
    next[kStarted] = 1.0;
  }
  const bool valid = measurement.has_target && is_pose(measurement.X_WG);
  if (valid) {
    const Isometry3d& X_WG = measurement.X_WG;
    report.tip_error = (X_WG.translation() - measurement.X_WE.translation()).norm();
    report.angle_error = rotation_angle(measurement.X_WE.linear(), X_WG.linear());
    Map rate = part(next, kGoalRate);  // a running mean; `follow` adds what is new
    rate *= kRateTime / (h_ + kRateTime);
    if (motion_.speed_ratio(rate) <= kAtRest) rate.setZero();
    choose(X_WG, next, report);
    if (next[kMode] == static_cast<double>(Mode::Searching) &&
        motion_.speed_ratio(part(next, kVelocity)) <= kAtRest) {
      search(next, report);
    }
  }
  move(next, !valid);
  correct(measurement, memory, next, command);
  if (valid) {
    judge(measurement, next, report);
  } else if (measurement.has_target) {
    report.status = ControllerStatus::InvalidTarget;
    report.reason = measurement.X_WG.matrix().allFinite() ? MobileStatus::InvalidRotation
                                                          : MobileStatus::InvalidTarget;
  }
  report.clearance = kFarthestClearance;
  if (obstacles_->count() > 0) {
    const Map plan = part(next, kPlan);
    report.clearance = std::min(
        kFarthestClearance,
        way_.body().clearance(platform_of(plan), joints_of(plan), *obstacles_, kFarthestClearance));
  }
}

}  // namespace tendril
