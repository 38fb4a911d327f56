#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugin/robot_binding.hpp"

namespace tendril {

/// One instance of a controller plugin, bound to one robot of one model: reads mjData, calls the
/// controller, writes the setpoints of the robot's servos. What influences the future is in
/// `plugin_state` (the controller's memory, the binding's, whether there was a fault); the object
/// holds the binding to the model, which is rebuilt from it, and scratch.
class Instance {
 public:
  /// Size of the instance's plugin_state, from the configuration alone. Throws ModelError.
  [[nodiscard]] static int state_size(const mjModel* m, int instance, const ControllerKind& kind);
  /// Numbers that a sensor of the instance has. Throws ModelError for one that asks for a quantity
  /// that is not reported.
  [[nodiscard]] static int sensor_dimension(const mjModel* m, int instance, int sensor,
                                            const ControllerKind& kind);

  /// Throws ModelError naming the setting or the element of the model that is wrong.
  Instance(const mjModel* m, int instance, const ControllerKind& kind);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  void reset(mjtNum* plugin_state) noexcept;
  /// Measures, updates, writes ctrl; leaves plugin_state alone. Throws what the controller throws,
  /// and when its memory is damaged or its command not finite.
  void compute(const mjModel* m, mjData* d);
  /// plugin_state becomes what compute found.
  void advance(mjData* d) noexcept;
  void write_sensors(mjData* d) const noexcept;
  void visualize(const mjData* d, mjvScene* scene) const;
  /// `source` is an instance of the same configuration.
  void copy_scratch(const Instance& source) noexcept;
  /// The controller failed in this step. From the next advance on, plugin_state says so: ctrl and
  /// memory stay as they are until a reset or an older state. Returns whether it is the first time.
  bool set_fault(const mjData* d) noexcept;

 private:
  struct Sensor {
    std::size_t value;  // index of its first number in values_
    int address, width;
  };
  [[nodiscard]] std::span<const double> state(const mjData* d) const noexcept {
    return {d->plugin_state + state_address_, next_state_.size()};
  }
  void fill_values() noexcept;

  const ControllerKind& kind_;
  std::string pool_key_;  // of the controller, when it may be used again; else empty
  std::unique_ptr<RobotBinding> binding_;
  int state_address_;
  MemoryLayout layout_;
  Block controller_memory_, binding_memory_;
  Slot<bool> fault_;
  std::vector<int> controls_;  // addresses in ctrl
  std::vector<Sensor> sensors_;

  bool fault_told_ = false;  // only saves repeated warnings

  // Scratch of the last compute.
  ControllerReport report_;
  std::vector<double> own_values_, setpoints_, next_state_;
  std::vector<double>
      values_;  // of all quantities: status, the controller's, the other common ones
};

}  // namespace tendril
