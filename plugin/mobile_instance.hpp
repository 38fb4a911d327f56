#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/mobile_controller.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/plugin_instance.hpp"
#include "plugin/scene_obstacles.hpp"

namespace tendril {

/// Settings of every mobile robot's controller besides its own.
inline constexpr const char* kCommonMobileSettings[] = {"robot", "arm", "gravity_compensation",
                                                        "velocity_feed_forward", "limit_margin"};

/// An instance for an arm on a mobile platform, or for the platform alone when it carries a
/// continuum arm: then there are no joints, and the tip is the arm's. To the controller's set
/// points it adds what the servos need: the lead that makes up for their lag, and the weight that
/// each joint carries. The controller knows joint ranges that are a little smaller at either end
/// (setting `limit_margin`), so that the servos' overshoot stays inside the robot's.
class MobileInstance final : public PluginInstance {
 public:
  /// Size of the instance's plugin_state: the controller's memory and the fault, from the
  /// configuration alone. Throws ModelError.
  [[nodiscard]] static int state_size(const mjModel* m, int instance,
                                      const MobileControllerKind& kind);
  /// Numbers that the sensor `name` (with or without the instance's prefix) gives. Throws
  /// ModelError.
  [[nodiscard]] static int sensor_dimension(const mjModel* m, int instance, int sensor,
                                            const MobileControllerKind& kind);

  /// Throws ModelError naming the setting or the element of the model that is wrong.
  MobileInstance(const mjModel* m, int instance, const MobileControllerKind& kind);

  void reset(mjtNum* plugin_state) noexcept override;
  void compute(const mjModel* m, mjData* d) override;
  void advance(const mjModel* m, mjData* d) noexcept override;
  void write_sensors(const mjModel* m, mjData* d) const noexcept override;
  void visualize(const mjModel* m, mjData* d, mjvScene* scene) const override;
  void copy_scratch(const PluginInstance& other) noexcept override;
  bool set_fault(const mjData* d) noexcept override;

 private:
  enum class Quantity {
    Status,
    Reason,
    Iterations,
    TipError,
    AngleError,
    Arrivals,
    SettledError,
    SettledAngleError,
    JointMargin,
    SpeedUse,
    BaseTravel,
    BranchSwitches,
    Searches,
    Clearance,
    Command,
    Measured,
    Unknown
  };
  struct Sensor {
    Quantity quantity;
    int address;
  };
  /// A joint with its servo.
  struct Joint {
    int joint, qpos, dof, body, actuator;
  };

  [[nodiscard]] static Quantity quantity_of(std::string_view name) noexcept;
  [[nodiscard]] double quantity(Quantity quantity) const noexcept;
  void keep_state(const mjData* d) noexcept;
  void measure(const mjModel* m, const mjData* d) noexcept;
  void drive(const mjModel* m, mjData* d, const Joint& joint, double desired, double rate,
             bool carries_weight) const noexcept;
  [[nodiscard]] std::size_t memory_size() const noexcept { return next_state_.size() - 1; }
  [[nodiscard]] std::span<const double> memory(const mjData* d) const noexcept {
    return {d->plugin_state + state_address_, memory_size()};
  }

  std::unique_ptr<MobileController> controller_;
  std::vector<JointLimits> limits_;  // of the joints
  MobileSpeedLimits speeds_;
  std::optional<SceneObstacles> obstacles_;
  int state_address_;
  int base_body_ = -1, tip_site_ = -1, target_mocap_ = -1;
  bool gravity_compensation_ = true, velocity_feed_forward_ = true;
  Joint x_{}, y_{}, heading_{};
  std::vector<Joint> joints_;  // yaw, hinges, roll
  std::vector<Sensor> sensors_;

  bool fault_told_ = false;  // only saves repeated warnings

  // Scratch of the last compute.
  MobileMeasurement measurement_;
  MobileCommand command_;
  MobileReport report_;
  double joint_margin_ = 0.0, speed_use_ = 0.0;
  std::vector<double> next_state_;  // the controller's memory, then the fault
};

}  // namespace tendril
