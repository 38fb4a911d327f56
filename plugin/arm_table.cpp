#include "plugin/arm_table.hpp"

#include <algorithm>

#include "controllers/controller_kind.hpp"
#include "plugin/instance.hpp"

namespace tendril {

std::vector<ArmTable> arm_tables(const mjModel* m) {
  std::vector<ArmTable> arms;
  for (int i = 0; i < m->nplugin; ++i) {
    const mjpPlugin* const plugin = mjp_getPluginAtSlot(m->plugin[i]);
    const auto& kinds = built_in_controllers();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const ControllerKind& one) {
      return plugin != nullptr && one.name == plugin->name;
    });
    if (kind == kinds.end()) continue;
    const Instance instance(m, i, *kind);
    if (const auto* arm = dynamic_cast<const ArmBinding*>(&instance.binding()))
      arms.push_back(
          {robot_names(m, i).prefix, kind->name, Instance::settings(m, i, *kind), arm->parts()});
  }
  return arms;
}

}  // namespace tendril
