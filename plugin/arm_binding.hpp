#pragma once

#include <optional>
#include <vector>

#include "binding/arm_loop.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "plugin/arm_contacts.hpp"
#include "plugin/joint_binding.hpp"
#include "plugin/model_scene.hpp"
#include "plugin/robot_binding.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"

namespace tendril {

/// Binding of a continuum arm: its hinges and slides in the form that ArmMechanics uses.
class ArmBinding final : public BindingOf<ArmController, ArmMeasurement, ArmCommand> {
 public:
  ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
             std::unique_ptr<ArmController> controller, ModelScene& scene);

  using Description = ContinuumDescription;
  using Interface = ArmController;
  [[nodiscard]] static std::unique_ptr<ArmController> make_controller(
      const InstanceContext& context, const ContinuumDescription& description, SceneQuery& scene);
  [[nodiscard]] static RobotSizes sizes(const ContinuumDescription& arm) {
    return {arm.kinematics().coordinate_count(), tendon_count(arm)};
  }
  [[nodiscard]] static int coordinate_count(const ContinuumDescription& arm) {
    return sizes(arm).n;
  }
  [[nodiscard]] static int memory_size(const InstanceContext& context,
                                       const ContinuumDescription& arm,
                                       const ArmController& controller) {
    return Memory(context, arm, controller).layout.size();
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

  [[nodiscard]] int drive_reading_count() const noexcept override {
    return static_cast<int>(loop_.drive_readings().size());
  }
  void exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                std::span<double> drives, std::span<double> setpoints,
                ControllerReport& report) noexcept override;
  void limit_friction(mjData* d, std::span<const double> own) noexcept override;
  void end_step(const mjModel* m, const mjData* d,
                std::span<double> next_own) const noexcept override;

  /// The arm as bound to the model.
  struct Parts {
    int base_body, tip_site, target_mocap;  ///< the last -1: no target
    std::vector<JointAddress> joints;       ///< in the order of the mechanics' state
    JointAddress feed, spin;                ///< default: none
    std::vector<JointAddress> turns;        ///< in the order of the mechanics' turns
    std::vector<JointAddress> twists;       ///< in the order of the mechanics' twists
    std::vector<int> actuators;             ///< in the order of its servos
    ArmMechanics mechanics;
    double fundamental_mode_damping;  ///< [1/s]
    double swing_period;              ///< [s]; 0: none
    double body_radius;               ///< largest of the sections [m]
    const ArmContacts* contacts;      ///< null: its controller does not sense them
    const SceneObstacles* obstacles;  ///< null: its controller did not ask for them
    const SensedArm* sensed;          ///< null: its controller sees the truth
  };
  [[nodiscard]] Parts parts() const {
    return {base_body_,
            tip_site_,
            target_mocap_,
            joints_,
            feed_,
            spin_,
            turns_,
            twists_,
            actuators_,
            loop_.mechanics(),
            measurement_.fundamental_mode_damping,
            measurement_.swing_period,
            body_radius_,
            contacts_ ? &*contacts_ : nullptr,
            obstacles_ ? &*obstacles_ : nullptr,
            loop_.sensed()};
  }

  /// Its memory: that of the loop, with friction of tendons their tensions and friction in the last
  /// step [N], and, if the controller senses contacts, the normal force on every link in the last
  /// step [N].
  struct Memory {
    MemoryLayout layout;
    Block loop;
    Block tension, friction;
    Block link_force;
    Memory(const InstanceContext& context, const ContinuumDescription& description,
           const ArmController& controller);
  };

 private:
  ArmBinding(const InstanceContext& context, const ContinuumDescription& description,
             std::unique_ptr<ArmController> controller, ModelScene& scene,
             const Mechanism& mechanism);
  void bind_carrier(const InstanceContext& context, const Carrier& carrier);
  void bind_sensors(const InstanceContext& context, const ContinuumDescription& description,
                    const Mechanism& mechanism);
  void bind_friction(const InstanceContext& context, const ContinuumDescription& description);
  [[nodiscard]] bool sense(const Sensed& sensed, ArmMeasurement& seen) noexcept override;
  /// Returns the index in the memory of a constraint row's friction; -1: it is not that of one of
  /// the arm's tendons.
  [[nodiscard]] int friction_offset(const mjData* d, int row) const noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return loop_.robot(); }

  int base_body_, tip_site_, target_mocap_;
  double body_radius_;
  std::optional<SceneObstacles> obstacles_;  // if the controller asked for them
  std::vector<BoundJoint> carrier_;          // likewise; its actuators come last
  Eigen::Vector3d carrier_gravity_ = Eigen::Vector3d::Zero();
  double carrier_feed_forward_ = 1.0;
  std::vector<JointAddress> joints_;  // in the order of the mechanics' state
  JointAddress feed_, spin_;
  std::vector<JointAddress> turns_;   // of the sections that turn
  std::vector<JointAddress> twists_;  // of links that are not rigid in torsion
  std::vector<int> tendons_;          // of the model
  std::vector<int> activations_;      // address of each tendon's, -1: none
  /// Coefficients of the friction that grows with tension and bend.
  std::vector<double> friction_coefficients_;  // of each tendon; empty: none has such friction
  std::vector<int>
      friction_offsets_;  // of each tendon of the model: in the memory's friction, or -1
  ArmLoop loop_;
  Memory memory_;
  std::optional<ArmContacts> contacts_;  // if the controller senses them

  // Scratch of the last step.
  ArmMechanics::State state_, seen_state_;
  std::vector<JointState> carrier_states_;
  std::vector<double> tendon_commands_;
  std::vector<double> section_bends_, friction_limits_;
};

}  // namespace tendril
