#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugin/robot_binding.hpp"

namespace tendril {

/// One instance of a controller plugin, bound to one robot of one model: reads mjData, calls the
/// controller, writes the setpoints of the robot's servos. The whole state is in `plugin_state`:
/// the memory of the controller and of the binding, and the fault flag. The object holds only the
/// binding to the model, which can be rebuilt from the model, and scratch.
class Instance {
 public:
  /// Size of the instance's plugin_state, from the configuration alone. Throws ModelError.
  [[nodiscard]] static int state_size(const mjModel* m, int instance, const ControllerKind& kind);
  /// Dimension of a sensor of the instance. Throws ModelError for a sensor of a quantity that is
  /// not reported.
  [[nodiscard]] static int sensor_dimension(const mjModel* m, int instance, int sensor,
                                            const ControllerKind& kind);

  /// Throws ModelError naming the setting or the element of the model at fault.
  Instance(const mjModel* m, int instance, const ControllerKind& kind);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  void reset(mjtNum* plugin_state) noexcept;
  /// Measures, updates and writes ctrl; does not change plugin_state. Passes on exceptions of the
  /// controller; throws if its memory is damaged or its command is not finite.
  void compute(const mjModel* m, mjData* d);
  /// Sets plugin_state to the next state found by compute.
  void advance(mjData* d) noexcept;
  void write_sensors(mjData* d) const noexcept;
  void visualize(const mjData* d, mjvScene* scene) const;
  /// `source` is an instance of the same configuration.
  void copy_scratch(const Instance& source) noexcept;
  /// Records that the controller failed in this step. From the next advance on the fault is part of
  /// plugin_state: ctrl and memory stay unchanged until a reset or until an older state is
  /// restored. Returns whether it is the first fault.
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
  std::string pool_key_;  // of the controller, if it may be reused; else empty
  std::unique_ptr<RobotBinding> binding_;
  int state_address_;
  MemoryLayout layout_;
  Block controller_memory_, binding_memory_;
  Slot<bool> fault_;
  std::vector<int> controls_;  // addresses in ctrl
  std::vector<Sensor> sensors_;

  bool fault_reported_ = false;  // only suppresses repeated warnings

  // Scratch of the last compute.
  ControllerReport report_;
  std::vector<double> own_values_, setpoints_, next_state_;
  std::vector<double>
      values_;  // of all quantities: status, the controller's, the other common ones
};

}  // namespace tendril
