#include "controllers/arm/plan_monitor.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kProgressRatio = 0.8;     // of the error to the last one, below which: progress
constexpr double kMaxAwayFactor = 3.0;     // of stall_timeout, whatever the progress
constexpr double kMaxPressedTime = 0.2;    // [s]
constexpr double kMaxOffCourseTime = 1.0;  // [s]
constexpr double kMaxMissingTime = 3.0;    // [s]
constexpr double kMissingFraction =
    0.5;  // of tracking_tolerance, at which a missing contact counts
constexpr double kFeedForceFraction = 0.98;  // of the feed servo's limit

}  // namespace

PlanMonitor::PlanMonitor(const ArmContext& context, const ContactPlanOptions& options,
                         const PlanFrame& frame)
    : options_(options),
      frame_(frame),
      body_radius_(context.body_radius),
      jam_feed_force_(
          options.jam_feed_force.value_or(kFeedForceFraction * context.feed_force_limit)) {}

void PlanMonitor::add_timers(MemoryLayout& layout) {
  for (Slot<double>* slot : {&timers_.blocked, &timers_.pressed, &timers_.off_course,
                             &timers_.missing, &timers_.stalled, &timers_.away, &last_error_})
    *slot = layout.number();
}

void PlanMonitor::add_contacts(std::size_t count, MemoryLayout& layout) {
  for (std::size_t i = 0; i < count; ++i) made_.push_back(layout.flag());
}

PlanMonitor::Contacts PlanMonitor::count_contacts(const CandidatePlan& plan,
                                                  std::span<const MeasuredContact> contacts,
                                                  double path_length,
                                                  std::span<const double> memory,
                                                  std::span<double> next) const noexcept {
  const unsigned pressing = plan.pressing_at(path_length);
  Contacts counted;
  double passed = 0.0;
  for (std::size_t i = 0; i < plan.plan.contacts.size(); ++i) {
    passed += plan.tip_path[i].length;
    if (path_length < passed) break;
    ++counted.expected;
    const PlannedContact& contact = plan.plan.contacts[i];
    const Eigen::Vector3d center = frame_.to_base(contact.center);
    const double reach = contact.radius - body_radius_ + options_.contact_distance;
    const bool touches =
        std::any_of(contacts.begin(), contacts.end(), [&](const MeasuredContact& c) {
          return !c.is_guide &&
                 hypotenuse(c.position.x() - center.x(), c.position.z() - center.z()) <= reach;
        });
    if (touches) {
      ++counted.made;
      made_[i](next) = true;
    } else {
      if (made_[i](memory)) ++counted.lost;
      if ((pressing >> i & 1U) != 0) ++counted.missing;
    }
  }
  return counted;
}

/// Watches whether the tip, at the end of its path, makes progress towards the target.
PlanMonitor::Stall PlanMonitor::watch_stall(const Progress& progress,
                                            std::span<const double> memory,
                                            std::span<double> next) const noexcept {
  const double error = progress.tip_error, last = last_error_(memory);
  const bool is_away = progress.stage == PlanStage::Correct && error > options_.tolerance;
  const bool progresses = error <= kProgressRatio * last;
  last_error_(next) = !is_away || progresses ? error : std::max(error, last);
  return {is_away, progresses};
}

PlanFailure PlanMonitor::failure(const ArmMeasurement& measurement, const Progress& progress,
                                 std::span<const double> memory,
                                 std::span<double> next) const noexcept {
  const auto lasts = [&](const Slot<double>& timer, bool holds, double limit) {
    timer(next) = holds ? timer(memory) + measurement.timestep : 0.0;
    return timer(next) > limit;
  };
  double force = 0.0;
  for (const MeasuredContact& contact : progress.contacts)
    if (!contact.is_guide) force += contact.force;
  const double error = progress.tip_error, tolerance = options_.tracking_tolerance;
  const bool contact_missing = progress.missing > 0 && error > kMissingFraction * tolerance;
  const Stall stall = watch_stall(progress, memory, next);

  const bool jammed =
      lasts(timers_.blocked, measurement.feed_force >= jam_feed_force_, options_.jam_time);
  const bool pressed = lasts(timers_.pressed, force > options_.force_limit, kMaxPressedTime);
  const bool off_course = lasts(timers_.off_course, error > tolerance, kMaxOffCourseTime);
  const bool missing = lasts(timers_.missing, contact_missing, kMaxMissingTime);
  const bool stalled =
      lasts(timers_.stalled, stall.is_away && !stall.progresses, options_.stall_timeout);
  const bool away = lasts(timers_.away, stall.is_away, kMaxAwayFactor * options_.stall_timeout);

  if (progress.stage != PlanStage::Feed && progress.stage != PlanStage::Correct)
    return PlanFailure::None;
  if (progress.stage == PlanStage::Feed && jammed) return PlanFailure::Jammed;
  return pressed           ? PlanFailure::Force
         : off_course      ? PlanFailure::OffCourse
         : missing         ? PlanFailure::ContactMissing
         : away || stalled ? PlanFailure::Time
                           : PlanFailure::None;
}

}  // namespace tendril
