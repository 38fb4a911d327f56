#include "plugin/controlled_robot.hpp"

#include <algorithm>

#include "controllers/controller_kind.hpp"

namespace tendril {

std::vector<ControlledRobot> controlled_robots(const mjModel* m) {
  std::vector<ControlledRobot> robots;
  for (int i = 0; i < m->nplugin; ++i) {
    const mjpPlugin* const plugin = mjp_getPluginAtSlot(m->plugin[i]);
    const auto& kinds = built_in_controllers();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const ControllerKind& one) {
      return plugin != nullptr && one.name == plugin->name;
    });
    if (kind == kinds.end()) continue;
    robots.push_back({robot_names(m, i), kind->name, Instance::settings(m, i, *kind),
                      std::make_unique<const Instance>(m, i, *kind)});
  }
  return robots;
}

}  // namespace tendril
