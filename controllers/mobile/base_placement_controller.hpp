#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/interface/mobile_controller.hpp"
#include "controllers/mobile/base_pose_search.hpp"
#include "tendril/mobile/continuum_solver.hpp"

namespace tendril {

/// Moves the platform of a continuum arm to a base pose from which the arm reaches the target. The
/// platform moves only if the arm cannot reach the target from the present base pose or goal.
///
/// MobileContinuumSolver computes the base pose for an arm shortened by the fraction `reserve`, so
/// that the real arm need not stretch fully. If the target is nearer than `nearest`, the platform
/// backs away. Base poses at which the platform's rectangle overlaps a box of `keep_out` are
/// rejected. The platform drives straight to its goal within the limits of speed and acceleration;
/// if it would enter such a box it stops before it and reports NotReached.
///
/// With `avoidance` BasePoseSearch chooses the base pose among the obstacles of the scene, and the
/// platform drives around them.
///
/// It uses MobileController's interface with no joints: X_WE is the arm's tip, z along the
/// backbone. Tested by: base_placement_controller_test, scenes/mobile_arm.
class BasePlacementController final : public MobileController {
 public:
  using Context = PlatformContext;
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      {"ik_status", "", "MobileStatus of the last solution, as a number"},
      {"targets_reached", "", "targets at which the tip has come to rest"},
      {"settled_error", "m",
       "largest tip error over all arrivals, each from `settle_time` after it until the "
       "target "
       "moves again"},
      {"settled_angle", "rad", "the same for the angle"},
      {"base_travel", "m", "distance traveled by the platform"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit BasePlacementController(const PlatformContext& context);

  void update(const MobileMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, MobileCommand& command,
              ControllerReport& report) noexcept override;

 private:
  [[nodiscard]] bool choose(const TipTarget& target, std::span<double> next,
                            ControllerReport& report) noexcept;
  [[nodiscard]] MobileStatus find_base_pose(const TipTarget& target, std::span<double> next,
                                            ControllerReport& report) noexcept;
  void adopt(const MobileContinuumResult& result, std::span<double> next) const noexcept;
  [[nodiscard]] PlatformPose backed_away(const Eigen::Vector3d& target,
                                         const PlatformPose& base) const noexcept;
  void move(std::span<double> next, ControllerReport& report) const noexcept;
  void drive_among(const MobileMeasurement& measurement, const TipTarget& target, bool valid,
                   std::span<double> next, ControllerReport& report) noexcept;
  void evaluate(const MobileMeasurement& measurement, const TipTarget& target, bool target_moved,
                bool at_goal, std::span<double> next, ControllerReport& report) const noexcept;

  MobileSpeedLimits limits_;
  TipTask task_;
  double tolerance_, angle_tolerance_, settle_time_, nearest_, h_;
  FloorPlan keep_out_;
  std::optional<BasePoseSearch> base_pose_;
  MobileContinuumSolver shorter_, full_;

  using Pose = MatrixSlot<Eigen::Vector3d>;  // x, y, heading
  Slot<bool> started_ = memory_.flag();
  Pose plan_ = memory_.matrix<Eigen::Vector3d>();
  Pose velocity_ = memory_.matrix<Eigen::Vector3d>();  // of the plan
  Pose goal_ = memory_.matrix<Eigen::Vector3d>();
  /// Position and z axis of the target for which the goal was chosen.
  MatrixSlot<Eigen::Matrix<double, 6, 1>> target_ = memory_.matrix<Eigen::Matrix<double, 6, 1>>();
  Slot<MobileStatus> reason_ =
      memory_.choice(MobileStatus::Converged, MobileStatus::BaseBlocked);  // of its solution
  Slot<bool> arrived_ = memory_.flag();                                    // and at rest
  Slot<double> arrival_time_ = memory_.number();
  Slot<int> targets_reached_ = memory_.counter();
  Slot<double> settled_error_ = memory_.number(), settled_angle_ = memory_.number(),
               travel_ = memory_.number();
  Block states_memory_, base_pose_memory_;

  std::vector<SectionState> states_;  // scratch
};

}  // namespace tendril
