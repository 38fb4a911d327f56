#include "tendril/mobile/continuum_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/mobile/support.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDirections = 12;                      // of the base poses around the target
constexpr std::array kDistances = {0.3, 0.6, 0.85};  // of the arm's horizontal reach
constexpr int kHalvings = 10;                        // of a shift that the platform's rule forbids
constexpr double kWorthwhile = 0.98;     // a shift must leave less of the error than this
constexpr double kRotationSlack = 1e-6;  // entries of R^T R - I
constexpr double kUpright = 1e-3;  // horizontal component of the mount's axis that counts as none

AutoOptions with_budget(AutoOptions options, int iterations) {
  options.max_iterations = iterations;
  return options;
}

double score(const MobileContinuumResult& result, const AutoOptions& options) {
  return std::max(result.position_error / options.position_tolerance,
                  result.angle_error / options.angle_tolerance);
}

}  // namespace

Eigen::Isometry3d arm_base_pose(const MobileContinuum& robot, const PlatformPose& base) noexcept {
  Eigen::Isometry3d X_WP = Eigen::Isometry3d::Identity();
  X_WP.linear() = Eigen::AngleAxisd(base.heading, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  X_WP.translation() << base.x, base.y, 0.0;
  return X_WP * robot.X_PB;
}

MobileContinuumSolver::MobileContinuumSolver(const MobileContinuum& robot,
                                             const MobileContinuumOptions& options)
    : robot_(robot),
      options_(options),
      thorough_(robot.arm, options.arm),
      quick_(robot.arm, with_budget(options.arm, std::max(1, options.quick_iterations))),
      start_(static_cast<std::size_t>(robot.arm.section_count())),
      states_(start_.size()),
      best_(start_.size()),
      kept_(start_.size()) {
  constexpr char kName[] = "mobile continuum options";
  require(kName, "quick_iterations", options.quick_iterations, {.low = 1.0});
  require(kName, "max_shifts", options.max_shifts, kNotNegative);
  require(kName, "return_steps", options.return_steps, kNotNegative);
  const Eigen::Matrix3d R = robot.X_PB.linear();
  if (!robot.X_PB.matrix().allFinite() ||
      (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() > kRotationSlack ||
      R.determinant() < 0.0) {
    throw ModelError("mobile continuum: X_PB is no pose: must be finite, with a rotation matrix");
  }
  candidates_.reserve(2 * kDirections * kDistances.size());
}

MobileContinuumResult MobileContinuumSolver::solve(const TipTarget& target,
                                                   const PlatformPose& base, SectionStates states,
                                                   const PlatformRule& rule,
                                                   const BaseState& arm_base) noexcept {
  MobileContinuumResult result{
      .position_error = kInfinity, .angle_error = kInfinity, .base = base, .arm_base = arm_base};
  const SectionStates straight = robot_.arm.straight();
  const bool valid_start =
      states.size() == start_.size() &&
      std::all_of(states.begin(), states.end(),
                  [](const SectionState& state) {
                    return std::isfinite(state.theta) && std::isfinite(state.phi) &&
                           std::isfinite(state.extension);
                  }) &&
      std::isfinite(base.x * base.x + base.y * base.y) && std::isfinite(base.heading) &&
      std::isfinite(arm_base.feed) && std::isfinite(arm_base.spin);
  // The start may be the previous solution, which is in `best_`.
  std::copy_n(valid_start ? states.begin() : straight.begin(), start_.size(), start_.begin());
  for (std::size_t i = 0; i < start_.size(); ++i)
    best_[i] = robot_.arm.clamped(static_cast<int>(i), start_[i]);
  result.states = best_;
  if (!valid_start) {
    result.base = {};
    result.arm_base = {};
    result.status = MobileStatus::InvalidStart;
    return result;
  }
  if (!is_finite(target) || target.task == TipTask::Pose) return result;
  const Eigen::Matrix3d R = target.X_BG.linear();
  if (target.task == TipTask::PositionAndDirection &&
      std::abs(R.col(2).squaredNorm() - 1.0) > kRotationSlack) {
    result.status = MobileStatus::InvalidRotation;
    return result;
  }
  if (options_.check_floor && target.position().z() < 0.0) {
    result.status = MobileStatus::UnderFloor;
    return result;
  }
  const double feed = robot_.arm.base().feed_limit;
  const double height = target.position().z() - robot_.X_PB.translation().z();
  if (std::abs(height) > robot_.arm.max_length() + feed) {
    result.status = MobileStatus::UnreachableHeight;
    return result;
  }

  // At the present base pose; then elsewhere.
  const bool may_stay = rule.frozen || rule(base);
  bool met = may_stay && try_from(thorough_, target, base, start_, arm_base, result);
  if (!met && !rule.frozen) {
    met = search(target, base, rule, arm_base, result);
    if (met) move_back(target, base, rule, arm_base, result);
  }
  result.base_travel = hypotenuse(result.base.x - base.x, result.base.y - base.y);
  result.heading_change = wrap_angle(result.base.heading - base.heading);
  if (met) return result;
  result.status = MobileStatus::Stalled;
  if (rule.frozen || rule.allows != nullptr) {  // would it be met from anywhere?
    MobileContinuumResult anywhere = result;
    kept_ = best_;  // the search writes it
    if (search(target, base, {}, arm_base, anywhere)) result.status = MobileStatus::BaseBlocked;
    best_ = kept_;
    result.iterations = anywhere.iterations;
    result.base_poses = anywhere.base_poses;
  }
  return result;
}

/// Shifts by the arm's remaining error, then the base poses around the target.
bool MobileContinuumSolver::search(const TipTarget& target, const PlatformPose& start,
                                   const PlatformRule& rule, const BaseState& arm_base,
                                   MobileContinuumResult& result) noexcept {
  if (rule(start)) {
    PlatformPose base = start;
    if (try_from(quick_, target, base, start_, arm_base, result)) return true;
    double before = kInfinity;
    for (int k = 0; k < options_.max_shifts; ++k) {
      const double left = shortfall_.head<2>().norm();
      if (left < 0.5 * options_.arm.position_tolerance || left > kWorthwhile * before) break;
      before = left;
      PlatformPose shifted = base;
      double fraction = 1.0;
      for (int halving = 0;; ++halving, fraction *= 0.5) {
        shifted.x = base.x + fraction * shortfall_.x();
        shifted.y = base.y + fraction * shortfall_.y();
        if (halving == kHalvings || rule(shifted)) break;
      }
      if (!rule(shifted)) break;
      base = shifted;
      ++result.base_shifts;
      if (try_from(quick_, target, base, states_, arm_base, result)) return true;
    }
  }
  list_candidates(target, start, rule);
  const Candidate* nearest = nullptr;
  double nearest_score = kInfinity;
  for (const Candidate& candidate : candidates_) {
    if (try_from(quick_, target, candidate.base, start_, arm_base, result)) return true;
    if (last_score_ < nearest_score) {
      nearest_score = last_score_;
      nearest = &candidate;
    }
  }
  return nearest != nullptr && try_from(thorough_, target, nearest->base, start_, arm_base, result);
}

/// Solves the arm with the platform at `base`; keeps the solution if it meets the target, or is
/// nearer to it than what there was.
bool MobileContinuumSolver::try_from(AutoSolver& solver, const TipTarget& target,
                                     const PlatformPose& base, SectionStates from,
                                     const BaseState& arm_base,
                                     MobileContinuumResult& result) noexcept {
  const Eigen::Isometry3d X_WB = arm_base_pose(robot_, base);
  const TipTarget seen{.X_BG = X_WB.inverse() * target.X_BG, .task = target.task};
  const IkResult solution = solver.solve(seen, from, arm_base);
  ++result.base_poses;
  result.iterations += solution.iterations;
  std::copy(solution.states.begin(), solution.states.end(), states_.begin());

  MobileContinuumResult evaluated = result;
  const Eigen::Isometry3d X_WE = X_WB * tip_pose(robot_.arm, states_, solution.base);
  shortfall_ = target.position() - X_WE.translation();
  evaluated.position_error = position_error(X_WE, target);
  evaluated.angle_error = angle_error(X_WE, target);
  const bool met = evaluated.position_error <= options_.arm.position_tolerance &&
                   evaluated.angle_error <= options_.arm.angle_tolerance;
  last_score_ = score(evaluated, options_.arm);
  if (!met && !(last_score_ < score(result, options_.arm))) return false;
  evaluated.base = base;
  evaluated.arm_base = solution.base;
  evaluated.status = met ? MobileStatus::Converged : MobileStatus::Stalled;
  std::copy(states_.begin(), states_.end(), best_.begin());
  evaluated.states = best_;
  result = evaluated;
  return met;
}

/// Allowed base poses around the target, by travel.
void MobileContinuumSolver::list_candidates(const TipTarget& target, const PlatformPose& start,
                                            const PlatformRule& rule) noexcept {
  candidates_.clear();
  const Eigen::Vector3d goal = target.position();
  const double height = goal.z() - robot_.X_PB.translation().z();
  const double length = robot_.arm.max_length();
  const double reach = std::sqrt(std::max(0.0, length * length - height * height));
  const Eigen::Vector3d mount_axis = robot_.X_PB.linear().col(2);
  const bool upright = hypotenuse(mount_axis.x(), mount_axis.y()) < kUpright;
  const double azimuth = std::atan2(mount_axis.y(), mount_axis.x());
  const Eigen::Vector2d mount = robot_.X_PB.translation().head<2>();
  const Eigen::Vector3d foot = arm_base_pose(robot_, start).translation();
  const double towards = std::atan2(goal.y() - foot.y(), goal.x() - foot.x());
  for (int k = 0; k < kDirections; ++k) {
    const double direction = towards + 2.0 * kPi * k / kDirections;
    for (const double distance : kDistances) {
      for (const bool rotated : {false, true}) {
        if (rotated && upright) continue;  // the heading does not matter to the arm
        const double heading = rotated
                                   ? start.heading + wrap_angle(direction - azimuth - start.heading)
                                   : start.heading;
        const Eigen::Vector2d offset = Eigen::Rotation2Dd(heading) * mount;
        const PlatformPose pose{.x = goal.x() - distance * reach * std::cos(direction) - offset.x(),
                                .y = goal.y() - distance * reach * std::sin(direction) - offset.y(),
                                .heading = heading};
        if (rule(pose))
          candidates_.push_back({pose, hypotenuse(pose.x - start.x, pose.y - start.y)});
      }
    }
  }
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.travel < b.travel; });
}

/// Bisects the line back to the start for the last base pose from which the arm meets the target.
void MobileContinuumSolver::move_back(const TipTarget& target, const PlatformPose& start,
                                      const PlatformRule& rule, const BaseState& arm_base,
                                      MobileContinuumResult& result) noexcept {
  const PlatformPose found = result.base;
  const double rotation = wrap_angle(found.heading - start.heading);
  double far = 1.0, near = 0.0;  // fractions of the line at which it is met, and not
  for (int k = 0; k < options_.return_steps; ++k) {
    const double fraction = 0.5 * (far + near);
    const PlatformPose base{.x = start.x + fraction * (found.x - start.x),
                            .y = start.y + fraction * (found.y - start.y),
                            .heading = start.heading + fraction * rotation};
    kept_ = best_;
    if (rule(base) && try_from(quick_, target, base, kept_, arm_base, result)) {
      far = fraction;
    } else {
      near = fraction;
    }
  }
}

}  // namespace tendril
