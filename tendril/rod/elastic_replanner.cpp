#include "tendril/rod/elastic_replanner.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

#include "tendril/range.hpp"

using Eigen::Matrix2d;
using Eigen::Vector2d;

namespace tendril {
namespace {

/// A change of length that weighs as much as a change of curvature by 1/m [m].
constexpr double kLengthWeight = 0.1;
/// Damping of the Newton step, of the larger singular value.
constexpr double kDamping = 1e-3;
/// Largest change in one step of the curvature [1/m] and of the length [m].
constexpr double kCurvatureStep = 1.0, kLengthStep = 0.03;
/// The fraction of `max_advance` that a step takes is halved when no step is found, down to this.
constexpr double kMinTrust = 1.0 / 64.0;
/// Contact forces that are stored; the largest ones.
constexpr std::size_t kForces = 32;

/// Damped least squares in weighted unknowns: towards `error`, also where J is singular.
Vector2d newton_step(const Matrix2d& jacobian, const Vector2d& error) {
  const Vector2d weight(1.0, kLengthWeight);
  const Matrix2d scaled = jacobian * weight.asDiagonal();
  Matrix2d normal = scaled * scaled.transpose();
  normal.diagonal().array() += kDamping * kDamping * normal.trace();
  return weight.asDiagonal() * (scaled.transpose() * (normal.inverse() * error));
}

}  // namespace

const char* to_string(ReplanStatus status) noexcept {
  switch (status) {
    case ReplanStatus::AtTarget:
      return "at target";
    case ReplanStatus::Moving:
      return "moving";
    case ReplanStatus::Held:
      return "held";
    case ReplanStatus::Settling:
      return "settling";
    case ReplanStatus::InvalidInput:
      return "invalid input";
  }
  return "unknown";
}

ElasticReplanner::ElasticReplanner(PlanarScene scene, const PlanarPose& base,
                                   std::span<const PlannedContact> contacts,
                                   const ElasticRodOptions& rod,
                                   const ElasticReplannerOptions& options)
    : rod_(std::move(scene), base, rod),
      contacts_(contacts.begin(), contacts.end()),
      options_(options),
      states_(contacts.size()),
      multipliers_(kForces),
      is_set_(layout_.flag()),
      curvature_slot_(layout_.number()),
      length_slot_(layout_.number()),
      exit_angle_slot_(layout_.number()),
      trust_slot_(layout_.number()),
      element_count_(layout_.index(0, rod_.most_elements())),
      elements_(layout_.indices(kForces, 0, rod_.most_elements() - 1)),
      obstacles_(layout_.indices(kForces, 0, std::max(rod_.scene().size() - 1, 0))),
      forces_(layout_.numbers(kForces)),
      shifts_(layout_.matrix<Eigen::Matrix2Xd>(2, rod_.scene().size())),
      curvatures_(layout_.numbers(static_cast<std::size_t>(rod_.most_elements()))) {
  constexpr char kName[] = "elastic replanner options";
  require(kName, "max_advance", options.max_advance, kPositive, "m");
  require(kName, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(kName, "curvature_limit", options.curvature_limit, kPositive, "1/m");
  require(kName, "min_length", options.min_length,
          {.low = 0.0, .high = rod.max_length, .open_low = true, .open_high = true}, "m");
  require(kName, "max_evaluations", options.max_evaluations, {.low = 4.0});
  for (const PlannedContact& contact : contacts_)
    contact_obstacle_.push_back(contact_obstacle(rod_.scene(), contact, rod.body_radius));
}

bool ElasticReplanner::is_valid(double curvature, double length) const noexcept {
  return std::abs(curvature) <= options_.curvature_limit && length >= options_.min_length &&
         length <= rod_.options().max_length;
}

void ElasticReplanner::reset(double curvature, double length,
                             std::span<double> memory) const noexcept {
  layout_.reset(memory);
  if (!is_valid(curvature, length)) return;
  is_set_(memory) = true;
  curvature_slot_(memory) = curvature;
  length_slot_(memory) = length;
  trust_slot_(memory) = 1.0;
}

void ElasticReplanner::reset(const CorrectedState& state, std::span<double> memory) const noexcept {
  const double nowhere = std::numeric_limits<double>::quiet_NaN();
  reset(state.curvatures.size() == 1 ? state.curvatures[0] : nowhere, state.length, memory);
  const auto& curvatures = state.shape.curvatures;
  if (!is_set_(memory) || curvatures.size() > curvatures_.size()) return;
  exit_angle_slot_(memory) = state.shape.exit_angle;
  store_shape(curvatures, state.shape.multipliers, memory);
}

void ElasticReplanner::set_obstacle_shift(int obstacle, const Vector2d& shift,
                                          std::span<double> memory) const noexcept {
  if (obstacle < 0 || obstacle >= rod_.scene().size() || !shift.allFinite()) return;
  shifts_(memory).col(obstacle) = shift;
}

Vector2d ElasticReplanner::obstacle_shift(int obstacle,
                                          std::span<const double> memory) const noexcept {
  return shifts_(memory).col(obstacle);
}

bool ElasticReplanner::load(std::span<const double> memory) noexcept {
  if (!layout_.is_valid(memory.first(memory_size())) || !is_set_(memory) ||
      !is_valid(curvature_slot_(memory), length_slot_(memory)))
    return false;
  curvature_ = curvature_slot_(memory);
  length_ = length_slot_(memory);
  trust_ = std::clamp(trust_slot_(memory), kMinTrust, 1.0);
  for (int i = 0; i < rod_.scene().size(); ++i)
    rod_.set_obstacle_shift(i, obstacle_shift(i, memory));
  rod_.set_curvatures(curvatures_(memory).first(static_cast<std::size_t>(element_count_(memory))),
                      exit_angle_slot_(memory));
  for (std::size_t i = 0; i < kForces; ++i) {
    multipliers_[i] = {.element = static_cast<int>(elements_(memory)[i]),
                       .obstacle = static_cast<int>(obstacles_(memory)[i]),
                       .force = forces_(memory)[i]};
  }
  rod_.set_multipliers(multipliers_);
  return true;
}

/// Leaves the shifts as they are.
void ElasticReplanner::store(std::span<double> memory) noexcept {
  is_set_(memory) = true;
  curvature_slot_(memory) = curvature_;
  length_slot_(memory) = length_;
  exit_angle_slot_(memory) = rod_.exit_angle();
  trust_slot_(memory) = trust_;
  const auto forces = static_cast<std::size_t>(rod_.multipliers(multipliers_));
  store_shape(rod_.curvatures(), std::span(multipliers_).first(forces), memory);
}

void ElasticReplanner::store_shape(std::span<const double> curvatures,
                                   std::span<const RodMultiplier> multipliers,
                                   std::span<double> memory) const noexcept {
  element_count_(memory) = static_cast<int>(curvatures.size());
  const std::span<double> all = curvatures_(memory);
  std::fill(std::copy(curvatures.begin(), curvatures.end(), all.begin()), all.end(), 0.0);
  for (std::size_t i = 0; i < kForces; ++i) {
    const RodMultiplier entry = i < multipliers.size() ? multipliers[i] : RodMultiplier{};
    elements_(memory)[i] = entry.element;
    obstacles_(memory)[i] = entry.obstacle;
    forces_(memory)[i] = entry.force;
  }
}

RodSolution ElasticReplanner::equilibrium(double curvature, double length,
                                          int evaluations) noexcept {
  rod_.set_max_evaluations(std::max(1, evaluations));
  return rod_.solve(curvature, length);
}

/// The equilibrium, and how its tip would move.
void ElasticReplanner::predict(const RodSolution& solution, Replan& result) noexcept {
  result.tip = solution.tip;
  result.exit_angle = rod_.exit_angle();
  result.contact_force = solution.contact_force();
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    PlannedContact contact = contacts_[i];
    if (contact_obstacle_[i] >= 0) contact.center += rod_.obstacle_shift(contact_obstacle_[i]);
    states_[i] = contact_state(rod_, solution, contact);
  }
  result.contacts = states_;
  if (!solution.converged()) return;
  rod_.differentiate(0.0, rod_.length());
  result.jacobian.col(0) = rod_.position_rate(rod_.length());
  result.jacobian.col(1) = solution.tip.tangent();  // fed length appears at the tip
}

Replan ElasticReplanner::step(std::span<const double> memory, const Vector2d& target,
                              std::span<double> next) noexcept {
  Replan result;
  if (memory.data() != next.data()) std::copy(memory.begin(), memory.end(), next.begin());
  if (!target.allFinite() || !load(memory)) return result;

  // The equilibrium now, obstacles where they are known to be.
  RodSolution rest = equilibrium(curvature_, length_, options_.max_evaluations);
  int left = options_.max_evaluations - rest.evaluations;
  predict(rest, result);
  const Vector2d error = target - rest.tip.position;
  result.tip_error = error.norm();
  if (!rest.converged()) {
    result.status = ReplanStatus::Settling;
  } else if (result.tip_error <= options_.position_tolerance) {
    result.status = ReplanStatus::AtTarget;
    trust_ = 1.0;
  } else if (left < options_.max_evaluations / 3) {
    result.status = ReplanStatus::Settling;  // in equilibrium; too little work is left for more
  } else {
    // Newton's step towards the target, as far as it may go.
    const double advance = trust_ * options_.max_advance;
    Vector2d change =
        newton_step(result.jacobian, std::min(1.0, advance / result.tip_error) * error);
    const double largest =
        std::max(std::abs(change[0]) / kCurvatureStep, std::abs(change[1]) / kLengthStep);
    change /= std::max(1.0, largest / trust_);
    const double curvature =
        std::clamp(curvature_ + change[0], -options_.curvature_limit, options_.curvature_limit);
    const double length =
        std::clamp(length_ + change[1], options_.min_length, rod_.options().max_length);
    rod_.save();
    const RodSolution moved = equilibrium(curvature, length, left);
    left -= moved.evaluations;
    const double error_after = (target - moved.tip.position).norm();
    if (moved.converged() && error_after < result.tip_error) {
      curvature_ = curvature;
      length_ = length;
      trust_ = std::min(1.0, 2.0 * trust_);
      predict(moved, result);
      result.tip_error = error_after;
      result.status = error_after <= options_.position_tolerance ? ReplanStatus::AtTarget
                                                                 : ReplanStatus::Moving;
    } else {
      rod_.restore();
      trust_ = std::max(kMinTrust, 0.5 * trust_);
      result.status = ReplanStatus::Held;
    }
  }
  result.curvature = curvature_;
  result.length = length_;
  result.evaluations = options_.max_evaluations - left;
  store(next);
  return result;
}

Replan ElasticReplanner::settle(std::span<const double> memory, double curvature, double length,
                                std::span<double> next) noexcept {
  Replan result;
  if (memory.data() != next.data()) std::copy(memory.begin(), memory.end(), next.begin());
  if (!is_valid(curvature, length) || !load(memory)) return result;
  curvature_ = curvature;
  length_ = length;
  const RodSolution rest = equilibrium(curvature_, length_, options_.max_evaluations);
  predict(rest, result);
  result.status = rest.converged() ? ReplanStatus::AtTarget : ReplanStatus::Settling;
  result.tip_error = 0.0;
  result.curvature = curvature_;
  result.length = length_;
  result.evaluations = rest.evaluations;
  store(next);
  return result;
}

}  // namespace tendril
