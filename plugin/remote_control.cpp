#include "plugin/remote_control.hpp"

#include "plugin/instance_registry.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

void set_remote_control(const mjModel* m, mjData* d, const RobotNames& names,
                        RemoteControl* remote) {
  for (int i = 0; i < m->nplugin; ++i) {
    Instance* const instance = instance_registry().find(d->plugin_data[i], d, i);
    if (instance == nullptr || robot_names(m, i) != names) continue;
    if (!instance->set_remote_control(remote))
      throw ModelError("robot " + names.title() +
                       ": must be a continuum arm to be driven remotely");
    return;
  }
  throw ModelError("robot " + names.title() + ": no controller of this library drives it");
}

}  // namespace tendril
