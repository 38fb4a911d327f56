#include "controllers/arm/tip_correction.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/interface/arm_memory.hpp"

namespace tendril {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Feedback = ContactPlanOptions::Feedback;

/// Fraction of the feed speed above which the tip error is taken as that of steady feeding.
constexpr double kSteadySpeedFraction = 0.8;

/// Fractions of the tolerance: the correction pauses when the tip is at rest with an error below
/// the first, and resumes when the error exceeds the second.
constexpr double kHoldThreshold = 0.6, kReleaseThreshold = 0.9;
/// A tip is at rest when it moves by less than this fraction of the tolerance in a second.
constexpr double kRestRate = 0.2;

/// Upper limit of the correction's gain, as a fraction of the damping of the free end's fundamental
/// mode.
constexpr double kDampingFraction = 0.7;

/// A tip that oscillates to the other side of the target by more than this fraction of the last
/// amplitude does not come to rest: the gains are halved, down to the minimum.
constexpr double kOscillationDecay = 0.7, kMinGainScale = 1.0 / 16.0;

constexpr double kWithdrawTime = 1.0;  // time constant of a correction that vanishes [s]

}  // namespace

TipCorrection::TipCorrection(const ContinuumRobot& robot, const ContactPlanOptions& options,
                             const PlanFrame& frame)
    : robot_(robot),
      options_(options),
      frame_(frame),
      arm_length_(straight_length(robot)),
      clamped_(frame.guide_length <= 0.0) {}

void TipCorrection::add_memory(const CandidatePlan::Row& start, MemoryLayout& layout) {
  last_oscillation_ = layout.number();
  clock_ = layout.number();
  old_curvature_ = layout.number(start.curvature);
  old_length_ = layout.number(start.length);
  new_curvature_ = layout.number(start.curvature);
  new_length_ = layout.number(start.length);
  old_curvature_rate_ = layout.number();
  old_length_rate_ = layout.number();
  for (auto* slot : {&added_, &shift_, &error_, &error_rate_, &oscillation_, &oscillation_target_})
    *slot = layout.matrix<Vector2d>();
  gain_scale_ = layout.number(1.0);
  paused_ = layout.flag();
}

void TipCorrection::add_model(const CandidatePlan& plan, MemoryLayout& layout) {
  if (plan.replanner) model_ = layout.part(plan.replanner->layout());
}

void TipCorrection::add_contacts(std::size_t count, MemoryLayout& layout) {
  pressing_ = layout.matrix<Eigen::Matrix2Xd>(2, static_cast<Eigen::Index>(count));
  contact_count_ = count;
  contacts_.reserve(count);
}

void TipCorrection::reset_model(const CandidatePlan& plan,
                                std::span<double> memory) const noexcept {
  if (plan.replanner) plan.replanner->reset(plan.start_state, model_(memory));
}

TipCorrection::Step TipCorrection::step(CandidatePlan& plan, const ArmMeasurement& measurement,
                                        const Aim& aim, std::span<const double> memory,
                                        std::span<double> next) noexcept {
  Step step;
  double clock = clock_(memory) + measurement.timestep;
  if (clock >= options_.period) {
    clock = 0.0;
    step.iterations = advance(plan, measurement, aim, memory, next);
  }
  clock_(next) = clock;
  step.actuation = interpolated(clock / options_.period, next);
  return step;
}

/// Takes one step of the integral action. Returns the iterations of the elastic model.
int TipCorrection::advance(CandidatePlan& plan, const ArmMeasurement& measurement, const Aim& aim,
                           std::span<const double> memory, std::span<double> next) noexcept {
  const bool feeding = aim.list.has_value();
  const TipError error = measure_error(aim.tip, measurement, memory, next);
  const bool paused = pause(error, feeding, memory, next);
  const double gain_scale = feeding ? 1.0 : reduce_gain(aim.tip, error.value, memory, next);
  const double gain = aim.gain * gain_scale;
  Vector2d limited = error.value;
  if (limited.norm() > options_.error_limit) limited *= options_.error_limit / limited.norm();
  const Vector2d move = gain * options_.period * limited;

  // Curvature in 1/m, length in kLengthScale.
  Vector2d desired(new_curvature_(memory), new_length_(memory) / kLengthScale);
  Vector2d added = added_(memory);
  const double speed_fraction = feeding ? aim.list->length_rate / options_.speed : 0.0;
  double damping_curvature = 0.0;  // [1/m]
  int iterations = 0;
  if (options_.feedback == Feedback::Contact && !feeding) {
    if (!paused) desired += damped_step(measured_jacobian(measurement), move);
  } else if (options_.feedback == Feedback::Model) {
    const auto model = model_(next);
    if (!paused) locate_obstacles(plan, measurement, model);
    if (feeding) {
      // The model is updated too; its Jacobian maps the error to the term added to the list.
      const Replan at =
          plan.replanner->settle(model, new_curvature_(memory), new_length_(memory), model);
      iterations = at.evaluations;
      store_contacts(at, next);
      Matrix2d J = at.jacobian;
      J.col(1) *= kLengthScale;
      // The added term compensates the lag of a damped body, which is proportional to its speed.
      if (speed_fraction >= kSteadySpeedFraction) added += damped_step(J, move);
      shift_(next) = at.tip.position - aim.tip;
    } else {
      // The target of the model is shifted by the integrated tip error.
      Vector2d shift = shift_(memory);
      if (!paused) shift += move;
      const Replan replan = plan.replanner->step(model, aim.tip + shift, model);
      iterations = replan.evaluations;
      store_contacts(replan, next);
      if (replan.status != ReplanStatus::InvalidInput) {
        shift_(next) = shift;
        desired = {replan.curvature, replan.length / kLengthScale};
        damping_curvature = gain_scale * rate_damping(replan.jacobian.col(0), error.rate);
      }
    }
  }
  if (feeding) {
    const Vector2d list(aim.list->curvature, aim.list->length / kLengthScale);
    desired = list + speed_fraction * added;
  }
  added_(next) = added;
  store(desired, damping_curvature, memory, next);
  return iterations;
}

void TipCorrection::store_contacts(const Replan& replan, std::span<double> next) const noexcept {
  for (std::size_t i = 0; i < std::min(contact_count_, replan.contacts.size()); ++i) {
    const ContactState& contact = replan.contacts[i];
    pressing_(next).col(static_cast<Eigen::Index>(i)) =
        Vector2d(contact.loaded ? contact.force : 0.0, replan.length - contact.arc_length);
  }
}

std::span<const MeasuredContact> TipCorrection::modelled_contacts(
    const CandidatePlan& plan, std::span<const double> memory) noexcept {
  contacts_.clear();
  for (std::size_t i = 0; i < plan.plan.contacts.size(); ++i) {
    const auto pressing = pressing_(memory).col(static_cast<Eigen::Index>(i));
    if (!(pressing[0] > 0.0)) continue;
    MeasuredContact contact;
    contact.position = frame_.to_base(plan.plan.contacts[i].center);
    contact.force = pressing[0];
    contact.arc_length = arm_length_ - pressing[1];
    contacts_.push_back(contact);
  }
  return contacts_;
}

/// Stores the actuation at which the next period ends.
void TipCorrection::store(const Vector2d& desired, double damping_curvature,
                          std::span<const double> memory, std::span<double> next) const noexcept {
  const double period = options_.period;
  old_curvature_rate_(next) = (new_curvature_(memory) - old_curvature_(memory)) / period;
  old_length_rate_(next) = (new_length_(memory) - old_length_(memory)) / period;
  old_curvature_(next) = new_curvature_(memory);
  old_length_(next) = new_length_(memory);
  new_curvature_(next) = desired.x() + damping_curvature;
  const double max_length = robot_.base().feed_limit + arm_length_ - frame_.guide_length;
  new_length_(next) =
      clamped_ ? arm_length_ : std::clamp(kLengthScale * desired.y(), 0.0, max_length);
}

PlanActuation TipCorrection::interpolated(double fraction,
                                          std::span<const double> next) const noexcept {
  const double period = options_.period;
  const double k0 = old_curvature_(next), k1 = new_curvature_(next);
  const double L0 = old_length_(next), L1 = new_length_(next);
  // The rates have no steps: servos that are fed them forward would answer with impulses.
  return {std::lerp(k0, k1, fraction), std::lerp(L0, L1, fraction),
          std::lerp(old_curvature_rate_(next), (k1 - k0) / period, fraction),
          std::lerp(old_length_rate_(next), (L1 - L0) / period, fraction)};
}

TipCorrection::TipError TipCorrection::measure_error(const Vector2d& desired,
                                                     const ArmMeasurement& measurement,
                                                     std::span<const double> memory,
                                                     std::span<double> next) const noexcept {
  const double period = options_.period;
  const Vector2d error = desired - frame_.to_plan(measurement.X_BE.translation());
  const double forget = std::exp(-period / options_.rate_filter);
  const Vector2d rate =
      forget * error_rate_(memory) + (1.0 - forget) / period * (error - error_(memory));
  error_rate_(next) = rate;
  error_(next) = error;
  return {error, rate};
}

/// Returns whether the correction pauses. Where curvature and length move the tip in nearly the
/// same direction, integrating the residual error would drift along the combination to which the
/// tip is insensitive.
bool TipCorrection::pause(const TipError& error, bool feeding, std::span<const double> memory,
                          std::span<double> next) const noexcept {
  const double size = error.value.norm(), tolerance = options_.tolerance;
  const bool rests =
      size <= kHoldThreshold * tolerance && error.rate.norm() <= kRestRate * tolerance;
  const bool paused =
      !feeding && (rests || (paused_(memory) && size <= kReleaseThreshold * tolerance));
  paused_(next) = paused;
  return paused;
}

/// Returns the factor of the gains. Friction, and contacts that differ from those of the model, can
/// keep the tip oscillating around the target; a weaker correction lets it come to rest.
double TipCorrection::reduce_gain(const Vector2d& target, const Vector2d& error,
                                  std::span<const double> memory,
                                  std::span<double> next) const noexcept {
  const Vector2d oscillation = oscillation_(memory);
  double factor = gain_scale_(memory);
  const bool target_moved = (target - oscillation_target_(memory)).norm() > options_.tolerance;
  if (target_moved) {
    oscillation_target_(next) = target;
    oscillation_(next) = error;
    last_oscillation_(next) = 0.0;
    factor = 1.0;
  } else if (error.dot(oscillation) < 0.0) {
    const double size = oscillation.norm(), last = last_oscillation_(memory);
    if (last > 0.0 && size > options_.tolerance && size > kOscillationDecay * last)
      factor = std::max(kMinGainScale, 0.5 * factor);
    last_oscillation_(next) = size;
    oscillation_(next) = error;
  } else if (error.squaredNorm() > oscillation.squaredNorm()) {
    oscillation_(next) = error;
  }
  gain_scale_(next) = factor;
  return factor;
}

/// An integral excites the free end with a gain above the damping 2 zeta omega of its fundamental
/// mode. That of a cantilever falls with the fourth power of its length.
double TipCorrection::stable_gain(const ArmMeasurement& measurement,
                                  std::span<const MeasuredContact> contacts,
                                  std::span<const double> memory) const noexcept {
  double free = clamped_ ? arm_length_ : std::max<double>(new_length_(memory), kLengthScale);
  for (const MeasuredContact& contact : contacts)
    if (!contact.is_guide) free = std::min(free, arm_length_ - contact.arc_length);
  const double ratio = arm_length_ / std::max(free, kLengthScale);
  return std::min(options_.gain, kDampingFraction * measurement.fundamental_mode_damping * ratio *
                                     ratio * ratio * ratio);
}

/// Returns the derivative of the tip position with respect to curvature [1/m] and length
/// [kLengthScale] of the measured arm, with its present contacts kept.
Matrix2d TipCorrection::measured_jacobian(const ArmMeasurement& measurement) const noexcept {
  const auto& response = measurement.tip_response;
  const auto in_plan = [&](Eigen::Index column) {
    const double c = std::cos(frame_.base.heading), s = std::sin(frame_.base.heading);
    const double x = response(0, column), z = response(2, column);
    return Vector2d(c * x + s * z, c * z - s * x);
  };
  Matrix2d J = Matrix2d::Zero();
  for (int i = 0; i < robot_.section_count(); ++i)
    J.col(0) += robot_.section(i).length() * in_plan(robot_.coordinate_index(i));
  if (!clamped_) J.col(1) = kLengthScale * in_plan(response.cols() - 1);
  return J;
}

/// Returns J^T (J J^T + lambda^2 I)^-1 move, limited to `step_limit`.
Vector2d TipCorrection::damped_step(const Matrix2d& J, const Vector2d& move) const noexcept {
  const double lambda2 = options_.damping * options_.damping;
  const Matrix2d JJ = J * J.transpose() + lambda2 * Matrix2d::Identity();
  Vector2d step = J.transpose() * (JJ.inverse() * move);
  if (step.norm() > options_.step_limit) step *= options_.step_limit / step.norm();
  return step;
}

/// Returns a change of curvature that opposes the rate of the tip error [m/s] in the direction in
/// which the curvature moves the tip.
/// @param tip_rate  derivative of the tip position with respect to the curvature [m per 1/m]
double TipCorrection::rate_damping(const Vector2d& tip_rate,
                                   const Vector2d& error_rate) const noexcept {
  const double square = tip_rate.squaredNorm();
  if (square < options_.damping * options_.damping) return 0.0;
  return std::clamp(options_.rate_time * tip_rate.dot(error_rate) / square,
                    -options_.rate_damping_limit, options_.rate_damping_limit);
}

/// Moves the obstacles of the model to the measured contacts.
void TipCorrection::locate_obstacles(const CandidatePlan& plan, const ArmMeasurement& measurement,
                                     std::span<double> model) const noexcept {
  const ElasticReplanner& replanner = *plan.replanner;
  const PlanarScene& scene = plan.plan.scene;
  for (const MeasuredContact& contact : measurement.contacts) {
    if (contact.is_guide) continue;
    const Vector2d point = frame_.to_plan(contact.position);
    int nearest = -1;
    double gap = options_.contact_distance;
    Vector2d normal;
    for (int i = 0; i < scene.size(); ++i) {
      Vector2d gradient;
      const double distance =
          scene.obstacle_distance(i, point - replanner.obstacle_shift(i, model), &gradient);
      if (std::abs(distance) > std::abs(gap)) continue;
      nearest = i;
      gap = distance;
      normal = gradient;
    }
    if (nearest < 0) continue;
    const Vector2d shift =
        replanner.obstacle_shift(nearest, model) + options_.locate_gain * gap * normal;
    replanner.set_obstacle_shift(nearest, shift, model);
  }
}

PlanActuation TipCorrection::last(std::span<const double> memory) const noexcept {
  return {new_curvature_(memory), new_length_(memory), 0.0, 0.0};
}

void TipCorrection::keep(const PlanActuation& actuation, std::span<double> next) const noexcept {
  new_curvature_(next) = actuation.curvature;
  new_length_(next) = actuation.length;
}

void TipCorrection::begin_withdrawal(const PlanActuation& list,
                                     std::span<double> next) const noexcept {
  added_(next) = Vector2d(new_curvature_(next) - list.curvature,
                          (new_length_(next) - list.length) / kLengthScale);
}

PlanActuation TipCorrection::withdrawn(PlanActuation list, double time,
                                       std::span<const double> memory) const noexcept {
  const Vector2d added = std::exp(-time / kWithdrawTime) * added_(memory);
  list.curvature += added.x();
  list.length = std::max(0.0, list.length + kLengthScale * added.y());
  list.curvature_rate = -list.curvature_rate - added.x() / kWithdrawTime;
  list.length_rate = -list.length_rate - kLengthScale * added.y() / kWithdrawTime;
  return list;
}

void TipCorrection::begin(const CandidatePlan& plan, std::span<const double> memory,
                          std::span<double> next) const noexcept {
  const CandidatePlan::Row& row = plan.list.front();
  for (const Slot<double>* slot : {&old_curvature_, &new_curvature_}) (*slot)(next) = row.curvature;
  for (const Slot<double>* slot : {&old_length_, &new_length_}) (*slot)(next) = row.length;
  for (const Slot<double>* slot : {&old_curvature_rate_, &old_length_rate_}) (*slot)(next) = 0.0;
  if (!plan.replanner) return;
  const ElasticReplanner& replanner = *plan.replanner;
  replanner.reset(plan.start_state, model_(next));
  for (int i = 0; i < plan.plan.scene.size(); ++i)
    replanner.set_obstacle_shift(i, replanner.obstacle_shift(i, model_(memory)), model_(next));
}

}  // namespace tendril
