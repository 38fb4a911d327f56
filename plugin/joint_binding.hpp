#pragma once

#include <array>
#include <optional>
#include <vector>

#include "plugin/robot_binding.hpp"

namespace tendril {

/// A joint with its own position servo, as in snakes and mobile robots.
struct BoundJoint {
  int joint = -1, qpos = -1, dof = -1, body = -1;
  Servo servo;
  double mass = 0.0;  ///< of all bodies that it moves [kg]
  bool is_slide = false;

  void read(const mjData* d, JointState& state) const noexcept;
};

/// A snake, free or on a carriage.
class SnakeBinding final : public RobotBinding {
 public:
  SnakeBinding(const InstanceContext& context, const SnakeDescription& description,
               std::unique_ptr<SnakeController> controller);

  [[nodiscard]] const Controller& controller() const noexcept override { return *controller_; }
  [[nodiscard]] std::unique_ptr<Controller> release_controller() noexcept override {
    return std::move(controller_);
  }
  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  void update(std::span<const double> memory, std::span<double> next_memory,
              ControllerReport& report) override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  void forget_command() noexcept override { command_.q.setZero(); }
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

 private:
  std::unique_ptr<SnakeController> controller_;
  int base_body_, tail_site_, tip_site_, target_mocap_;
  double joint_limit_;
  bool is_free_;
  Eigen::Vector3d gravity_;
  std::vector<BoundJoint> joints_;  // from the tail on, then the carriage's slide

  // Scratch of the last step.
  std::vector<JointState> states_;
  SnakeMeasurement measurement_;
  SnakeCommand command_;
  double joint_margin_ = 0.0;
};

/// An arm on a mobile platform, or the platform alone if it carries a continuum arm; then there are
/// no joints, and the tip is that of the arm. The joint ranges given to the controller are reduced
/// by the setting `limit_margin` at either end, so that the servos' overshoot stays within the
/// ranges of the robot.
class MobileBinding final : public RobotBinding {
 public:
  MobileBinding(const InstanceContext& context, const MobileDescription& description,
                std::unique_ptr<MobileController> controller);

  [[nodiscard]] const Controller& controller() const noexcept override { return *controller_; }
  [[nodiscard]] std::unique_ptr<Controller> release_controller() noexcept override {
    return std::move(controller_);
  }
  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  void update(std::span<const double> memory, std::span<double> next_memory,
              ControllerReport& report) override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

 private:
  static constexpr std::size_t kPlatform = 3;  // joints of the platform: x, y, heading

  std::unique_ptr<MobileController> controller_;
  std::vector<JointLimits> limits_;  // of the arm's joints
  MobileSpeedLimits speeds_;
  std::optional<SceneObstacles> obstacles_;
  int base_body_, tip_site_, target_mocap_;
  bool velocity_feed_forward_;
  Eigen::Vector3d gravity_;
  std::vector<BoundJoint> joints_;  // x, y, heading; yaw, hinges, roll

  // Scratch of the last step.
  std::vector<JointState> states_;
  MobileMeasurement measurement_;
  MobileCommand command_;
  double joint_margin_ = 0.0, speed_use_ = 0.0;
};

[[nodiscard]] std::unique_ptr<SnakeController> make_snake_controller(
    const InstanceContext& context, const SnakeDescription& description,
    const ControllerKind::MakeSnake& make);
[[nodiscard]] std::unique_ptr<MobileController> make_mobile_controller(
    const InstanceContext& context, const MobileDescription& description);

}  // namespace tendril
