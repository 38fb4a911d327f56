#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <utility>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"

namespace tendril {

/// Registers a controller kind as a MuJoCo plugin; to be called from `mjPLUGIN_LIB_INIT`. If the
/// version of the engine differs from the one this library was built for, or the name is taken,
/// nothing is registered and a warning is given.
void register_controller_kind(const ControllerKind& kind);

/// Registers a controller class `C` with `Context`, `settings()`, `kQuantities`
/// and a constructor from `Context` in one line:
/// ```cpp
/// mjPLUGIN_LIB_INIT(my_library) { tendril::register_controller<MyController>("my.controller"); }
/// ```
template <class C>
void register_controller(const char* name, const char* meaning = "") {
  register_controller_kind(controller_kind<C>(name, meaning));
}

/// Tells whether a plugin of this name, of any library, is registered.
[[nodiscard]] bool is_plugin(const std::string& name) noexcept;

/// A quantity reported by a controller plugin of any loaded library: name as in sensors, and unit.
struct ReportedQuantity {
  std::string name, unit;
  std::string summary;             ///< see Quantity
  bool smallest_is_worst = false;  ///< see Quantity
};
/// The quantities that a controller plugin reports; empty for other plugins.
[[nodiscard]] std::vector<ReportedQuantity> reported_quantities(const std::string& plugin_name);
/// Names of these quantities.
[[nodiscard]] std::vector<std::string> sensor_names(const std::string& plugin_name);
/// File of a controller's code, which recordings keep; empty: none.
[[nodiscard]] std::string source_of(const std::string& plugin_name);
/// Names of the settings of a controller plugin.
[[nodiscard]] std::vector<std::string> setting_names(const std::string& plugin_name);

}  // namespace tendril
