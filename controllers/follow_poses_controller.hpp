#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controllers/controller.hpp"
#include "controllers/pose_schedule.hpp"
#include "controllers/tip_integral.hpp"

namespace tendril {

/// `tendril.follow` with the setting `poses`: runs through a planned path of poses, waypoint after
/// waypoint, with a hold at each, and holds the measured tip where the plan has it. During
/// `start_delay` the arm goes from where it is to the first pose; nobody has planned that move.
///
/// Memory: time on the schedule, time blocked, jam flag, started flag, tip error at the end of the
/// last hold, time of the way to the first pose, feed, spin and coordinates where the arm was
/// found, the tip integral's memory.
class FollowPosesController final : public Controller {
 public:
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit FollowPosesController(const ControllerContext& context);

  [[nodiscard]] int memory_size() const noexcept override;
  void reset(std::span<double> memory) const noexcept override;
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

  [[nodiscard]] const PoseSchedule& schedule() const noexcept { return schedule_; }

 private:
  /// Planned pose at a time of the schedule; before 0 on the way to the first pose.
  PoseSchedule::Sample planned(double time, std::span<const double> memory,
                               Eigen::Ref<Eigen::VectorXd> q,
                               Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;
  [[nodiscard]] Eigen::Vector3d planned_tip(const Eigen::VectorXd& q,
                                            const BaseState& base) noexcept;

  ContinuumRobot robot_;
  PoseSchedule schedule_;
  double start_delay_, rate_limit_;
  double jam_tip_error_, jam_feed_force_, jam_time_;
  TipIntegral integral_;
  std::vector<Eigen::Vector3d> tips_;  // along the path, for drawing
  std::vector<SectionState> states_;   // scratch
  Eigen::VectorXd q_, q_rate_;         // scratch
};

}  // namespace tendril
