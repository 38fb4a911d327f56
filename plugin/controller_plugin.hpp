#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <utility>
#include <vector>

#include "controllers/controller_kind.hpp"

namespace tendril {

/// Registers a controller kind as a MuJoCo plugin; call it from `mjPLUGIN_LIB_INIT`. Refuses (with a
/// warning) an engine whose version is not the one that this library was built for.
void register_controller_kind(const ControllerKind& kind);

/// The one registration line of a controller class `C` with `Context`, `settings()`, `kQuantities`
/// and a constructor from `Context`:
/// ```cpp
/// mjPLUGIN_LIB_INIT(my_library) { tendril::register_controller<MyController>("my.controller"); }
/// ```
template <class C>
void register_controller(const char* name, const char* meaning = "") {
  register_controller_kind(controller_kind<C>(name, meaning));
}

/// Names of the quantities that a controller plugin of any library reports, as sensors are called,
/// and their units: known to every program that has the plugin loaded. Empty for other plugins.
struct ReportedQuantity {
  std::string name, unit;
  std::string summary;             ///< see Quantity
  bool smallest_is_worst = false;  ///< see Quantity
};
[[nodiscard]] std::vector<ReportedQuantity> reported_quantities(const std::string& plugin_name);
[[nodiscard]] std::vector<std::string> sensor_names(const std::string& plugin_name);
/// Names of its settings.
[[nodiscard]] std::vector<std::string> setting_names(const std::string& plugin_name);

}  // namespace tendril
