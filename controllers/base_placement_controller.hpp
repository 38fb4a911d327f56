#pragma once

#include <span>
#include <vector>

#include "controllers/mobile_controller.hpp"
#include "tendril/mobile/mobile_continuum_solver.hpp"

namespace tendril {

/// Brings a continuum arm to where it meets the target, and stays there: the platform moves only
/// when the arm cannot do it from where the platform stands or is going to.
///
/// The place is MobileContinuumSolver's, for an arm that is shorter by the setting `reserve`, so
/// that the real one need not stretch for the target; from a target that is too near (setting
/// `nearest`) the platform backs away. Places where the platform's rectangle
/// would touch a box of `keep_out` are not taken. The way there is straight, under the limits of
/// speed and acceleration; a platform that would come into such a box on its way stops before it
/// and reports NotReached.
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
      {"reason", "", "MobileStatus of the last solution, as a number"},
      {"arrivals", "", "targets that the tip has come to rest at"},
      {"settled_error", "m",
       "largest tip error after an arrival, from `settle_time` after it until the target moves "
       "away "
       "again, of all arrivals"},
      {"settled_angle", "rad", "the same of the angle"},
      {"base_travel", "m", "distance that the platform has travelled"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit BasePlacementController(const PlatformContext& context);

  void update(const MobileMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, MobileCommand& command,
              ControllerReport& report) noexcept override;

 private:
  [[nodiscard]] bool choose(const TipTarget& target, std::span<double> next,
                            ControllerReport& report) noexcept;
  [[nodiscard]] MobileStatus look_for(const TipTarget& target, std::span<double> next,
                                      ControllerReport& report) noexcept;
  void adopt(const MobileContinuumResult& result, std::span<double> next) const noexcept;
  [[nodiscard]] PlatformPose backed_away(const Eigen::Vector3d& target,
                                         const PlatformPose& base) const noexcept;
  void move(std::span<double> next, ControllerReport& report) const noexcept;
  void evaluate(const MobileMeasurement& measurement, const TipTarget& target, bool target_moved,
                std::span<double> next, ControllerReport& report) const noexcept;

  MobileSpeedLimits limits_;
  TipTask task_;
  double tolerance_, angle_tolerance_, settle_time_, nearest_, h_;
  FloorPlan keep_out_;
  MobileContinuumSolver shorter_, whole_;

  using Pose = MatrixSlot<Eigen::Vector3d>;  // x, y, heading
  Slot<bool> started_ = memory_.flag();
  Pose plan_ = memory_.matrix<Eigen::Vector3d>();
  Pose velocity_ = memory_.matrix<Eigen::Vector3d>();  // of the plan
  Pose goal_ = memory_.matrix<Eigen::Vector3d>();
  /// Position and z axis of the target that the goal is for.
  MatrixSlot<Eigen::Matrix<double, 6, 1>> target_ = memory_.matrix<Eigen::Matrix<double, 6, 1>>();
  Slot<MobileStatus> reason_ =
      memory_.choice(MobileStatus::Converged, MobileStatus::BaseBlocked);  // of that solution
  Slot<bool> arrived_ = memory_.flag();                                    // and at rest
  Slot<double> arrival_time_ = memory_.number();
  Slot<int> arrivals_ = memory_.counter();
  Slot<double> settled_error_ = memory_.number(), settled_angle_ = memory_.number(),
               travel_ = memory_.number();
  Block states_memory_;

  std::vector<SectionState> states_;  // scratch
};

}  // namespace tendril
