#pragma once

#include <span>

#include "controllers/arm/candidate_plans.hpp"
#include "controllers/arm/contact_plan_options.hpp"
#include "controllers/arm/plan_monitor.hpp"
#include "controllers/arm/tip_correction.hpp"
#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// An elastic planar arm with one actuation curvature is fed through its guide and around
/// obstacles, against which it braces, to a target that it cannot reach without contact: by paths
/// that it plans among the geoms of the scene when it is constructed, or by a plan (`tendril plan
/// --plan`).
///
/// 1. Feed: curvature k and length L follow the command list from the elastic correction of the
///    plan (CandidatePlans), plus a correction from the tip error. A contact is expected once the
///    tip has passed it.
/// 2. Correct: k and L are adjusted until the measured tip is at the target (TipCorrection).
/// 3. Withdraw: a plan that fails by what is measured (PlanMonitor) is abandoned, the list is
///    followed backwards, and the next plan is tried.
///
/// By sensors, which tell of no contact of the body, contacts are those of the elastic model.
///
/// Source: docs/theory/obstacles.md, "Executing a plan with contacts".
class ContactPlanController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      {"contacts_expected", "", "contacts of the plan up to the present path length"},
      {"contacts_made", "", "of these, those that exist; by sensors: in the elastic model"},
      {"contacts_lost", "", "of these, those that existed and no longer do"},
      {"candidate", "", "number of the path that is tried, from 1"},
      {"failure_reason", "",
       "why the last path failed: 0 none did, 1 the tip is not where it should be, 2 a contact is "
       "missing, 3 force, 4 jammed, 5 time"}};
  [[nodiscard]] static std::span<const SettingInfo> settings() {
    return ContactPlanOptions::settings();
  }

  /// Throws ModelError naming the setting.
  explicit ContactPlanController(const ArmContext& context);

  void reset(std::span<double> memory) const noexcept override;
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] ContactNeed needs_contacts() const noexcept override { return ContactNeed::Body; }
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  using Stage = PlanStage;

  /// Motion in one step.
  struct Motion {
    PlanActuation desired;
    double path_length;   ///< of the tip [m]
    Eigen::Vector2d tip;  ///< desired position [m]
  };

  void enter(Stage stage, std::span<double> next) const noexcept;
  Motion move(const ArmMeasurement& measurement, std::span<const MeasuredContact> contacts,
              std::span<const double> memory, std::span<double> next,
              ControllerReport& report) noexcept;
  Motion settle(const CandidatePlan& plan, std::span<const double> memory,
                std::span<double> next) const noexcept;
  Motion feed(CandidatePlan& plan, const ArmMeasurement& measurement,
              std::span<const double> memory, std::span<double> next,
              ControllerReport& report) noexcept;
  Motion correct(CandidatePlan& plan, const ArmMeasurement& measurement,
                 std::span<const MeasuredContact> contacts, std::span<const double> memory,
                 std::span<double> next, ControllerReport& report) noexcept;
  Motion withdraw(const CandidatePlan& plan, double timestep, std::span<const double> memory,
                  std::span<double> next) const noexcept;
  [[nodiscard]] Motion rest(const CandidatePlan& plan,
                            std::span<const double> memory) const noexcept;
  void abandon(PlanFailure failure, std::span<const double> memory,
               std::span<double> next) const noexcept;
  void begin(int candidate, std::span<const double> memory, std::span<double> next) const noexcept;
  void command_arm(const PlanActuation& desired, ArmCommand& command) const noexcept;
  void report_motion(const ArmMeasurement& measurement, const Motion& motion,
                     std::span<const double> memory, ControllerReport& report) const noexcept;
  [[nodiscard]] ControllerStatus status(double tip_error, PlanFailure failure,
                                        std::span<const double> memory) const noexcept;
  [[nodiscard]] const CandidatePlan& present(std::span<const double> memory) const noexcept {
    return candidates_[candidate_(memory)];
  }

  ContinuumRobot robot_;
  double arm_length_;
  ContactPlanOptions options_;
  bool sees_contacts_;
  CandidatePlans candidates_;
  PlanMonitor monitor_;
  TipCorrection correction_;

  Slot<Stage> stage_;
  Slot<double> stage_time_, list_time_;
  Slot<int> candidate_;
  Slot<PlanFailure> failure_;  // of the last plan that failed
};

}  // namespace tendril
