#include "simulation/engine/quantities.hpp"

#include <string>
#include <utility>

#include "controllers/controller_kind.hpp"
#include "plugin/robot_names.hpp"

namespace tendril::simulation {

std::vector<ReportedQuantity> declared_quantities() {
  std::vector<ReportedQuantity> all;
  for (const ControllerKind& kind : built_in_controllers()) {
    for (const Quantity& q : all_quantities(kind)) {
      if (q.width == 1) all.push_back({q.name, q.unit, q.summary, q.smallest_is_worst});
    }
  }
  for (int slot = 0; slot < mjp_pluginCount(); ++slot) {
    for (ReportedQuantity& quantity : reported_quantities(mjp_getPluginAtSlot(slot)->name))
      all.push_back(std::move(quantity));
  }
  return all;
}

bool shows(std::string_view sensor, std::string_view quantity) noexcept {
  if (!sensor.ends_with(quantity)) return false;
  sensor.remove_suffix(quantity.size());
  return sensor.empty() || sensor.ends_with('_');
}

std::optional<ReportedQuantity> quantity_of(const mjModel& model, int sensor,
                                            std::span<const ReportedQuantity> declared) {
  const char* const name = mj_id2name(&model, mjOBJ_SENSOR, sensor);
  if (name == nullptr) return std::nullopt;
  std::vector<ReportedQuantity> own;
  if (const int instance = model.sensor_plugin[sensor]; instance >= 0) {
    own = reported_quantities(mjp_getPluginAtSlot(model.plugin[instance])->name);
    declared = own;
    const std::string shown = shown_quantity(&model, sensor).value_or("");
    for (const ReportedQuantity& quantity : own)
      if (quantity.name == shown) return quantity;
  }
  const ReportedQuantity* longest = nullptr;
  for (const ReportedQuantity& quantity : declared) {
    if (shows(name, quantity.name) &&
        (longest == nullptr || quantity.name.size() > longest->name.size()))
      longest = &quantity;
  }
  return longest == nullptr ? std::nullopt : std::optional(*longest);
}

}  // namespace tendril::simulation
