#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/move_timing.hpp"
#include "controllers/arm/pose_planner.hpp"
#include "controllers/arm/target_lead.hpp"
#include "controllers/arm/tip_contacts.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/ik/any_solver.hpp"
#include "tendril/ik/driven_solver.hpp"

namespace tendril {

/// Moves the tip to a target body. Every step solves the inverse kinematics, warm-started at the
/// last solution, moves the section commands towards the solution at a bounded rate, and corrects
/// them on the measured tip. All commands are scaled by the same factor, so that the arm remains on
/// the straight line between two poses.
///
/// The default solver descends from the last solution and remains near it. If it converges to a
/// pose that does not reach the target, other poses are tried, once for every millimeter that the
/// target moves; the arm switches only to a pose that reaches the target. A base that feeds is part
/// of the pose, and so is the spin of one whose task has a roll.
///
/// The position of a target that moves is led by what the tip would lag behind it (TargetLead).
///
/// With `avoidance`, ReactivePlanner plans the motion among the obstacles of the measurement.
///
/// Of a robot whose drives do not move everything, DrivenSolver finds what they can do from where
/// the body is (BodyPose). Where that gives way, the measured tip decides whether the target is
/// reached; sections that bend in one plane, driven, do not.
///
/// A tip that touches a fixed body in front of its plan is not corrected, which would press it on:
/// then its status is Blocked.
class ReachController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {quantity::kIterations, quantity::kTipError,
                                             quantity::kAngleError, quantity::kProgress};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit ReachController(const ArmContext& context);
  /// The same with a planner of its own, whose robot is that of the context on a rail; null: none,
  /// no avoidance. Reads settings of `settings()` but `avoidance` and those of ReactivePlanner.
  ReachController(const ArmContext& context, std::unique_ptr<PosePlanner> planner);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }

  /// The steps of `update`, for controllers that correct the tip otherwise.
  struct Motion {
    bool reached;    ///< the solution of the inverse kinematics reaches the target
    bool moving;     ///< the plan is not yet at the solution
    bool frozen;     ///< no correction: the lag on the path to a distant target is no error
    bool resting;    ///< the plan is at the solution, and the command is at rest
    int iterations;  ///< of the inverse kinematics
    double scale;    ///< fraction of the remaining path that this step covers
    Eigen::Matrix<double, 6, 1> error;  ///< planned minus measured tip [m], [rad]; base frame
  };
  /// 1. Moves the planned pose by one step towards the target and commands it. None: the target is
  /// not finite, and the last pose is commanded.
  /// @param lead  of the plan before the target, which the error does not contain [m]
  [[nodiscard]] std::optional<Motion> move(
      const Eigen::Isometry3d& X_BG, const Eigen::Vector3d& lead, const ArmMeasurement& measurement,
      std::span<const double> memory, std::span<double> next_memory, ArmCommand& command) noexcept;
  /// 2. Corrects the command against the motion's error, which may have been changed. Returns the
  /// error that is known now (TipIntegral::update) [m].
  Eigen::Vector3d correct(const Motion& motion, const ArmMeasurement& measurement,
                          std::span<const double> memory, std::span<double> next_memory,
                          ArmCommand& command) noexcept;
  /// 3. Reports the motion, the tip errors with respect to this target.
  void describe(const Motion& motion, const Eigen::Isometry3d& X_BG,
                const ArmMeasurement& measurement, ControllerReport& report) const noexcept;

  /// Tells whether the body is not where the commands have it (tendril::gives_way), so that the
  /// measured tip decides what is reached.
  [[nodiscard]] bool gives_way() const noexcept { return part_ && part_->gives_way; }

 private:
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return tracker_.robot(); }
  [[nodiscard]] bool has_feed() const noexcept { return robot().base().feed_limit > 0.0; }
  [[nodiscard]] bool has_spin() const noexcept {
    return (task_ == TipTask::Pose || part_) && robot().base().spin;
  }
  struct Plan {
    bool reached;  // the solution of the inverse kinematics reaches the target
    bool moving;   // the plan is not yet at the solution
    int iterations;
    double scale;  // fraction of the remaining path that this step covers
  };
  /// Sections before the arm's own in the planner's robot.
  [[nodiscard]] int rail_count() const noexcept { return planner_->robot().rail_count(); }
  [[nodiscard]] double planned_feed(std::span<const double> memory) const noexcept;
  void load_base(std::span<const double> memory, std::span<double> next_memory,
                 BaseState& base) noexcept;
  /// The planned pose in the memory; of a robot that is driven in part, less that of its body.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> plan_in(
      std::span<const double> memory) const noexcept;
  /// Moves the roll's offset by one step against the measured error of the roll.
  void correct_roll(const Eigen::Isometry3d& X_BG, const ArmMeasurement& measurement,
                    const Plan& plan, std::span<double> next_memory) noexcept;
  /// Moves the planned pose by one step. The base and its solution are those in `next_memory`.
  [[nodiscard]] Plan advance(const TipTarget& target, const ArmMeasurement& measurement,
                             std::span<const double> memory,
                             std::span<double> next_memory) noexcept;
  void judge(const TipTarget& target, const ArmMeasurement& measurement,
             std::span<const double> memory, std::span<double> next_memory,
             Plan& plan) const noexcept;
  [[nodiscard]] IkResult inverse_kinematics(const TipTarget& target, const BaseState& base,
                                            std::span<const double> memory,
                                            std::span<double> next_memory) noexcept;

  TipTask task_;
  PoseRates rates_;
  MoveTiming timing_;
  AnySolver tracker_;
  std::optional<AnySolver> searcher_;     // where tracker_ alone does not search
  std::unique_ptr<PosePlanner> planner_;  // with avoidance
  /// Of a robot that is driven in part: in place of tracker and searcher.
  struct Part {
    DrivenSolver tracker, searcher;
    BodyPose body;
    bool gives_way;  // else its sections are where the kinematics have them, each in its plane
  };
  static std::optional<Part> make_part(const ArmContext& context);
  std::optional<Part> part_;
  double lead_gain_;  // [1/s]
  TargetLead lead_;
  TipIntegral integral_;
  TipContacts walls_;

  // Of a planner its memory; otherwise the IK solution, the planned pose, and the
  // target for which the search failed.
  Block timing_memory_;
  Block planner_memory_, solution_memory_;
  MatrixSlot<Eigen::VectorXd> q_memory_;
  Slot<bool> failed_;
  MatrixSlot<Eigen::Vector3d> failed_target_;
  // Of a task with a roll: the frame for which the search failed, and what is added to the target's
  // roll so that the measured one is that of the target [rad].
  MatrixSlot<Eigen::Matrix3d> failed_frame_;
  Slot<double> roll_offset_;
  double roll_gain_ = 0.0;  // [1/s]
  Slot<bool> base_known_;   // of a robot whose base moves: after its first step
  Slot<double> feed_solution_, feed_, spin_solution_, spin_;
  // Of a robot that is driven in part: its body's pose, the one for which the search failed, and
  // the time since when the tip is off its target [s].
  Block body_memory_;
  MatrixSlot<Eigen::VectorXd> failed_body_;
  Slot<double> off_time_;
  Block lead_memory_, integral_memory_;
  Slot<double> hold_;                 // time left without correction into a wall [s]
  MatrixSlot<Eigen::Vector3d> wall_;  // its normal

  std::vector<SectionState> states_;  // scratch
  Eigen::VectorXd q_solution_;        // scratch
};

}  // namespace tendril
