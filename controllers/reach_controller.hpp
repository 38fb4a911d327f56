#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/arm_controller.hpp"
#include "controllers/reactive_planner.hpp"
#include "controllers/tip_integral.hpp"
#include "tendril/ik/any_solver.hpp"

namespace tendril {

/// The tip follows a target body: inverse kinematics at every step, warm-started; section commands
/// led there with a bounded rate (all of them scaled by the same factor, so that the arm stays on
/// the straight line between two poses), and corrected on the measured tip.
///
/// The default solver descends from the last solution and so stays near it. Where that comes to
/// rest short of the target, poses elsewhere are tried, once for every millimetre that the target
/// moves; the arm changes over only to one that meets the target.
///
/// With `avoidance` the plan is made by ReactivePlanner instead, among the obstacles of the
/// measurement.
class ReachController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {quantity::kIterations, quantity::kTipError,
                                             quantity::kAngleError, quantity::kProgress};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit ReachController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;

 private:
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return tracker_.robot(); }
  struct Plan {
    bool reached;     // the target, by the solution of the inverse kinematics
    bool on_its_way;  // the plan is not yet at the solution
    int iterations;
    double scale;  // part of the way that this step goes
  };
  /// The planned pose in the memory.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> plan_in(
      std::span<const double> memory) const noexcept;
  /// Moves the planned pose by one step.
  [[nodiscard]] Plan lead(const TipTarget& target, const ArmMeasurement& measurement,
                          std::span<const double> memory, std::span<double> next_memory) noexcept;
  [[nodiscard]] IkResult inverse_kinematics(const TipTarget& target, const BaseState& base,
                                            std::span<const double> memory,
                                            std::span<double> next_memory) noexcept;

  TipTask task_;
  double rate_limit_;
  AnySolver tracker_;
  std::optional<AnySolver> searcher_;  // of the default solver: tracker_ does not look elsewhere
  std::optional<ReactivePlanner> avoiding_;
  TipIntegral integral_;

  // With avoidance the planner's memory; otherwise the IK solution, the planned pose, and the target
  // for which nothing better was found.
  Block avoiding_memory_, solution_memory_;
  MatrixSlot<Eigen::VectorXd> q_memory_;
  Slot<bool> failed_;
  MatrixSlot<Eigen::Vector3d> failed_target_;
  Block integral_memory_;

  std::vector<SectionState> states_;  // scratch
  Eigen::VectorXd q_solution_;        // scratch
};

}  // namespace tendril
