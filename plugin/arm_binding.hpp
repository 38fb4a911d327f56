#pragma once

#include <optional>
#include <vector>

#include "controllers/arm_mechanics.hpp"
#include "controllers/contact_response.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// Binding of a continuum arm: its hinges and slides in the form that ArmMechanics uses.
class ArmBinding final : public BindingOf<ArmController, ArmMeasurement, ArmCommand> {
 public:
  ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
             std::unique_ptr<ArmController> controller);

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

  /// Its memory: the last setpoint of the feed servo and the last commanded coordinates.
  struct Memory {
    MemoryLayout layout;
    Slot<double> feed_setpoint = layout.number();
    MatrixSlot<Eigen::VectorXd> command;
    explicit Memory(int n) : command(layout.vector(n)) {}
  };

 private:
  [[nodiscard]] ArmCoordinate bind_coordinate(const InstanceContext& context, int section,
                                              int links, char axis,
                                              const std::vector<double>& fractions, double sign,
                                              std::vector<Servo>& servos);
  void bind_sections(const InstanceContext& context, const ContinuumDescription& description,
                     std::vector<ArmCoordinate>& coordinates, std::vector<Servo>& servos);
  void bind_contacts(const mjModel* m);
  int add_servo(const InstanceContext& context, int actuator, double passive_damping,
                std::vector<Servo>& servos);
  void read_contacts(const mjModel* m, const mjData* d) noexcept;

  std::unique_ptr<ContinuumRobot> robot_;
  int base_body_, tip_site_, target_mocap_;
  std::optional<SceneObstacles> obstacles_;  // if the controller requests them
  std::vector<JointAddress> joints_;         // in the order of the mechanics' state
  JointAddress feed_, spin_;
  ArmMechanics mechanics_;
  Memory memory_;
  std::optional<ContactResponse> contacts_;  // if the controller senses them
  std::vector<int> joints_up_to_body_;       // -1: the body is not part of the arm
  std::vector<double> arc_length_;           // per body of the model

  ArmMechanics::State state_;  // scratch of the last step
};

[[nodiscard]] std::unique_ptr<ArmController> make_arm_controller(
    const InstanceContext& context, const ContinuumDescription& description,
    const ControllerKind::MakeArm& make);

}  // namespace tendril
