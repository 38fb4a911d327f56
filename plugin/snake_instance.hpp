#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/snake_controller.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/plugin_instance.hpp"

namespace tendril {

/// Settings of every snake's controller besides its own.
inline constexpr const char* kCommonSnakeSettings[] = {"robot"};

/// An instance for a snake.
class SnakeInstance final : public PluginInstance {
 public:
  /// Size of the instance's plugin_state: the controller's memory and the fault, from the
  /// configuration alone. Throws ModelError.
  [[nodiscard]] static int state_size(const mjModel* m, int instance,
                                      const SnakeControllerKind& kind);
  /// Numbers that the sensor `name` (with or without the instance's prefix) gives. Throws
  /// ModelError.
  [[nodiscard]] static int sensor_dimension(const mjModel* m, int instance, int sensor,
                                            const SnakeControllerKind& kind);

  /// Throws ModelError naming the setting or the element of the model that is wrong.
  SnakeInstance(const mjModel* m, int instance, const SnakeControllerKind& kind);

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
    Progress,
    PathError,
    JointMargin,
    Speed,
    Heading,
    Advance,
    Rise,
    Slip,
    Goals,
    Upright,
    Target,
    Command,
    Measured,
    Unknown
  };
  struct Sensor {
    Quantity quantity;
    int address;
  };
  /// A hinge with its servo.
  struct Joint {
    int joint, qpos, dof, body, actuator, control;
  };

  [[nodiscard]] static Quantity quantity_of(std::string_view name) noexcept;
  void keep_state(const mjData* d) noexcept;
  void measure(const mjModel* m, const mjData* d) noexcept;
  /// ctrl of a servo for which its joint goes to `desired` and on at `rate`, under `factor` times
  /// the weight that it carries.
  [[nodiscard]] static double setpoint(const mjModel* m, const mjData* d, const Joint& joint,
                                       double desired, double rate, double factor) noexcept;
  [[nodiscard]] std::size_t memory_size() const noexcept { return next_state_.size() - 1; }
  [[nodiscard]] std::span<const double> memory(const mjData* d) const noexcept {
    return {d->plugin_state + state_address_, memory_size()};
  }

  std::unique_ptr<SnakeController> controller_;
  int state_address_;
  int base_body_ = -1, tail_site_ = -1, tip_site_ = -1, target_mocap_ = -1;
  double joint_limit_;
  bool is_free_;
  std::vector<Joint> joints_;  // from the tail
  std::optional<Joint> feed_;
  std::vector<Sensor> sensors_;

  bool fault_told_ = false;  // only saves repeated warnings

  // Scratch of the last compute.
  SnakeMeasurement measurement_;
  SnakeCommand command_;
  SnakeReport report_;
  double joint_margin_ = 0.0;
  std::vector<double> next_state_;  // the controller's memory, then the fault
};

}  // namespace tendril
