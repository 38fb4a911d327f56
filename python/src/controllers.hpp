#pragma once

// Controllers in Python: what an update sees, and their registration as plugins of MuJoCo.

#include <optional>
#include <string>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "python/src/views.hpp"

namespace tendril::python {

struct PyControllerReport {
  explicit PyControllerReport(std::vector<std::string> own_names);
  /// To the defaults.
  void clear();
  void get(ControllerReport& to) const noexcept;
  /// Place of an own quantity. Throws nb::key_error.
  [[nodiscard]] double& own(const std::string& name);

  ControllerReport report;
  FixedArray target;
  std::vector<std::string> own_names;
  std::vector<double> own_values;
};

/// What a controller is made with, whatever its robot.
struct PyContext {
  nb::object robot, settings;
  double timestep = 0.0;
};
struct PyArmContext : PyContext {
  double feed_force_limit, guide_length, guide_clearance, body_radius, bending_stiffness;
  std::optional<Obstacles> obstacles;
  int moving_obstacles;
  std::vector<BodySpring> springs;
  int tendon_count;
};
struct PySnakeContext : PyContext {
  double radius, feed_limit;
  bool is_free;
};
struct PyMobileContext : PyContext {
  MobileSpeedLimits limits;
  std::optional<Obstacles> obstacles;
  std::vector<BodyCapsule> capsules;
};
struct PyPlatformContext : PyContext {
  MobileSpeedLimits limits;
  double platform_length, platform_width, platform_height, arm_radius;
  std::optional<Obstacles> obstacles;
};

void bind_obstacles(nb::module_& module);

/// The classes above.
void bind_controller_views(nb::module_& module);
/// `register_controller`, from which tendril/controllers.py makes `tendril.controller`.
void bind_controllers(nb::module_& module);

}  // namespace tendril::python
