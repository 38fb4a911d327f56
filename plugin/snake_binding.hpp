#pragma once

#include <span>
#include <vector>

#include "binding/snake_loop.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "plugin/model_scene.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// A snake, free, fixed or on a carriage.
class SnakeBinding final : public BindingOf<SnakeController, SnakeMeasurement, SnakeCommand> {
 public:
  SnakeBinding(const InstanceContext& context, const SnakeDescription& description,
               std::unique_ptr<SnakeController> controller, const ModelScene& scene);

  using Description = SnakeDescription;
  using Interface = SnakeController;
  [[nodiscard]] static std::unique_ptr<SnakeController> make_controller(
      const InstanceContext& context, const SnakeDescription& description, SceneQuery& scene);
  [[nodiscard]] static RobotSizes sizes(const SnakeDescription& snake) { return snake.joints; }
  [[nodiscard]] static int coordinate_count(const SnakeDescription& snake) { return snake.joints; }
  [[nodiscard]] static int memory_size(const InstanceContext& context,
                                       const SnakeDescription& snake,
                                       const SnakeController& controller) {
    return Memory(context, snake, controller).layout.size();
  }

  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  /// A snake moves its whole body to a place.
  [[nodiscard]] double length_scale() const noexcept override { return length_; }
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  [[nodiscard]] int drive_reading_count() const noexcept override;
  void exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                std::span<double> drives, std::span<double> setpoints,
                ControllerReport& report) noexcept override;
  [[nodiscard]] FollowingError following_error(int last_touched) const noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

  /// The snake as bound to the model.
  struct Parts {
    int base_body, tail_site, tip_site, target_mocap;  ///< the last -1: no target
    double joint_limit, length;                        ///< [rad]; of the body [m]
    const Eigen::Vector3d& gravity;                    ///< [m/s^2]
    std::span<const JointAddress> joints;  ///< from the tail on, then the carriage's slide
    std::span<const DrivenJoint> driven;   ///< the same
    std::span<const int> actuators;        ///< one for each joint
    const SensedSnake* sensed;             ///< null: its controller sees the truth
  };
  [[nodiscard]] Parts parts() const noexcept {
    return {base_body_, tail_site_, tip_site_,       target_mocap_, joint_limit_,   length_,
            gravity_,   joints_,    loop_->joints(), actuators_,    loop_->sensed()};
  }

  /// Its memory: that of the loop, and of a controller that sees the truth, if this one sees its
  /// sensors.
  struct Memory {
    MemoryLayout layout;
    Block loop, truth;
    Memory(const InstanceContext& context, const SnakeDescription& description,
           const SnakeController& controller);
  };

 private:
  [[nodiscard]] bool sense(const Sensed& sensed, SnakeMeasurement& seen) noexcept override;
  [[nodiscard]] std::span<double> true_memory(std::span<double> next_own) noexcept override {
    return memory_.truth(next_own);
  }
  int base_body_, tail_site_, tip_site_, target_mocap_;
  double joint_limit_, length_;
  double base_links_;  // in joints: what link 0 counts for in means over the links
  Eigen::Vector3d gravity_;
  std::vector<JointAddress> joints_;  // from the tail on, then the carriage's slide
  Memory memory_;
  std::unique_ptr<SnakeLoop> loop_;

  // Scratch of the last step.
  std::vector<JointState> states_, seen_states_;
  double joint_margin_ = 0.0;
};

}  // namespace tendril
