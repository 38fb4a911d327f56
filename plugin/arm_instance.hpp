#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller.hpp"
#include "plugin/contact_response.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/plugin_instance.hpp"
#include "plugin/scene_obstacles.hpp"
#include "tendril/robot_file/robot_file.hpp"

namespace tendril {

/// Settings of every arm's controller besides its own.
inline constexpr const char* kCommonArmSettings[] = {"robot", "gravity_compensation",
                                                     "velocity_feed_forward"};

/// An instance for a continuum arm.
class ArmInstance final : public PluginInstance {
 public:
  /// Size of the instance's plugin_state: the controller's memory and the instance's own, from
  /// the configuration alone. Throws ModelError.
  [[nodiscard]] static int state_size(const mjModel* m, int instance, const ControllerKind& kind);
  /// Numbers that the sensor `name` (with or without the instance's prefix) gives. Throws
  /// ModelError.
  [[nodiscard]] static int sensor_dimension(const mjModel* m, int instance, int sensor,
                                            const ControllerKind& kind);

  /// Throws ModelError naming the setting or the element of the model that is wrong.
  ArmInstance(const mjModel* m, int instance, const ControllerKind& kind);

  void reset(mjtNum* plugin_state) noexcept override;
  void compute(const mjModel* m, mjData* d) override;
  void advance(const mjModel* m, mjData* d) noexcept override;
  void write_sensors(const mjModel* m, mjData* d) const noexcept override;
  void visualize(const mjModel* m, mjData* d, mjvScene* scene) const override;
  void copy_scratch(const PluginInstance& other) noexcept override;
  bool set_fault(const mjData* d) noexcept override;

 private:
  /// A hinge or slide with its part of the section's bend or length.
  struct LinkJoint {
    int joint, qpos, dof, body;
    int link;  // of its section, from 0
    double share;
    int actuator;          // its own servo, or -1
    double start, length;  // of the link along the straight arm, from its root [m]
  };
  /// One coordinate (u, v or s) of a section: the joints that it is the sum of, and their servo.
  struct Coordinate {
    std::vector<LinkJoint> joints;
    double sign = 1.0;       // joint angle = sign * coordinate
    double offset = 0.0;     // coordinate at qpos = 0: half the variable length
    int actuator = -1;       // over the whole section, or -1
    double stiffness = 0.0;  // of the joints in series
    bool is_slide = false;
  };
  struct ServoGains {
    double gain;  // gainprm[0] = kp + joint stiffness
    double lag;   // T_v [s]
  };
  /// Feed or spin.
  struct BaseJoint {
    int joint = -1, qpos = -1, dof = -1, actuator = -1;
  };
  enum class Quantity {
    Status,
    Iterations,
    TipError,
    AngleError,
    Progress,
    ContactsExpected,
    ContactsMade,
    ContactsLost,
    WaypointError,
    Target,
    Command,
    Measured,
    Unknown
  };
  struct Sensor {
    Quantity quantity;
    int address;
  };

  void bind_section(const mjModel* m, const RobotDescription& description, int i, double start);
  Coordinate bind_coordinate(const mjModel* m, int section, int links, char axis,
                             const std::vector<double>& shares, double sign);
  void bind_contacts(const mjModel* m);
  [[nodiscard]] BaseJoint bind_base(const mjModel* m, const char* name) const;
  [[nodiscard]] int require(const mjModel* m, mjtObj type, const std::string& name) const;
  /// The setpoint nearest to `desired` for which the servo stays inside its force range at the
  /// measured joint position and velocity. A saturated servo is integrated without its own damping
  /// and then swings from limit to limit.
  [[nodiscard]] static double unsaturated(const mjModel* m, int actuator, double desired,
                                          double position, double velocity) noexcept;
  [[nodiscard]] static ServoGains gains(const mjModel* m, int actuator,
                                        double joint_damping) noexcept;
  // plugin_state: the controller's memory, then what the instance itself must remember; from
  // kCommand on the last commanded q.
  enum OwnSlot : std::size_t { kFault, kFeedSetpoint, kCommand };
  [[nodiscard]] static std::size_t own_size(const ContinuumRobot& robot) noexcept {
    return kCommand + static_cast<std::size_t>(robot.coordinate_count());
  }
  [[nodiscard]] std::size_t memory_size() const noexcept {
    return next_state_.size() - own_size(*robot_);
  }
  [[nodiscard]] std::span<const double> memory(const mjData* d) const noexcept {
    return {d->plugin_state + state_address_, memory_size()};
  }
  [[nodiscard]] double own(const mjData* d, std::size_t slot) const noexcept {
    return d->plugin_state[static_cast<std::size_t>(state_address_) + memory_size() + slot];
  }
  [[nodiscard]] std::span<double> next_memory() noexcept {
    return {next_state_.data(), memory_size()};
  }
  [[nodiscard]] double& next_own(std::size_t slot) noexcept {
    return next_state_[memory_size() + slot];
  }
  /// What comes next is what is now, until something changes it.
  void keep_state(const mjData* d) noexcept;
  void measure(const mjModel* m, const mjData* d) noexcept;
  void write_controls(const mjModel* m, mjData* d) noexcept;

  [[nodiscard]] static Quantity quantity_of(std::string_view name) noexcept;

  std::string prefix_;
  std::unique_ptr<ContinuumRobot> robot_;
  std::unique_ptr<Controller> controller_;
  int instance_, state_address_;
  int base_body_ = -1, tip_site_ = -1, target_mocap_ = -1;
  bool gravity_compensation_ = true, velocity_feed_forward_ = true;
  std::optional<SceneObstacles> obstacles_;  // where the controller asks for them
  std::vector<Coordinate> coordinates_;
  BaseJoint feed_, spin_;
  double guide_length_ = 0.0;
  std::optional<ContactResponse> contacts_;  // if the controller senses them
  std::vector<Sensor> sensors_;

  bool fault_told_ = false;  // only saves repeated warnings

  // Scratch of the last compute.
  ArmMeasurement measurement_;
  ArmCommand command_;
  ControllerReport report_;
  std::vector<double> next_state_;
  std::vector<double> joint_gravity_;  // per joint of the model [N m] or [N]
  Eigen::VectorXd load_;               // per coordinate: gravity load, share-weighted mean
};

}  // namespace tendril
