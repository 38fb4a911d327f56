#pragma once

// Controllers in Python: what an update sees, and their registration as plugins of MuJoCo.

#include <optional>
#include <string>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "python/src/views.hpp"

namespace tendril::python {

struct PyControllerReport {
  explicit PyControllerReport(std::vector<std::string> own_names);
  /// Resets all to the defaults.
  void clear();
  void get(ControllerReport& to) const noexcept;
  /// Place of an own quantity. Throws nb::key_error.
  [[nodiscard]] double& own(const std::string& name);

  ControllerReport report;
  FixedArray target;
  std::vector<std::string> own_names;
  std::vector<double> own_values;
};

/// Context with which a controller is made: the fields of its own context, the robot, the settings,
/// and the obstacles that it asked for.
template <class Context>
struct PyContext : View<Context> {
  explicit PyContext(const Context& from) : View<Context>(from, Access::Read) {}

  nb::object robot, settings;
  std::optional<Obstacles> obstacles;
  int moving_obstacles = 0;
};

void bind_obstacles(nb::module_& module);

/// The classes above.
void bind_controller_views(nb::module_& module);
/// `register_controller`, from which tendril/controllers.py makes `tendril.controller`.
void bind_controllers(nb::module_& module);

}  // namespace tendril::python
