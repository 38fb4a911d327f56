#pragma once

#include <span>
#include <vector>

#include "controllers/arm/reach_controller.hpp"
#include "controllers/arm/tip_load.hpp"

namespace tendril {

/// Pulls what the tip holds, such as the end of a cable, to the target body with a bounded force.
/// While the load on the tip (TipLoad) stays below `force`, the tip follows the target as in
/// ReachController, at a bounded speed while the end is at the tip. A load that exceeds `force`
/// makes the end taut, unless the tip moves along the load to the target:
///
///     along the load n   the tip integral gets e = -n C (f_d - f), as in TouchController; C is the
///                        compliance of the arm, by how far the load has moved the tip from
///                        where the commands have it
///     across the load    the tip follows the target
///
/// Thus a cable that slides is pulled on with that force, and one that is fixed is held with it.
/// An end that has been pulled and leaves the tip has slipped off.
/// Source: docs/theory/control.md, "Pulling". Tested by: pull_controller_test, and in the engine by
/// scenes/cable.
class PullController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      quantity::kProgress,
      {"pull_force", "N", "load on the tip at the end that it holds, from the actuators' moments",
       1, "max mean"},
      {"place_error", "m", "distance of the tip from the target"},
      {"taut", "", "1 while the force is regulated, else 0"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit PullController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;

 private:
  void feel(const ArmMeasurement& measurement, std::span<const double> memory,
            std::span<double> next) noexcept;
  void choose(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next) const noexcept;
  [[nodiscard]] Eigen::Vector3d lead(const ArmMeasurement& measurement,
                                     std::span<const double> memory,
                                     std::span<double> next) const noexcept;
  [[nodiscard]] Eigen::Vector3d force_step(std::span<const double> next) const noexcept;
  [[nodiscard]] ControllerStatus judge(const ArmMeasurement& measurement,
                                       std::span<const double> memory,
                                       std::span<double> next) const noexcept;

  ReachController reach_;
  TipLoad load_;
  ContinuumRobot robot_;
  std::vector<SectionState> states_;  // scratch
  double force_, speed_, tolerance_, force_time_, hold_distance_, gain_;

  Slot<bool> started_ = memory_.flag(), held_ = memory_.flag(), pulled_ = memory_.flag(),
             taut_ = memory_.flag();
  MatrixSlot<Eigen::Vector3d> load_memory_ = memory_.matrix<Eigen::Vector3d>();  // smoothed [N]
  MatrixSlot<Eigen::Vector3d> point_ = memory_.matrix<Eigen::Vector3d>();        // of the plan [m]
  Slot<double> reached_ = memory_.number();     // distance of the tip from the target [m]
  Slot<double> compliance_ = memory_.number();  // of the arm [m/N]
  Slot<double> idle_ = memory_.number();        // time since it came nearer [s]
  MatrixSlot<Eigen::VectorXd> command_;         // the last one
  Block reach_memory_;
};

}  // namespace tendril
