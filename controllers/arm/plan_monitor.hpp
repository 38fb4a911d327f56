#pragma once

#include <span>
#include <vector>

#include "controllers/arm/candidate_plans.hpp"
#include "controllers/arm/contact_plan_options.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Stages in which a plan with contacts is executed.
enum class PlanStage { Settle, Feed, Correct, Withdraw, Stopped };

/// Reasons for which a plan is abandoned.
enum class PlanFailure { None, OffCourse, ContactMissing, Force, Jammed, Time };

/// Watches the execution of a plan with contacts: which contacts are made, and whether the plan has
/// failed.
class PlanMonitor {
 public:
  PlanMonitor(const ArmContext& context, const ContactPlanOptions& options, const PlanFrame& frame);

  /// Adds its memory: timers, then a flag for each of `count` contacts.
  void add_timers(MemoryLayout& layout);
  void add_contacts(std::size_t count, MemoryLayout& layout);

  /// Planned contacts up to the present path length.
  struct Contacts {
    int expected = 0, made = 0, lost = 0;
    int missing = 0;  ///< that press in the elastic model, but are not measured
  };
  Contacts count_contacts(const CandidatePlan& plan, std::span<const MeasuredContact> contacts,
                          double path_length, std::span<const double> memory,
                          std::span<double> next) const noexcept;

  /// State of the execution in one step.
  struct Progress {
    PlanStage stage;
    double tip_error;  ///< from where the tip should be now [m]
    int missing;       ///< contacts
    std::span<const MeasuredContact> contacts{};
  };
  /// Returns whether the plan has failed, and why.
  [[nodiscard]] PlanFailure failure(const ArmMeasurement& measurement, const Progress& progress,
                                    std::span<const double> memory,
                                    std::span<double> next) const noexcept;

 private:
  /// Times for which each condition has held [s].
  struct Timers {
    Slot<double> blocked, pressed, off_course, missing;
    Slot<double> stalled, away;  // at the end of a plan: without progress, or in all
  };
  struct Stall {
    bool is_away, progresses;
  };
  Stall watch_stall(const Progress& progress, std::span<const double> memory,
                    std::span<double> next) const noexcept;

  ContactPlanOptions options_;
  PlanFrame frame_;
  double body_radius_, jam_feed_force_;
  Timers timers_;
  Slot<double> last_error_;       // from which progress is counted [m]
  std::vector<Slot<bool>> made_;  // one for each contact of a plan
};

}  // namespace tendril
