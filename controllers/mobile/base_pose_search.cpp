#include "controllers/mobile/base_pose_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using std::numbers::pi;

constexpr int kDirections = 24;                            // of the base poses around the target
constexpr std::array kDistances = {0.5, 0.65, 0.8, 0.92};  // of the arm's horizontal reach
constexpr std::array kYawOffsets = {0.0, -0.35,
                                    0.35};  // [rad], of the arm from the direction of the target
constexpr std::array kUprightHeadings = {0.0, 0.5 * pi};  // [rad], of the heading
constexpr double kRoundShift =
    0.618;  // of two directions: those of the next round are as much farther
constexpr int kMaxRounds = 1000;
constexpr double kVertical = 1e-3;  // horizontal component of the mount's axis that counts as none
constexpr int kChoices = 8;         // base poses looked at in one step
constexpr int kTries = 4;  // of the inverse kinematics at one base pose, in the first round
constexpr int kTryIterations = 80;
constexpr int kChecks = 40;          // of poses in one step of a search for a path
constexpr int kArmSlices = 40;       // of a search for a path of the arm, in the first round
constexpr int kDriveSlices = 250;    // of one for the platform
constexpr double kPathMargin = 0.9;  // of the margin that solutions keep, on the arm's path to them
constexpr double kGuardFraction = 0.75;     // of the margin that is kept while driving
constexpr double kPlanFraction = 0.95;      // of the speed limits
constexpr double kAtRest = 1e-9;            // of the speed limits
constexpr double kArrivalTolerance = 1e-7;  // [m], [rad]

/// The platform as a mobile robot whose joints do not move, and the straight arm as a part of it.
MobileBody straight_body(const MobileContinuum& robot, const BasePoseSearchOptions& options) {
  const double length = straight_length(robot.arm);
  const Vector3d foot = robot.X_PB.translation(), tip = foot + length * robot.X_PB.linear().col(2);
  const double reach = 0.5 * (tip.head<2>().norm() + foot.head<2>().norm()) + options.arm_radius;
  const ArmLink link{.length = reach, .limits = {0.0, 0.0}};
  const MobileRobot platform({.shoulder_height = std::max(foot.z(), 0.01),
                              .yaw = {0.0, 0.0},
                              .links = {link, link},
                              .roll = {0.0, 0.0},
                              .platform_length = options.platform_length,
                              .platform_width = options.platform_width,
                              .platform_height = options.platform_height});
  return {platform, {{.frame = 0, .start = foot, .end = tip, .radius = options.arm_radius}}};
}

}  // namespace

BasePoseSearch::BasePoseSearch(const MobileContinuum& robot, const Obstacles& obstacles,
                               const BasePoseSearchOptions& options)
    : robot_(robot),
      options_(options),
      planner_(straight_body(robot, options), {.margin = options.margin}),
      solver_(robot.arm, {.max_iterations = kTryIterations,
                          .body_radius = options.arm_radius,
                          .margin = options.margin,
                          .max_restarts = 0,
                          .search = {.tolerance = 1e-5, .most_steps = 100}}),
      arm_planner_(robot.arm,
                   {.safety_distance = options.arm_radius + kPathMargin * options.margin}),
      motion_(planner_.body().robot(), options.limits, kPlanFraction, options.timestep),
      waypoint_count_(layout_.index(0, planner_.options().max_waypoints)),
      next_waypoint_(layout_.index(0, planner_.options().max_waypoints)),
      seen_(obstacles),
      states_(robot.arm.straight().begin(), robot.arm.straight().end()),
      q_straight_(straight_coordinates(robot.arm)),
      q_(q_straight_) {
  const Eigen::Index size = configuration_size(planner_.body().robot());
  for (MatrixSlot<Eigen::VectorXd>* const slot : {&plan_, &velocity_, &from_, &goal_})
    *slot = layout_.vector(size);
  for (Eigen::VectorXd* const vector : {&x_, &v_, &stop_, &rate_})
    *vector = Eigen::VectorXd::Zero(size);
  waypoints_ = layout_.matrix<Eigen::MatrixXd>(size, planner_.options().max_waypoints);
  trees_ = layout_.part(planner_.layout());
  arm_trees_ = layout_.part(arm_planner_.layout());
  candidates_.reserve(1 + kDirections * kDistances.size() * kYawOffsets.size());
}

void BasePoseSearch::start(const PlatformPose& at, std::span<double> memory) const noexcept {
  plan_(memory).setZero();
  velocity_(memory).setZero();
  plan_(memory).head<3>() << at.x, at.y, at.heading;
  mode_(memory) = Mode::Idle;
}

void BasePoseSearch::begin(std::span<double> memory) const noexcept {
  mode_(memory) = Mode::Choosing;
  from_(memory) = plan_(memory);
  candidate_(memory) = tries_(memory) = slices_(memory) = rounds_(memory) = 0;
  growing_(memory) = false;
}

/// Lists the present base pose, then poses around the target by travel.
void BasePoseSearch::list_candidates(const TipTarget& target, const PlatformPose& from,
                                     int round) noexcept {
  candidates_.clear();
  candidates_.push_back({from, -1.0, 0});
  const Vector3d goal = target.position();
  const Isometry3d& X_PB = robot_.X_PB;
  const double height = goal.z() - X_PB.translation().z(), length = robot_.arm.max_length();
  const double reach = std::sqrt(std::max(0.0, length * length - height * height));
  const Vector3d axis = X_PB.linear().col(2);
  const bool upright = hypotenuse(axis.x(), axis.y()) < kVertical;
  const double azimuth = std::atan2(axis.y(), axis.x());
  for (int k = 0; k < kDirections; ++k) {
    const double direction = 2.0 * pi * (k + kRoundShift * round) / kDirections;
    for (const double distance : kDistances) {
      for (std::size_t i = 0; i < (upright ? kUprightHeadings.size() : kYawOffsets.size()); ++i) {
        const double desired =
            upright ? direction + kUprightHeadings[i] : direction - azimuth + kYawOffsets[i];
        const double heading = from.heading + wrap_angle(desired - from.heading);
        const Vector2d foot =
            goal.head<2>() - distance * reach * Vector2d(std::cos(direction), std::sin(direction));
        const Vector2d at =
            foot - Eigen::Rotation2Dd(heading) * Vector2d(X_PB.translation().head<2>());
        const PlatformPose pose{at.x(), at.y(), heading};
        candidates_.push_back({pose, hypotenuse(at.x() - from.x, at.y() - from.y),
                               static_cast<int>(candidates_.size())});
      }
    }
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.travel != b.travel ? a.travel < b.travel : a.number < b.number;
  });
}

void BasePoseSearch::next_candidate(std::span<double> memory) const noexcept {
  mode_(memory) = Mode::Choosing;
  candidate_(memory) += 1;
  tries_(memory) = slices_(memory) = 0;
  growing_(memory) = false;
}

/// Chooses the next base pose where platform and straight arm are free.
void BasePoseSearch::choose(const TipTarget& target, const Obstacles& obstacles,
                            std::span<double> memory) noexcept {
  list_candidates(target, platform_of(from_(memory)), std::min<int>(rounds_(memory), kMaxRounds));
  const int count = static_cast<int>(candidates_.size());
  for (int i = 0; i < kChoices; ++i) {
    const int k = candidate_(memory);
    if (k >= count) {
      candidate_(memory) = 0;
      rounds_(memory) += 1;
      return;
    }
    const PlatformPose& pose = candidates_[static_cast<std::size_t>(k)].pose;
    x_.setZero();
    x_.head<3>() << pose.x, pose.y, pose.heading;
    if (planner_.is_free(x_, obstacles)) {
      goal_(memory) = x_;
      mode_(memory) = Mode::Reaching;
      return;
    }
    next_candidate(memory);
  }
}

const Obstacles& BasePoseSearch::seen_from(const PlatformPose& base,
                                           const Obstacles& obstacles) noexcept {
  const Isometry3d X_BW = arm_base_pose(robot_, base).inverse();
  for (int i = 0; i < obstacles.count(); ++i) seen_.set_pose(i, X_BW * obstacles.pose(i));
  return seen_;
}

/// Tries the inverse kinematics at the chosen base pose, or continues a search for the arm's path.
int BasePoseSearch::reach(const TipTarget& target, const Obstacles& obstacles,
                          std::span<double> memory) noexcept {
  const PlatformPose base = platform_of(goal_(memory));
  const Obstacles& seen = seen_from(base, obstacles);
  const std::span<double> trees = arm_trees_(memory);
  const int rounds = std::min<int>(rounds_(memory), 10), tries = tries_(memory);
  if (growing_(memory)) {
    const ArmPathPlanner::Progress progress = arm_planner_.resume(seen, {}, kChecks, trees);
    slices_(memory) += 1;
    if (progress == ArmPathPlanner::Progress::Found) {
      mode_(memory) = Mode::Planning;
      growing_(memory) = false;
      slices_(memory) = 0;
    } else if (progress == ArmPathPlanner::Progress::Failed ||
               slices_(memory) > kArmSlices * (1 + rounds)) {
      next_candidate(memory);
    }
    return 0;
  }
  if (tries >= kTries * (1 + rounds)) {
    next_candidate(memory);
    return 0;
  }
  tries_(memory) = tries + 1;
  if (tries == 0 && rounds == 0) {
    std::copy(robot_.arm.straight().begin(), robot_.arm.straight().end(), states_.begin());
  } else {
    SplitMix64 random(static_cast<std::uint64_t>(1000 * rounds + tries));
    random_states(robot_.arm, random, states_);
    const double bend = random.uniform();
    for (SectionState& state : states_) state.theta *= bend;
  }
  const TipTarget in_base{.X_BG = arm_base_pose(robot_, base).inverse() * target.X_BG,
                          .task = target.task};
  const ObstacleResult found = solver_.solve(in_base, states_, seen, {});
  if (found.reached()) {
    to_coordinates(robot_.arm, found.states, q_);
    arm_planner_.begin(q_straight_, q_, rounds, trees);
    growing_(memory) = true;
  }
  return found.iterations;
}

/// Continues a search for the platform's path.
void BasePoseSearch::plan(const Obstacles& obstacles, std::span<double> memory) noexcept {
  const std::span<double> trees = trees_(memory);
  if (!growing_(memory)) {
    planner_.begin(plan_(memory), goal_(memory), rounds_(memory), trees);
    growing_(memory) = true;
  }
  slices_(memory) += 1;
  const MobilePathPlanner::Progress progress = planner_.resume(obstacles, kChecks, trees);
  if (progress == MobilePathPlanner::Progress::Found) {
    growing_(memory) = false;
    waypoint_count_(memory) = planner_.waypoint_count();
    next_waypoint_(memory) = 0;
    auto waypoints = waypoints_(memory);
    for (int i = 0; i < planner_.waypoint_count(); ++i) waypoints.col(i) = planner_.waypoint(i);
    mode_(memory) = Mode::Driving;
  } else if (progress == MobilePathPlanner::Progress::Failed || slices_(memory) > kDriveSlices) {
    next_candidate(memory);
  }
}

void BasePoseSearch::brake(std::span<double> memory) noexcept {
  x_ = plan_(memory);
  v_ = velocity_(memory);
  motion_.brake(x_, v_);
  plan_(memory) = x_;
  velocity_(memory) = v_;
}

void BasePoseSearch::drive(const Obstacles& obstacles, std::span<double> memory) noexcept {
  const int next = next_waypoint_(memory);
  const bool last = next >= waypoint_count_(memory);
  x_ = plan_(memory);
  v_ = velocity_(memory);
  rate_.setZero();
  if (last) {
    motion_.step(goal_(memory), rate_, x_, v_);
  } else {
    motion_.step(waypoints_(memory).col(next), rate_, x_, v_);
  }
  motion_.stop_point(x_, v_, stop_);
  if (motion_.speed_ratio(v_) > kAtRest && !(planner_.is_free(x_, obstacles, kGuardFraction) &&
                                             planner_.is_free(stop_, obstacles, kGuardFraction))) {
    brake(memory);
    if (motion_.speed_ratio(velocity_(memory)) <= kAtRest) begin(memory);
    return;
  }
  plan_(memory) = x_;
  velocity_(memory) = v_;
  const auto distance = [&](const auto& to) { return (x_ - to).cwiseAbs().maxCoeff(); };
  if (!last && distance(waypoints_(memory).col(next)) <= kArrivalTolerance) {
    next_waypoint_(memory) += 1;
  } else if (last && distance(goal_(memory)) <= kArrivalTolerance &&
             motion_.speed_ratio(v_) <= kAtRest) {
    mode_(memory) = Mode::There;
  }
}

int BasePoseSearch::step(const TipTarget& target, const Obstacles& obstacles,
                         std::span<double> memory) noexcept {
  const Mode mode = mode_(memory);
  if (mode == Mode::Driving) {
    drive(obstacles, memory);
    return 0;
  }
  if (motion_.speed_ratio(velocity_(memory)) > kAtRest) {
    brake(memory);
    from_(memory) = plan_(memory);
    return 0;
  }
  if (mode == Mode::Choosing) choose(target, obstacles, memory);
  if (mode == Mode::Reaching) return reach(target, obstacles, memory);
  if (mode == Mode::Planning) plan(obstacles, memory);
  return 0;
}

}  // namespace tendril
