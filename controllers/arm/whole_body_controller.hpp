#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/feed_drive.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/whole_body_fit.hpp"

namespace tendril {

/// An arm on the flange of a robot arm, or on any chain of joints with position servos: the joints
/// and the sections move together. The tip follows a path, and the body its tip, as if a guide fed
/// it; or the tip goes to a mocap body in a straight line. Source: docs/theory/control.md, "An arm
/// on a robot arm".
class WholeBodyController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      {.name = "body_deviation",
       .unit = "m",
       .meaning = "mean distance of the measured body from its path at the same arc length, over "
                  "the part that has passed where the tip began; NaN: no path",
       .summary = "end max mean"},
      {.name = "plan_error",
       .unit = "m",
       .meaning = "distance of the planned tip from where it should be: more than 0 where limits "
                  "of joints and sections do not let it go",
       .summary = "end max"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit WholeBodyController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  /// The plan in one step, root frame of the joints.
  struct Plan {
    Eigen::Vector3d goal = Eigen::Vector3d::Zero();     ///< of the tip now
    Eigen::Vector3d desired = Eigen::Vector3d::Zero();  ///< the same, or the target itself
    double error = 0.0;                                 ///< of the planned tip [m]
    bool at_end = false;
    bool is_valid = true;  ///< there is a target
  };

  void measured_states(const ArmMeasurement& measurement,
                       std::span<SectionState> states) const noexcept;
  void begin(const ArmMeasurement& measurement, std::span<double> next) noexcept;
  Plan follow(const ArmMeasurement& measurement, double tip_error, std::span<const double> memory,
              std::span<double> next) noexcept;
  Plan reach(const ArmMeasurement& measurement, const Eigen::Isometry3d& X_RB,
             std::span<const double> memory, std::span<double> next) noexcept;
  double limit_rates(double h) noexcept;
  [[nodiscard]] Eigen::Isometry3d path_frame(std::span<const double> memory) const noexcept;

  ContinuumRobot robot_;
  FeedDrive::Limits limits_;  // of the tip and the sections
  double joint_speed_, start_delay_;
  std::optional<Path> path_;  // none: a target
  double arm_length_;
  double jam_tip_error_, jam_time_;
  WholeBodyFit fit_;
  TipIntegral integral_;
  double joint_gain_;
  bool compensates_;

  Slot<bool> started_ = memory_.flag();
  MatrixSlot<Eigen::VectorXd> joints_memory_, joint_integral_;
  MatrixSlot<Eigen::VectorXd> goal_ = memory_.vector(3);  // of the tip in the last step, root frame
  MatrixSlot<Eigen::MatrixXd> X_RP_;  // of the path, whose frame is the base's at the start: 3 x 4
  MatrixSlot<Eigen::VectorXd> target_ = memory_.vector(3);           // in the last step, root frame
  MatrixSlot<Eigen::VectorXd> target_velocity_ = memory_.vector(3);  // with limited acceleration
  Slot<double> advance_ = memory_.number(), speed_ = memory_.number();  // [m], [m/s]
  Block states_memory_ = add_states(memory_, robot_);
  Slot<double> blocked_time_ = memory_.number();  // for which the tip has been off the path [s]
  Block integral_memory_ = memory_.part(integral_.layout());

  std::vector<SectionState> states_, last_states_;  // scratch
  Eigen::VectorXd joints_, last_joints_;            // scratch
  Eigen::VectorXd q_, last_q_;                      // scratch
  Eigen::Matrix3Xd deflections_;                    // scratch
};

}  // namespace tendril
