#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "controllers/servo.hpp"
#include "plugin/scene_obstacles.hpp"
#include "tendril/robot_file/robot_description.hpp"

namespace tendril {

/// What a binding is made for: an instance of a controller plugin in a model.
struct InstanceContext {
  const mjModel* model;
  int instance;
  const ControllerKind& kind;
  const RobotDescription& robot;
  const Settings& settings;
  std::string prefix;  ///< "A_" of the robot's elements

  /// Index of an element that the robot must have, by its name without the prefix. ModelError.
  [[nodiscard]] int require(mjtObj type, const std::string& name) const;
  /// Index of the mocap body that the setting `target` names; -1: the controller needs none.
  /// ModelError.
  [[nodiscard]] int target_mocap() const;
};

/// Whether the controller has a setting of this name.
[[nodiscard]] bool has_setting(const InstanceContext& context, std::string_view name);

/// One robot of one model: how it is measured, and how its servos are written. What the kinds of
/// robots have in common is in Instance. It keeps the numbers of the model with which it was made
/// (masses, servos, gravity); the joints' state comes from mjData.
class RobotBinding {
 public:
  virtual ~RobotBinding() = default;

  [[nodiscard]] virtual const Controller& controller() const noexcept = 0;
  /// Takes the controller out: for the next instance of the same configuration.
  [[nodiscard]] virtual std::unique_ptr<Controller> release_controller() noexcept = 0;
  /// What the binding itself remembers between steps.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Actuators that it drives.
  [[nodiscard]] std::span<const int> actuators() const noexcept { return actuators_; }

  /// Returns false when the state is not finite: the simulation has diverged.
  [[nodiscard]] virtual bool measure(const mjModel* m, const mjData* d,
                                     std::span<const double> own) noexcept = 0;
  /// Calls the controller with the measurement. Throws what it throws.
  virtual void update(std::span<const double> memory, std::span<double> next_memory,
                      ControllerReport& report) = 0;
  [[nodiscard]] virtual bool command_is_finite() const noexcept = 0;
  /// The servos' setpoints, one for each actuator; what of them must be remembered goes to
  /// `next_own`.
  virtual void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept = 0;
  /// The controller failed: no command counts any more.
  virtual void forget_command() noexcept = 0;

  /// Values of the common quantities behind the status, one after the other.
  virtual void common_values(const ControllerReport& report, double* out) const noexcept = 0;
  virtual void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
                    mjvScene* scene) const = 0;
  /// `source` is of the same configuration.
  virtual void copy_scratch(const RobotBinding& source) noexcept = 0;

 protected:
  MemoryLayout layout_;
  std::vector<int> actuators_;
};

/// The controller of an instance before it is bound to anything: its memory's size can be asked for
/// while the model is compiled.
[[nodiscard]] std::unique_ptr<Controller> make_controller(const InstanceContext& context);

/// Binds the robot, with `controller` as made by `make_controller`. Throws ModelError naming what of
/// the model is missing or wrong.
[[nodiscard]] std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                                       std::unique_ptr<Controller> controller);
/// Numbers that the binding of this robot remembers itself.
[[nodiscard]] int own_memory_size(const RobotDescription& robot);
/// Of the quantities `command` and `measured`.
[[nodiscard]] int coordinate_count(const RobotDescription& robot);

// ---- what bindings share

using ConstVector3 = Eigen::Map<const Eigen::Vector3d>;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

/// The servo of an actuator; `passive_damping`: of what it acts on.
[[nodiscard]] Servo servo_of(const mjModel* m, int actuator, double passive_damping);
/// Gravity as the robot's setpoints compensate it: zero if they do not, or the model has none.
/// Throws ModelError when it is not finite.
[[nodiscard]] Eigen::Vector3d compensated_gravity(const mjModel* m, bool compensation);

void draw_sphere(mjvScene* scene, const Eigen::Vector3d& p, double radius, const float colour[4]);
void draw_line(mjvScene* scene, std::span<const Eigen::Vector3d> points, double radius,
               const float colour[4]);

}  // namespace tendril
