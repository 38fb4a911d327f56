#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/contact/contact_problem.hpp"
#include "tendril/rod/elastic_plans.hpp"
#include "tendril/rod/elastic_replanner.hpp"

namespace tendril {

/// An arm without variable lengths, as a plan with contacts has it.
[[nodiscard]] FedArm fed_arm(const ContinuumRobot& robot, double guide_length, double body_radius);

/// An elastic planar arm with one actuation curvature is fed through its guide and around
/// obstacles, against which it braces, to a target that it cannot reach without contact: by the
/// ways that it plans among the geoms of the scene when it is constructed, or by a plan (`tendril
/// plan --plan`).
///
/// 1. Feed: curvature k and length L follow the command list from the elastic correction of the
///    plan, plus a correction from the tip error. A contact is expected once the tip has passed it.
/// 2. Correct: k and L are adjusted until the measured tip is at the target. The correction uses an
///    elastic model of the arm, whose obstacles are moved to the measured contacts, or the Jacobian
///    of the measured arm (`ArmMeasurement::tip_response`).
/// 3. A way that fails by what is measured (`Failure`) is withdrawn from, the list backwards, and
/// the
///    next one is tried.
///
/// Source: docs/derivations.md, "Executing a plan with contacts".
class ContactPlanController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      {"contacts_expected", "", "contacts of the plan up to the present path length"},
      {"contacts_made", "", "of these, those that exist"},
      {"contacts_lost", "", "of these, those that existed and no longer do"},
      {"candidate", "", "number of the way that is tried, from 1"},
      {"failure_reason", "",
       "why the last way failed: 0 none did, 1 the tip is not where it should be, 2 a contact is "
       "missing, 3 force, 4 jammed, 5 time"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit ContactPlanController(const ArmContext& context);

  void reset(std::span<double> memory) const noexcept override;
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  enum class Stage { Settle, Feed, Correct, Withdraw, Stopped };
  enum class Failure { None, OffCourse, ContactMissing, Force, Jammed, Time };
  enum class Feedback { Auto, None, Contact, Model };

  /// A row of the command list.
  struct Row {
    double time, length, curvature, path_length;
    unsigned pressing;  ///< bit i: contact i presses, by the elastic model
  };
  struct ListPosition {
    const Row& before;
    const Row& after;
    double fraction;
  };
  /// Desired curvature [1/m], length [m] and their rates.
  struct Actuation {
    double curvature = 0.0, length = 0.0, curvature_rate = 0.0, length_rate = 0.0;
  };
  struct Way {
    ContactPlan plan;
    std::vector<PlanarArc> tip_path;
    std::vector<Row> list;
    std::optional<ElasticReplanner> replanner;
    CorrectedState start_state;  ///< of the replanner: at the first contact, or at the end

    [[nodiscard]] ListPosition position_at(double time) const noexcept;
    [[nodiscard]] Actuation actuation_at(double time) const noexcept;
    [[nodiscard]] double path_length_at(double time) const noexcept;
    [[nodiscard]] Eigen::Vector2d planned_tip(double path_length) const noexcept;
  };

  [[nodiscard]] std::vector<ContactPlan> plans_of(const ArmContext& context) const;
  void plan_candidates(const ArmContext& context, const std::vector<ContactPlan>& plans);
  [[nodiscard]] double longest() const noexcept;
  [[nodiscard]] Eigen::Vector3d to_base(const Eigen::Vector2d& point) const noexcept;
  Actuation correct(Way& way, const ArmMeasurement& measurement, const Eigen::Vector2d& now,
                    const std::optional<Actuation>& list, double gain,
                    std::span<const double> memory, std::span<double> next_memory,
                    ControllerReport& report) noexcept;
  [[nodiscard]] Eigen::Vector2d to_plan(const Eigen::Vector3d& p_B) const noexcept;
  [[nodiscard]] double stable_gain(const ArmMeasurement& measurement, double length) const noexcept;
  [[nodiscard]] Eigen::Matrix2d measured_jacobian(const ArmMeasurement& measurement) const noexcept;
  [[nodiscard]] Eigen::Vector2d damped_step(const Eigen::Matrix2d& J,
                                            const Eigen::Vector2d& move) const noexcept;
  double reduce_gain(const Eigen::Vector2d& target, const Eigen::Vector2d& error,
                     std::span<const double> memory, std::span<double> next_memory) const noexcept;
  [[nodiscard]] double rate_damping_curvature(const Eigen::Vector2d& tip_rate,
                                              const Eigen::Vector2d& error_rate) const noexcept;
  void locate_obstacles(const Way& way, const ArmMeasurement& measurement,
                        std::span<double> model) const noexcept;
  int watch_contacts(const Way& way, const ArmMeasurement& measurement, double path_length,
                     std::span<const double> memory, std::span<double> next_memory,
                     ControllerReport& report) const noexcept;
  [[nodiscard]] Failure watch_path(const ArmMeasurement& measurement, Stage stage, double tip_error,
                                   int missing, std::span<const double> memory,
                                   std::span<double> next_memory) const noexcept;
  void leave_path(Failure failure, Stage stage, std::span<const double> memory,
                  std::span<double> next_memory) const noexcept;
  void begin_path(int way, std::span<const double> memory,
                  std::span<double> next_memory) const noexcept;

  ContinuumRobot robot_;
  PlanarPose base_;
  std::vector<Way> ways_;
  double arm_length_, guide_length_, body_radius_;
  bool elastic_, clamped_, inserted_;
  Feedback feedback_;
  double speed_, acceleration_, curvature_rate_, ramp_, start_delay_;
  double gain_, feed_gain_, rate_time_, rate_filter_, rate_damping_limit_, damping_, period_,
      error_limit_, step_limit_, tolerance_;
  double passing_clearance_, guide_clearance_, locate_gain_;
  double contact_distance_, jam_feed_force_, jam_time_;
  double tracking_tolerance_, force_limit_, stall_timeout_;

  void add_memory();
  Slot<Stage> stage_;
  Slot<double> stage_time_, list_time_;
  Slot<int> candidate_index_;
  Slot<Failure> failure_;                        // of the last way that failed
  Slot<double> blocked_;                         // time with too much feed force [s]
  Slot<double> pressed_, off_course_, missing_;  // the same of the other failures
  Slot<double> stays_, away_;                    // at the end of a way, without progress or in all
  Slot<double> last_error_;                      // from which progress is counted [m]
  Slot<double> clock_;                           // since the last correction step [s]
  Slot<double> old_curvature_, old_length_, new_curvature_, new_length_;
  Slot<double> old_curvature_rate_, old_length_rate_;
  MatrixSlot<Eigen::Vector2d> added_;  // to the command list, while feeding [1/m, kLengthScale]
  MatrixSlot<Eigen::Vector2d> shift_;  // of the model's target from the plan's [m]
  MatrixSlot<Eigen::Vector2d> error_;  // of the tip, in the last correction step [m]
  MatrixSlot<Eigen::Vector2d> error_rate_;          // of that error, filtered [m/s]
  MatrixSlot<Eigen::Vector2d> oscillation_target_;  // round which the tip swings [m]
  MatrixSlot<Eigen::Vector2d> oscillation_;         // largest error since it last changed sides [m]
  Slot<double> last_oscillation_;                   // the one before, its norm; 0: none [m]
  Slot<double> gain_scale_;       // factor of the gains, while the tip swings round the target
  Slot<bool> held_;               // the correction is paused
  std::vector<Slot<bool>> made_;  // one for each contact of a way
  Block model_;
};

}  // namespace tendril
