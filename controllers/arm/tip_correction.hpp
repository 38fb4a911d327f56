#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/candidate_plans.hpp"
#include "controllers/arm/contact_plan_options.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Corrects the actuation of a plan until the measured tip is where it should be. Once in every
/// `period` it takes a step of integral action, by an elastic model of the arm, whose obstacles are
/// moved to the measured contacts, or by the Jacobian of the measured arm in contact. In between,
/// the actuation is interpolated linearly. Source: docs/theory/obstacles.md, "Executing a plan
/// with contacts".
class TipCorrection {
 public:
  /// A change of the length by this much is weighted as a change of the curvature by 1/m.
  static constexpr double kLengthScale = 0.05;  ///< [m per 1/m]

  TipCorrection(const ContinuumRobot& robot, const ContactPlanOptions& options,
                const PlanFrame& frame);

  /// Adds its memory, which begins with the actuation of `start`; then that of the elastic model.
  void add_memory(const CandidatePlan::Row& start, MemoryLayout& layout);
  void add_model(const CandidatePlan& plan, MemoryLayout& layout);
  /// For the modelled contacts of plans with at most `count` contacts.
  void add_contacts(std::size_t count, MemoryLayout& layout);
  void reset_model(const CandidatePlan& plan, std::span<double> memory) const noexcept;

  /// Aim of a step.
  struct Aim {
    Eigen::Vector2d tip;                ///< desired position now [m]
    double gain;                        ///< of the integral action [1/s]
    std::optional<PlanActuation> list;  ///< while feeding: command list, one period later
  };
  struct Step {
    PlanActuation actuation;
    int iterations = 0;  ///< of the elastic model
  };
  Step step(CandidatePlan& plan, const ArmMeasurement& measurement, const Aim& aim,
            std::span<const double> memory, std::span<double> next) noexcept;

  /// Largest gain, up to the setting, that does not excite the free end.
  [[nodiscard]] double stable_gain(const ArmMeasurement& measurement,
                                   std::span<const MeasuredContact> contacts,
                                   std::span<const double> memory) const noexcept;

  /// Contacts of the plan that press in the elastic model, at the last step; valid until the next
  /// call.
  [[nodiscard]] std::span<const MeasuredContact> modelled_contacts(
      const CandidatePlan& plan, std::span<const double> memory) noexcept;

  /// Last corrected actuation, at rest.
  [[nodiscard]] PlanActuation last(std::span<const double> memory) const noexcept;
  /// Keeps an actuation as the last one.
  void keep(const PlanActuation& actuation, std::span<double> next) const noexcept;

  /// Begins to withdraw from where the last actuation differs from that of the list.
  void begin_withdrawal(const PlanActuation& list, std::span<double> next) const noexcept;
  /// Actuation on the way back along the list, `time` [s] after that: the correction vanishes.
  [[nodiscard]] PlanActuation withdrawn(PlanActuation list, double time,
                                        std::span<const double> memory) const noexcept;
  /// Begins another plan, with the obstacles where they were found.
  void begin(const CandidatePlan& plan, std::span<const double> memory,
             std::span<double> next) const noexcept;

 private:
  using Vector2Slot = MatrixSlot<Eigen::Vector2d>;
  struct TipError {
    Eigen::Vector2d value, rate;  // [m], filtered [m/s]
  };

  int advance(CandidatePlan& plan, const ArmMeasurement& measurement, const Aim& aim,
              std::span<const double> memory, std::span<double> next) noexcept;
  [[nodiscard]] PlanActuation interpolated(double fraction,
                                           std::span<const double> next) const noexcept;
  TipError measure_error(const Eigen::Vector2d& desired, const ArmMeasurement& measurement,
                         std::span<const double> memory, std::span<double> next) const noexcept;
  bool pause(const TipError& error, bool feeding, std::span<const double> memory,
             std::span<double> next) const noexcept;
  double reduce_gain(const Eigen::Vector2d& target, const Eigen::Vector2d& error,
                     std::span<const double> memory, std::span<double> next) const noexcept;
  [[nodiscard]] Eigen::Matrix2d measured_jacobian(const ArmMeasurement& measurement) const noexcept;
  [[nodiscard]] Eigen::Vector2d damped_step(const Eigen::Matrix2d& J,
                                            const Eigen::Vector2d& move) const noexcept;
  [[nodiscard]] double rate_damping(const Eigen::Vector2d& tip_rate,
                                    const Eigen::Vector2d& error_rate) const noexcept;
  void locate_obstacles(const CandidatePlan& plan, const ArmMeasurement& measurement,
                        std::span<double> model) const noexcept;
  void store_contacts(const Replan& replan, std::span<double> next) const noexcept;
  void store(const Eigen::Vector2d& desired, double damping_curvature,
             std::span<const double> memory, std::span<double> next) const noexcept;

  ContinuumRobot robot_;
  ContactPlanOptions options_;
  PlanFrame frame_;
  double arm_length_;
  bool clamped_;

  Slot<double> last_oscillation_;  // norm of the one before the present; 0: none [m]
  Slot<double> clock_;             // since the last step [s]
  Slot<double> old_curvature_, old_length_, new_curvature_, new_length_;
  Slot<double> old_curvature_rate_, old_length_rate_;
  Vector2Slot added_;               // to the command list [1/m, kLengthScale]
  Vector2Slot shift_;               // of the model's target from the plan's [m]
  Vector2Slot error_, error_rate_;  // of the tip in the last step [m], filtered [m/s]
  Vector2Slot oscillation_;         // largest error since it last changed sides [m]
  Vector2Slot oscillation_target_;  // around which the tip oscillates [m]
  Slot<double> gain_scale_;         // while it does
  Slot<bool> paused_;
  Block model_;
  /// Of the planned contacts in the model: force, 0 of open ones [N], and the length past them [m].
  MatrixSlot<Eigen::Matrix2Xd> pressing_;
  std::size_t contact_count_ = 0;
  std::vector<MeasuredContact> contacts_;
};

}  // namespace tendril
