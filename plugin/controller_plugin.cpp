#include "plugin/controller_plugin.hpp"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "plugin/arm_instance.hpp"
#include "plugin/mobile_instance.hpp"
#include "plugin/snake_instance.hpp"

namespace tendril {
namespace {

static_assert(sizeof(mjtNum) == sizeof(double),
              "Tendril needs an engine built with double precision");

/// A registered kind, whatever robot it is for.
class Kind {
 public:
  explicit Kind(const char* name) : name_(name) {}
  virtual ~Kind() = default;
  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] virtual int state_size(const mjModel* m, int instance) const = 0;
  [[nodiscard]] virtual int sensor_dimension(const mjModel* m, int instance, int sensor) const = 0;
  [[nodiscard]] virtual std::unique_ptr<PluginInstance> make(const mjModel* m,
                                                             int instance) const = 0;

 private:
  const char* name_;
};

template <class Instance, class C>
class KindOf final : public Kind {
 public:
  explicit KindOf(const C& kind) : Kind(kind.name), kind_(kind) {}
  [[nodiscard]] int state_size(const mjModel* m, int instance) const override {
    return Instance::state_size(m, instance, kind_);
  }
  [[nodiscard]] int sensor_dimension(const mjModel* m, int instance, int sensor) const override {
    return Instance::sensor_dimension(m, instance, sensor, kind_);
  }
  [[nodiscard]] std::unique_ptr<PluginInstance> make(const mjModel* m,
                                                     int instance) const override {
    return std::make_unique<Instance>(m, instance, kind_);
  }

 private:
  const C& kind_;
};

std::vector<std::unique_ptr<Kind>>& kinds() {
  static std::vector<std::unique_ptr<Kind>> all;
  return all;
}

const Kind* kind_of(const mjModel* m, int instance) {
  const mjpPlugin* plugin = mjp_getPluginAtSlot(m->plugin[instance]);
  for (const auto& kind : kinds()) {
    if (plugin && std::strcmp(kind->name(), plugin->name) == 0) return kind.get();
  }
  return nullptr;
}

PluginInstance* bound(void* data) { return static_cast<PluginInstance*>(data); }
PluginInstance* bound(const mjData* d, int instance) {
  return reinterpret_cast<PluginInstance*>(d->plugin_data[instance]);
}

void warn(const mjModel* m, int instance, const char* what) noexcept {
  const mjpPlugin* plugin = mjp_getPluginAtSlot(m->plugin[instance]);
  const char* name = mj_id2name(m, mjOBJ_PLUGIN, instance);
  mju_warning("%s, instance '%s': %s", plugin ? plugin->name : "?", name ? name : "", what);
}

/// Runs a callback's body; nothing escapes to C. A fault is told once and latched: the robot's
/// servos keep their last setpoints.
template <class Body>
void guarded(const mjModel* m, mjData* d, int instance, const Body& body) noexcept {
  PluginInstance* self = bound(d, instance);
  if (!self) return;
  try {
    body(*self);
  } catch (const std::exception& error) {
    if (self->set_fault(d)) warn(m, instance, error.what());
  } catch (...) {
    if (self->set_fault(d)) warn(m, instance, "unknown error");
  }
}

int plugin_nstate(const mjModel* m, int instance) noexcept {
  try {
    return kind_of(m, instance)->state_size(m, instance);
  } catch (...) {
    return 0;  // init refuses the same configuration, and can say why
  }
}

int plugin_nsensordata(const mjModel* m, int instance, int sensor) noexcept {
  try {
    return kind_of(m, instance)->sensor_dimension(m, instance, sensor);
  } catch (...) {
    return 1;
  }
}

int plugin_init(const mjModel* m, mjData* d, int instance) noexcept {
  d->plugin_data[instance] = 0;
  try {
    d->plugin_data[instance] =
        reinterpret_cast<uintptr_t>(kind_of(m, instance)->make(m, instance).release());
    return 0;
  } catch (const std::exception& error) {
    warn(m, instance, error.what());
  } catch (...) {
    warn(m, instance, "unknown error");
  }
  return -1;
}

void plugin_destroy(mjData* d, int instance) noexcept {
  delete bound(d, instance);
  d->plugin_data[instance] = 0;
}

void plugin_copy(mjData* dest, const mjModel*, const mjData* src, int instance) noexcept {
  bound(dest, instance)->copy_scratch(*bound(src, instance));
}

void plugin_reset(const mjModel*, mjtNum* plugin_state, void* plugin_data, int) noexcept {
  if (plugin_data) bound(plugin_data)->reset(plugin_state);
}

void plugin_compute(const mjModel* m, mjData* d, int instance, int capability) noexcept {
  guarded(m, d, instance, [&](PluginInstance& self) {
    if (capability == mjPLUGIN_PASSIVE) self.compute(m, d);
    if (capability == mjPLUGIN_SENSOR) self.write_sensors(m, d);
  });
}

void plugin_advance(const mjModel* m, mjData* d, int instance) noexcept {
  guarded(m, d, instance, [&](PluginInstance& self) { self.advance(m, d); });
}

void plugin_visualize(const mjModel* m, mjData* d, const mjvOption*, mjvScene* scene,
                      int instance) noexcept {
  guarded(m, d, instance, [&](PluginInstance& self) { self.visualize(m, d, scene); });
}

bool engine_is_right() {
  if (mj_version() == mjVERSION_HEADER) return true;
  const char* reason =
      mj_version() == 4000000
          ? "; 4.0.0 computes wrong accelerations with its sparse Newton solver, 4.0.1 is right"
          : "";
  mju_warning("tendril: built for MuJoCo %d, this program runs MuJoCo %d: plugins not registered%s",
              mjVERSION_HEADER, mj_version(), reason);
  return false;
}

template <class Instance, class C>
void register_kind(const C& kind, std::span<const char* const> common) {
  if (!engine_is_right()) return;
  kinds().push_back(std::make_unique<KindOf<Instance, C>>(kind));

  std::vector<const char*> attributes(common.begin(), common.end());
  for (const SettingInfo& setting : kind.settings) attributes.push_back(setting.name);

  mjpPlugin plugin;
  mjp_defaultPlugin(&plugin);
  plugin.name = kind.name;
  plugin.nattribute = static_cast<int>(attributes.size());
  plugin.attributes = attributes.data();
  plugin.capabilityflags = mjPLUGIN_PASSIVE | mjPLUGIN_SENSOR;
  // Sensors report what the controller found earlier in the same step, among the passive forces. A
  // later stage would cost the engine's pass for accelerations and forces of all bodies.
  plugin.needstage = mjSTAGE_VEL;
  plugin.nstate = plugin_nstate;
  plugin.nsensordata = plugin_nsensordata;
  plugin.init = plugin_init;
  plugin.destroy = plugin_destroy;
  plugin.copy = plugin_copy;
  plugin.reset = plugin_reset;
  plugin.compute = plugin_compute;
  plugin.advance = plugin_advance;
  plugin.visualize = plugin_visualize;
  mjp_registerPlugin(&plugin);
}

}  // namespace

void register_controller_kind(const ControllerKind& kind) {
  register_kind<ArmInstance>(kind, kCommonArmSettings);
}

void register_controller_kind(const SnakeControllerKind& kind) {
  register_kind<SnakeInstance>(kind, kCommonSnakeSettings);
}

void register_controller_kind(const MobileControllerKind& kind) {
  register_kind<MobileInstance>(kind, kCommonMobileSettings);
}

}  // namespace tendril
