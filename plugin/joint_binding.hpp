#pragma once

#include <array>
#include <optional>
#include <vector>

#include "plugin/model_scene.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// A joint with its own position servo, as in snakes and mobile robots.
struct BoundJoint : JointAddress {
  Servo servo;
  double mass = 0.0;  ///< of all bodies that it moves [kg]
  bool is_slide = false;
};

/// A snake, free or on a carriage.
class SnakeBinding final : public BindingOf<SnakeController, SnakeMeasurement, SnakeCommand> {
 public:
  SnakeBinding(const InstanceContext& context, const SnakeDescription& description,
               std::unique_ptr<SnakeController> controller, const ModelScene& scene);

  using Interface = SnakeController;
  [[nodiscard]] static RobotSizes sizes(const SnakeDescription& snake) { return snake.joints; }
  [[nodiscard]] static int coordinate_count(const SnakeDescription& snake) { return snake.joints; }
  [[nodiscard]] static int memory_size(const SnakeDescription& snake,
                                       const SnakeController& /*controller*/) {
    return Memory(snake).layout.size();
  }

  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  /// A snake moves its whole body to a place.
  [[nodiscard]] double length_scale() const noexcept override { return length_; }
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  [[nodiscard]] FollowingError following_error(int last_touched) const noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

  /// Its memory: the joints' torques in the last step.
  struct Memory {
    MemoryLayout layout;
    MatrixSlot<Eigen::VectorXd> torque;
    explicit Memory(const SnakeDescription& description)
        : torque(layout.vector(description.joints)) {}
  };

 private:
  int base_body_, tail_site_, tip_site_, target_mocap_;
  double joint_limit_, length_;
  bool is_free_;
  Eigen::Vector3d gravity_;
  std::vector<BoundJoint> joints_;  // from the tail on, then the carriage's slide
  Memory memory_;

  // Scratch of the last step.
  std::vector<JointState> states_;
  double joint_margin_ = 0.0;
};

/// An arm on a mobile platform, or the platform alone if it carries a continuum arm; then there are
/// no joints, and the tip is that of the arm. The joint ranges given to the controller are reduced
/// by the setting `limit_margin` at either end, so that the servos' overshoot stays within the
/// ranges of the robot.
class MobileBinding final : public BindingOf<MobileController, MobileMeasurement, MobileCommand> {
 public:
  MobileBinding(const InstanceContext& context, const MobileDescription& description,
                std::unique_ptr<MobileController> controller, ModelScene& scene);

  using Interface = MobileController;
  [[nodiscard]] static RobotSizes sizes(const MobileDescription& robot) {
    return robot.mounted ? 0 : robot.kinematics().joint_count();
  }
  /// Counts the coordinates, with x, y and heading of the platform.
  [[nodiscard]] static int coordinate_count(const MobileDescription& robot) {
    return static_cast<int>(kPlatform) + sizes(robot).n;
  }
  [[nodiscard]] static int memory_size(const MobileDescription& /*robot*/,
                                       const MobileController& /*controller*/) {
    return 0;
  }

  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  [[nodiscard]] FollowingError following_error(int last_touched) const noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

 private:
  static constexpr std::size_t kPlatform = 3;  // joints of the platform: x, y, heading

  std::vector<JointLimits> limits_;  // of the arm's joints
  MobileSpeedLimits speeds_;
  int base_body_, tip_site_, target_mocap_;
  std::optional<SceneObstacles> obstacles_;  // if the controller asked for them
  bool velocity_feed_forward_;
  Eigen::Vector3d gravity_;
  std::vector<BoundJoint> joints_;  // x, y, heading; yaw, hinges, roll

  // Scratch of the last step.
  std::vector<JointState> states_;
  double joint_margin_ = 0.0, speed_use_ = 0.0;
};

}  // namespace tendril
