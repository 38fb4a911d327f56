#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controllers/arm/pose_schedule.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/watch/jam_detector.hpp"

namespace tendril {

/// `tendril.follow` with the setting `poses`: executes a planned path of poses, with a hold at
/// every waypoint, and corrects the measured tip to the planned one. During `start_delay` the arm
/// moves from its initial pose to the first pose; this motion is not part of the plan.
class FollowPosesController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kTipError,
      quantity::kProgress,
      {"waypoint_error", "m",
       "tip error at the end of the last hold at a waypoint; 0 before; NaN: no poses"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit FollowPosesController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

  [[nodiscard]] const PoseSchedule& schedule() const noexcept { return schedule_; }

 private:
  /// Planned pose at a time [s] of the schedule; a negative time is before the first pose.
  PoseSchedule::Sample planned(double time, std::span<const double> memory,
                               Eigen::Ref<Eigen::VectorXd> q,
                               Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;
  [[nodiscard]] Eigen::Vector3d planned_tip(const Eigen::VectorXd& q,
                                            const BaseState& base) noexcept;

  ContinuumRobot robot_;
  PoseSchedule schedule_;
  double start_delay_, rate_limit_;
  JamDetector jam_;
  TipIntegral integral_;

  Slot<double> time_ = memory_.number();  // on the schedule
  Slot<bool> started_ = memory_.flag();
  Slot<double> waypoint_error_ = memory_.number();
  // Initial pose of the arm, and the time from there to the first pose.
  Slot<double> start_time_ = memory_.number(), start_feed_ = memory_.number(),
               start_spin_ = memory_.number();
  MatrixSlot<Eigen::VectorXd> start_;
  Block jam_memory_, integral_memory_;

  std::vector<Eigen::Vector3d> tips_;  // along the path, for drawing
  std::vector<SectionState> states_;   // scratch
  Eigen::VectorXd q_, q_rate_;         // scratch
};

}  // namespace tendril
