#include "tendril/rod/elastic_replanner.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "tendril/model_error.hpp"

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
/// The share of `max_advance` that a step takes is halved when no step is found, down to this.
constexpr double kLeastTrust = 1.0 / 64.0;
/// Contact forces that are remembered; the largest ones.
constexpr std::size_t kForces = 32;

// The memory: header, forces (element, obstacle, force), shifts, curvatures.
enum Header : std::size_t { kSet, kCurvature, kLength, kTurn, kTrust, kElements, kHeader };
constexpr std::size_t kForceSize = 3;
constexpr double kMark = 1.0;

void require(bool valid, const char* field, double value, const char* allowed) {
  if (valid) return;
  std::ostringstream text;
  text << "elastic replanner options: " << field << " = " << value << ", must be " << allowed;
  throw ModelError(text.str());
}

bool is_positive(double value) { return std::isfinite(value) && value > 0.0; }

std::size_t shift_place(int obstacle) {
  return kHeader + kForceSize * kForces + 2 * static_cast<std::size_t>(obstacle);
}

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

ElasticPlan plan_elastic_insertion(const PlanarScene& scene, const PlanarPose& base,
                                   std::span<const ContactStep> steps,
                                   std::span<const ContactPoint> points,
                                   const ElasticRodOptions& rod,
                                   const ElasticCorrectionOptions& options,
                                   InsertionOptions insertion) {
  ElasticPlan plan;
  plan.arcs = planned_arcs(steps);
  plan.contacts = planned_contacts(steps, points, rod.body_radius);
  ElasticCorrection correction(scene, base, rod, options);
  plan.states = correction.follow(plan.arcs, plan.contacts);
  insertion.body_radius = rod.body_radius;
  insertion.scene = &scene;
  insertion.contacts = plan.contacts;
  if (plan.corrected())
    plan.list = elastic_insertion(InsertionPath(plan.arcs), plan.states, insertion);
  return plan;
}

ElasticReplanner::ElasticReplanner(PlanarScene scene, const PlanarPose& base,
                                   std::span<const PlannedContact> contacts,
                                   const ElasticRodOptions& rod,
                                   const ElasticReplannerOptions& options)
    : rod_(std::move(scene), base, rod),
      contacts_(contacts.begin(), contacts.end()),
      options_(options),
      states_(contacts.size()),
      multipliers_(kForces) {
  const auto positive = [](const char* field, double value) {
    require(is_positive(value), field, value, "finite and > 0");
  };
  positive("max_advance", options.max_advance);
  positive("position_tolerance", options.position_tolerance);
  positive("curvature_limit", options.curvature_limit);
  require(is_positive(options.min_length) && options.min_length < rod.max_length, "min_length",
          options.min_length, "> 0 and below the rod's max_length");
  require(options.max_evaluations >= 4, "max_evaluations", options.max_evaluations, ">= 4");
  for (const PlannedContact& contact : contacts_)
    contact_obstacle_.push_back(contact_obstacle(rod_.scene(), contact, rod.body_radius));
}

std::size_t ElasticReplanner::memory_size() const noexcept {
  return shift_place(rod_.scene().size()) + static_cast<std::size_t>(rod_.most_elements());
}

bool ElasticReplanner::is_valid(double curvature, double length) const noexcept {
  return std::abs(curvature) <= options_.curvature_limit && length >= options_.min_length &&
         length <= rod_.options().max_length;
}

void ElasticReplanner::reset(double curvature, double length,
                             std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  if (!is_valid(curvature, length)) return;
  memory[kSet] = kMark;
  memory[kCurvature] = curvature;
  memory[kLength] = length;
  memory[kTrust] = 1.0;
}

void ElasticReplanner::reset(const CorrectedState& state, std::span<double> memory) const noexcept {
  const double nowhere = std::numeric_limits<double>::quiet_NaN();
  reset(state.curvatures.size() == 1 ? state.curvatures[0] : nowhere, state.length, memory);
  const auto& curvatures = state.shape.curvatures;
  if (memory[kSet] != kMark || curvatures.size() > static_cast<std::size_t>(rod_.most_elements()))
    return;
  memory[kTurn] = state.shape.exit_turn;
  memory[kElements] = static_cast<double>(curvatures.size());
  std::copy(curvatures.begin(), curvatures.end(),
            memory.begin() + static_cast<std::ptrdiff_t>(shift_place(rod_.scene().size())));
  const std::size_t forces = std::min(kForces, state.shape.multipliers.size());
  for (std::size_t i = 0; i < forces; ++i) {
    const RodMultiplier& entry = state.shape.multipliers[i];
    const std::size_t at = kHeader + kForceSize * i;
    memory[at] = entry.element;
    memory[at + 1] = entry.obstacle;
    memory[at + 2] = entry.force;
  }
}

void ElasticReplanner::set_obstacle_shift(int obstacle, const Vector2d& shift,
                                          std::span<double> memory) const noexcept {
  if (obstacle < 0 || obstacle >= rod_.scene().size() || !shift.allFinite()) return;
  memory[shift_place(obstacle)] = shift.x();
  memory[shift_place(obstacle) + 1] = shift.y();
}

Vector2d ElasticReplanner::obstacle_shift(int obstacle,
                                          std::span<const double> memory) const noexcept {
  return {memory[shift_place(obstacle)], memory[shift_place(obstacle) + 1]};
}

bool ElasticReplanner::load(std::span<const double> memory) noexcept {
  if (memory[kSet] != kMark || !is_valid(memory[kCurvature], memory[kLength])) return false;
  curvature_ = memory[kCurvature];
  length_ = memory[kLength];
  trust_ = memory[kTrust];
  for (int i = 0; i < rod_.scene().size(); ++i)
    rod_.set_obstacle_shift(i, obstacle_shift(i, memory));
  const auto elements = static_cast<std::size_t>(
      std::clamp(memory[kElements], 0.0, static_cast<double>(rod_.most_elements())));
  rod_.set_curvatures(memory.subspan(shift_place(rod_.scene().size()), elements), memory[kTurn]);
  for (std::size_t i = 0; i < kForces; ++i) {
    const std::size_t at = kHeader + kForceSize * i;
    multipliers_[i] = {.element = static_cast<int>(memory[at]),
                       .obstacle = static_cast<int>(memory[at + 1]),
                       .force = memory[at + 2]};
  }
  rod_.set_multipliers(multipliers_);
  return true;
}

/// Leaves the shifts as they are.
void ElasticReplanner::store(std::span<double> memory) noexcept {
  memory[kSet] = kMark;
  memory[kCurvature] = curvature_;
  memory[kLength] = length_;
  memory[kTurn] = rod_.exit_turn();
  memory[kTrust] = trust_;
  const std::span<const double> curvatures = rod_.curvatures();
  memory[kElements] = static_cast<double>(curvatures.size());
  const auto place = memory.subspan(shift_place(rod_.scene().size()));
  std::fill(std::copy(curvatures.begin(), curvatures.end(), place.begin()), place.end(), 0.0);
  const auto forces = static_cast<std::size_t>(rod_.multipliers(multipliers_));
  for (std::size_t i = 0; i < kForces; ++i) {
    const std::size_t at = kHeader + kForceSize * i;
    const RodMultiplier entry = i < forces ? multipliers_[i] : RodMultiplier{};
    memory[at] = entry.element;
    memory[at + 1] = entry.obstacle;
    memory[at + 2] = entry.force;
  }
}

RodSolution ElasticReplanner::equilibrium(double curvature, double length,
                                          int evaluations) noexcept {
  rod_.set_max_evaluations(std::max(1, evaluations));
  return rod_.solve(curvature, length);
}

/// What the body does at rest, and how its tip would move.
void ElasticReplanner::predict(const RodSolution& solution, Replan& result) noexcept {
  result.tip = solution.tip;
  result.exit_turn = rod_.exit_turn();
  result.contact_force = solution.contact_force();
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    PlannedContact contact = contacts_[i];
    if (contact_obstacle_[i] >= 0) contact.centre += rod_.obstacle_shift(contact_obstacle_[i]);
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

  // Where the body is at rest now, obstacles where they are known to be.
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
    result.status = ReplanStatus::Settling;  // at rest; too little work is left for more
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
      trust_ = std::max(kLeastTrust, 0.5 * trust_);
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
