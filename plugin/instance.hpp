#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/watch/arrival_watch.hpp"
#include "controllers/watch/following_watch.hpp"
#include "controllers/watch/settling_watch.hpp"
#include "plugin/controller_pool.hpp"
#include "plugin/drum_sensors.hpp"
#include "plugin/robot_binding.hpp"
#include "plugin/sensor_readings.hpp"

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
  /// Its settings, the defaults included, by name. Throws ModelError.
  [[nodiscard]] static Settings::Texts settings(const mjModel* m, int instance,
                                                const ControllerKind& kind);
  [[nodiscard]] const RobotBinding& binding() const noexcept { return *binding_; }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  void reset(mjtNum* plugin_state) noexcept;
  /// Measures, updates and writes ctrl; does not change plugin_state. Passes on exceptions of the
  /// controller; throws if its memory is damaged or its command is not finite.
  void compute(const mjModel* m, mjData* d);
  /// Sets plugin_state to the next state found by compute.
  void advance(const mjModel* m, mjData* d) noexcept;
  void write_sensors(const mjModel* m, mjData* d) const noexcept;
  void visualize(const mjData* d, mjvScene* scene) const;
  /// Goes on from the state and the sensors of `d`, which this instance has not computed.
  void resume(const mjData* d) noexcept;
  /// `source` is an instance of the same configuration.
  void copy_scratch(const Instance& source) noexcept;
  /// Records that the controller failed in this step. From the next advance on the fault is part of
  /// plugin_state: ctrl and memory stay unchanged until a reset or until an older state is
  /// restored. Returns whether it is the first fault.
  bool set_fault(const mjData* d) noexcept;
  /// Lets a remote controller drive the robot; null: its own does. Returns whether it can.
  bool set_remote_control(RemoteControl* remote);
  /// An actuator that could not be driven in the last compute, the first time that there is one
  /// since the reset; -1: none.
  [[nodiscard]] int newly_lost_servo() noexcept;

 private:
  struct Sensor {
    std::size_t value;  // index of its first number in values_
    int address, width;
  };
  [[nodiscard]] std::span<const double> state(const mjData* d) const noexcept {
    return {d->plugin_state + state_address_, next_state_.size()};
  }
  /// Writes ctrl. What the engine would not accept as a control is not written, because it would
  /// set all controls to zero: that servo holds its last one.
  void write_controls(const mjModel* m, mjData* d) noexcept;
  /// Finds the following error. Returns whether the robot follows its commands.
  [[nodiscard]] bool watch_following(const mjModel* m, const mjData* d) noexcept;
  /// The last of the robot's bodies that touch anything; 0: none.
  [[nodiscard]] int last_touched_body(const mjModel* m, const mjData* d) const noexcept;
  void fill_values() noexcept;
  /// The numbers of the readings among the values.
  [[nodiscard]] std::span<double> reading_values() noexcept {
    return std::span(values_).last(readings_->size());
  }

  const ControllerKind& kind_;
  std::optional<ControllerPool::Key> pool_key_;  // of the controller, if it may be reused
  std::unique_ptr<RobotBinding> binding_;
  int state_address_;
  MemoryLayout layout_;
  std::optional<FollowingWatch> watch_;
  std::optional<SettlingWatch> settling_;
  std::optional<ArrivalWatch> arrival_;  // of a controller from outside the library
  std::optional<SensorReadings> readings_;
  std::optional<DrumSensors> drums_;
  std::unique_ptr<bool[]> arrived_;  // readings, in this step
  Block controller_memory_, binding_memory_, watch_memory_, settling_memory_, fault_memory_,
      arrival_memory_, readings_memory_;
  Slot<bool> fault_;
  std::vector<int> controls_;          // addresses in ctrl
  int first_body_ = 0, end_body_ = 0;  // of the robot
  std::vector<Sensor> sensors_;

  RemoteControl* remote_ = nullptr;  // drives the robot instead of its controller
  std::vector<double> drives_;       // scratch: ArmLoop::DriveReading

  bool fault_reported_ = false, loss_reported_ = false;  // only suppress repeated warnings

  // Scratch of the last compute.
  ControllerReport report_;
  double following_error_ = kUnknown;
  int lost_servo_ = -1;  // an actuator
  std::vector<double> own_values_, setpoints_, next_state_;
  // Of all quantities, status, the controller's, the other common ones; then the readings.
  std::vector<double> values_;
};

}  // namespace tendril
