#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "controllers/settings.hpp"

namespace tendril {

/// One plugin instance bound to one robot of one model: reads mjData, calls a controller, writes
/// the setpoints of the robot's servos. What influences the future is in `plugin_state`; the
/// object holds the binding to the model (rebuilt from it) and scratch.
class PluginInstance {
 public:
  virtual ~PluginInstance() = default;

  virtual void reset(mjtNum* plugin_state) noexcept = 0;
  /// Measures, updates, writes ctrl; leaves plugin_state alone. Throws what the controller throws,
  /// and when its command is not finite.
  virtual void compute(const mjModel* m, mjData* d) = 0;
  virtual void advance(const mjModel* m,
                       mjData* d) noexcept = 0;  ///< plugin_state becomes what compute found
  virtual void write_sensors(const mjModel* m, mjData* d) const noexcept = 0;
  virtual void visualize(const mjModel* m, mjData* d, mjvScene* scene) const = 0;
  /// `source` is an instance of the same configuration.
  virtual void copy_scratch(const PluginInstance& source) noexcept = 0;
  /// The controller failed in this step. From the next advance on, plugin_state says so: ctrl and
  /// memory stay as they are until a reset or an older state. Returns whether it is the first time.
  virtual bool set_fault(const mjData* d) noexcept = 0;
};

// What every kind of instance needs of the model.

using ConstVector3 = Eigen::Map<const Eigen::Vector3d>;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

/// The config strings of an instance: the controller's settings and `common` ones.
[[nodiscard]] Settings read_settings(const mjModel* m, int instance,
                                     std::span<const SettingInfo> settings,
                                     std::span<const char* const> common);

/// "A_" of instance "A_controller"; attaching prefixes the instance and the elements alike, but not
/// the config strings.
[[nodiscard]] std::string instance_prefix(const mjModel* m, int instance);

/// Name of a plugin sensor without the instance's prefix.
[[nodiscard]] std::string_view sensor_quantity_name(const mjModel* m, int instance, int sensor);

/// Name of the target body: as set, else the controller's default ("": it needs none).
[[nodiscard]] std::string_view target_name(const Settings& settings,
                                           std::span<const SettingInfo> infos);

/// Index of the mocap body `target` of the scene. Throws ModelError.
[[nodiscard]] int target_mocap(const mjModel* m, std::string_view target);

/// Index of an element that the instance's robot must have. Throws ModelError.
[[nodiscard]] int require_element(const mjModel* m, mjtObj type, const std::string& name);

/// Decoration.
void draw_sphere(mjvScene* scene, const Eigen::Vector3d& p, double radius, const float colour[4]);
void draw_line(mjvScene* scene, std::span<const Eigen::Vector3d> points, double radius,
               const float colour[4]);

}  // namespace tendril
