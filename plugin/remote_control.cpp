#include "plugin/remote_control.hpp"

#include <string>

#include "plugin/instance_registry.hpp"
#include "tendril/model_error.hpp"
#include "tendril/system/library.hpp"

namespace tendril {
namespace {

/// Tells builds apart whose objects differ.
std::string build() {
  return TENDRIL_VERSION " " + std::to_string(sizeof(ArmMeasurement)) + " " +
         std::to_string(sizeof(ArmCommand)) + " " + std::to_string(sizeof(SnakeMeasurement)) + " " +
         std::to_string(sizeof(SnakeCommand)) + " " + std::to_string(sizeof(MobileMeasurement)) +
         " " + std::to_string(sizeof(MobileCommand)) + " " +
         std::to_string(sizeof(ControllerReport)) + " " +
         std::to_string(sizeof(RemoteControl::Sent)) + " " +
         std::to_string(sizeof(RemoteControl::Known));
}

/// Index of the controller of a robot; -1: none.
int controller_of(const mjModel* m, const RobotNames& names) {
  for (int i = 0; i < m->nplugin; ++i) {
    const char* const robot = mj_getPluginConfig(m, i, "robot");
    if (robot != nullptr && *robot != '\0' && robot_names(m, i) == names) return i;
  }
  return -1;
}

/// The function of the library that registered a plugin; null: it has none.
SetRemoteControl* function_of(const mjpPlugin& plugin) {
  const auto library = system::file_with(reinterpret_cast<const void*>(plugin.compute));
  return reinterpret_cast<SetRemoteControl*>(system::symbol_in_loaded(library, kSetRemoteControl));
}

}  // namespace

const char* set_own_remote_control(const char* caller, const mjModel* m, mjData* d,
                                   const char* prefix, const char* suffix,
                                   RemoteControl* remote) noexcept {
  try {
    if (build() != caller) return "its library is of another build than this program";
    const int i = controller_of(m, {prefix, suffix});
    Instance* const instance =
        i < 0 ? nullptr : instance_registry().find(instance_registry().number_of(d, i), d, i);
    if (instance == nullptr) return "no controller of this library drives it";
    return instance->set_remote_control(remote) ? nullptr
                                                : "must see its sensors to be driven remotely";
  } catch (...) {
    return "its controller cannot be found";
  }
}

void set_remote_control(const mjModel* m, mjData* d, const RobotNames& names,
                        RemoteControl* remote) {
  const int i = controller_of(m, names);
  const char* problem = "no controller drives it";
  if (i >= 0) {
    const bool is_own = instance_registry().number_of(d, i) != 0;
    const mjpPlugin* const plugin = mjp_getPluginAtSlot(m->plugin[i]);
    SetRemoteControl* const set = is_own              ? &set_own_remote_control
                                  : plugin == nullptr ? nullptr
                                                      : function_of(*plugin);
    problem = set == nullptr
                  ? "its controller is of a library that cannot be driven remotely"
                  : set(build().c_str(), m, d, names.prefix.c_str(), names.suffix.c_str(), remote);
  }
  if (problem != nullptr) throw ModelError("robot " + names.title() + ": " + problem);
}

}  // namespace tendril
