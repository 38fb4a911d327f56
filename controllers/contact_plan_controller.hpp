#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/arm_controller.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/rod/elastic_replanner.hpp"

namespace tendril {

/// Executes a contact plan (`tendril plan`): an elastic planar arm with one actuation curvature is
/// fed through its guide and around obstacles, against which it braces, to a target that it cannot
/// reach without contact.
///
/// 1. Feed: curvature k and length L follow the command list from the elastic correction of the
///    plan, plus a correction from the tip error. A contact is expected once the tip has passed it.
/// 2. Correct: k and L are adjusted until the measured tip is at the target. The correction uses an
///    elastic model of the arm, whose obstacles are moved to the measured contacts, or the Jacobian
///    of the measured arm (`ArmMeasurement::tip_response`).
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
      {"contacts_lost", "", "of these, those that existed and no longer do"}};
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
  enum class Stage { Settle, Feed, Correct, Jammed };
  enum class Feedback { Auto, None, Contact, Model };

  /// A row of the command list.
  struct Row {
    double time, length, curvature, path_length;
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

  void plan_tip_path();
  void plan_list(const ArmContext& context);
  [[nodiscard]] ListPosition position_at(double time) const noexcept;
  [[nodiscard]] Actuation actuation_at(double time) const noexcept;
  [[nodiscard]] double path_length_at(double time) const noexcept;
  [[nodiscard]] Eigen::Vector2d planned_tip(double path_length) const noexcept;
  [[nodiscard]] Eigen::Vector3d to_base(const Eigen::Vector2d& point) const noexcept;
  Actuation correct(const ArmMeasurement& measurement, const Eigen::Vector2d& now,
                    const std::optional<Actuation>& list, double gain,
                    std::span<const double> memory, std::span<double> next_memory,
                    ControllerReport& report) noexcept;
  [[nodiscard]] Eigen::Vector2d to_plan(const Eigen::Vector3d& p_B) const noexcept;
  [[nodiscard]] Eigen::Matrix2d measured_jacobian(const ArmMeasurement& measurement) const noexcept;
  [[nodiscard]] Eigen::Vector2d damped_step(const Eigen::Matrix2d& J,
                                            const Eigen::Vector2d& move) const noexcept;
  [[nodiscard]] double rate_damping_curvature(const Eigen::Vector2d& tip_rate,
                                              const Eigen::Vector2d& error_rate) const noexcept;
  void locate_obstacles(const ArmMeasurement& measurement, std::span<double> model) const noexcept;
  void watch_contacts(const ArmMeasurement& measurement, double path_length,
                      std::span<const double> memory, std::span<double> next_memory,
                      ControllerReport& report) const noexcept;

  ContinuumRobot robot_;
  ContactPlan plan_;
  double arm_length_, guide_length_, body_radius_;
  bool elastic_, clamped_, inserted_;
  Feedback feedback_;
  double speed_, acceleration_, curvature_rate_, ramp_, start_delay_;
  double gain_, feed_gain_, rate_time_, rate_filter_, rate_damping_limit_, damping_, period_,
      error_limit_, step_limit_, tolerance_;
  double passing_clearance_, guide_clearance_, locate_gain_;
  double contact_distance_, jam_feed_force_, jam_time_;
  std::vector<PlanarArc> tip_path_;
  std::vector<Row> list_;
  std::optional<ElasticReplanner> replanner_;
  CorrectedState start_state_;  // of the replanner: at the first contact, or at the end

  void add_memory();
  Slot<Stage> stage_;
  Slot<double> stage_time_, list_time_;
  Slot<double> blocked_;  // time with too much feed force [s]
  Slot<double> clock_;    // since the last correction step [s]
  Slot<double> old_curvature_, old_length_, new_curvature_, new_length_;
  MatrixSlot<Eigen::Vector2d> added_;  // to the command list, while feeding [1/m, kLengthScale]
  MatrixSlot<Eigen::Vector2d> shift_;  // of the model's target from the plan's [m]
  MatrixSlot<Eigen::Vector2d> error_;  // of the tip, in the last correction step [m]
  MatrixSlot<Eigen::Vector2d> error_rate_;  // of that error, filtered [m/s]
  Slot<bool> held_;                         // the correction is paused
  std::vector<Slot<bool>> made_;            // one for each planned contact
  Block model_;
};

}  // namespace tendril
