#include "plugin/controller_plugin.hpp"

#include <deque>
#include <exception>
#include <mutex>
#include <string_view>

#include "plugin/engine_version.hpp"
#include "plugin/instance.hpp"
#include "plugin/instance_registry.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

static_assert(sizeof(mjtNum) == sizeof(double),
              "Tendril needs an engine built with double precision");

/// The kinds registered by this library; their addresses are stable.
class Kinds {
 public:
  const ControllerKind& add(const ControllerKind& kind) {
    const std::lock_guard lock(mutex_);
    return kinds_.emplace_back(kind);
  }
  const ControllerKind* find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    for (const ControllerKind& kind : kinds_)
      if (kind.name == name) return &kind;
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::deque<ControllerKind> kinds_;
};

Kinds& kinds() {
  static Kinds all;
  return all;
}

const char* plugin_name(const mjModel* m, int instance) noexcept {
  const mjpPlugin* plugin = mjp_getPluginAtSlot(m->plugin[instance]);
  return plugin ? plugin->name : "?";
}

/// Throws std::runtime_error for an instance of a plugin not registered by this library.
const ControllerKind& kind_of(const mjModel* m, int instance) {
  const char* const name = plugin_name(m, instance);
  if (const ControllerKind* kind = kinds().find(name)) return *kind;
  throw std::runtime_error(std::string(name) + ": not a controller of this library");
}

void warn(const mjModel* m, int instance, const char* what) noexcept {
  const char* name = mj_id2name(m, mjOBJ_PLUGIN, instance);
  mju_warning("%s, instance '%s': %s", plugin_name(m, instance), name ? name : "", what);
}

/// Makes the instance of `d` and writes its number to plugin_data; 0 if it cannot be made, which is
/// told.
bool make(const mjModel* m, mjData* d, int instance) noexcept {
  d->plugin_data[instance] = 0;
  try {
    auto made = std::make_unique<Instance>(m, instance, kind_of(m, instance));
    d->plugin_data[instance] = instance_registry().add(m, d, instance, std::move(made));
  } catch (const std::exception& error) {
    warn(m, instance, error.what());
  } catch (...) {
    warn(m, instance, "unknown error");
  }
  return d->plugin_data[instance] != 0;
}

/// The instance of an mjData whose plugin_data is not of this mjData; made if there is none.
Instance* rebound(const mjModel* m, mjData* d, int instance) noexcept {
  d->plugin_data[instance] = instance_registry().number_of(d, instance);
  if (d->plugin_data[instance] == 0 && !make(m, d, instance)) return nullptr;
  Instance* const self = instance_registry().find(d->plugin_data[instance], d, instance);
  self->resume(d);
  return self;
}

/// The instance of `d`; null: it could not be made.
Instance* bound(const mjModel* m, mjData* d, int instance) noexcept {
  const uintptr_t number = d->plugin_data[instance];
  if (number == 0) return nullptr;
  Instance* const self = instance_registry().find(number, d, instance);
  return self != nullptr ? self : rebound(m, d, instance);
}

void warn_of_lost_servo(const mjModel* m, int instance, int actuator) noexcept {
  const char* name = mj_id2name(m, mjOBJ_PLUGIN, instance);
  const char* servo = mj_id2name(m, mjOBJ_ACTUATOR, actuator);
  mju_warning(
      "%s, instance '%s': servo %s is lost: it is disabled, or its gain, force range or "
      "setpoint is of no use; the others work on",
      plugin_name(m, instance), name ? name : "", servo ? servo : "?");
}

/// Runs the body of a callback; no exception reaches C code. A fault is reported once and latched:
/// the robot's servos keep their last setpoints.
template <class Body>
void guarded(const mjModel* m, mjData* d, int instance, const Body& body) noexcept {
  Instance* self = bound(m, d, instance);
  if (!self) return;
  const StandardArithmetic standard;
  try {
    body(*self);
  } catch (const std::exception& error) {
    if (self->set_fault(d)) warn(m, instance, error.what());
  } catch (...) {
    if (self->set_fault(d)) warn(m, instance, "unknown error");
  }
}

int plugin_nstate(const mjModel* m, int instance) noexcept {
  const StandardArithmetic standard;
  try {
    return Instance::state_size(m, instance, kind_of(m, instance));
  } catch (...) {
    return 0;  // init refuses the same configuration and reports the reason
  }
}

int plugin_nsensordata(const mjModel* m, int instance, int sensor) noexcept {
  try {
    return Instance::sensor_dimension(m, instance, sensor, kind_of(m, instance));
  } catch (...) {
    return 1;
  }
}

int plugin_init(const mjModel* m, mjData* d, int instance) noexcept {
  const StandardArithmetic standard;
  return make(m, d, instance) ? 0 : -1;
}

void plugin_destroy(mjData* d, int instance) noexcept {
  instance_registry().remove(d, instance).reset();
  d->plugin_data[instance] = 0;
}

void plugin_copy(mjData* dest, const mjModel* m, const mjData* src, int instance) noexcept {
  Instance* const to = bound(m, dest, instance);
  const Instance* const from = instance_registry().find(src->plugin_data[instance], src, instance);
  if (to && from)
    to->copy_scratch(*from);
  else if (to)
    to->resume(dest);
}

void plugin_reset(const mjModel* m, mjtNum* plugin_state, void* plugin_data,
                  int instance) noexcept {
  const auto number = reinterpret_cast<uintptr_t>(plugin_data);
  if (number == 0) return;
  if (Instance* const self = instance_registry().find(number, plugin_state)) {
    self->reset(plugin_state);
    return;
  }
  try {  // of an mjData that is not known here
    Instance(m, instance, kind_of(m, instance)).reset(plugin_state);
  } catch (const std::exception& error) {
    warn(m, instance, error.what());
  }
}

void plugin_compute(const mjModel* m, mjData* d, int instance, int capability) noexcept {
  guarded(m, d, instance, [&](Instance& self) {
    if (capability == mjPLUGIN_PASSIVE) {
      self.compute(m, d);
      if (const int servo = self.newly_lost_servo(); servo >= 0)
        warn_of_lost_servo(m, instance, servo);
    }
    if (capability == mjPLUGIN_SENSOR) self.write_sensors(m, d);
  });
}

void plugin_advance(const mjModel* m, mjData* d, int instance) noexcept {
  guarded(m, d, instance, [&](Instance& self) { self.advance(m, d); });
}

void plugin_visualize(const mjModel* m, mjData* d, const mjvOption*, mjvScene* scene,
                      int instance) noexcept {
  guarded(m, d, instance, [&](Instance& self) { self.visualize(d, scene); });
}

// The reported quantities are listed among the attributes of a plugin, so that every library in the
// process can read them: "reports|tip_error|m|end max|largest".
constexpr std::string_view kReports = "reports|";
// So is the file of its code: "source|my_ctrl.py".
constexpr std::string_view kSource = "source|";

std::string report_text(const Quantity& q) {
  return std::string(kReports) + q.name + "|" + q.unit + "|" + (q.width == 1 ? q.summary : "") +
         "|" + (q.smallest_is_worst ? "smallest" : "largest");
}

}  // namespace

void register_controller_kind(const ControllerKind& kind) {
  if (!engine_version_matches()) return;
  if (is_plugin(kind.name)) {
    mju_warning(
        "tendril: %s: another library has registered a plugin of this name; that one is used",
        kind.name.c_str());
    return;
  }
  const ControllerKind& kept = kinds().add(kind);

  std::vector<std::string> attributes;
  for (const SettingInfo& setting : joined({kept.settings, kept.make.common_settings()}))
    attributes.emplace_back(setting.name);
  for (const Quantity& quantity : all_quantities(kept)) attributes.push_back(report_text(quantity));
  if (!kept.source.empty()) attributes.push_back(std::string(kSource) + kept.source);
  std::vector<const char*> texts;
  for (const std::string& attribute : attributes) texts.push_back(attribute.c_str());

  mjpPlugin plugin;
  mjp_defaultPlugin(&plugin);
  plugin.name = kept.name.c_str();
  plugin.nattribute = static_cast<int>(texts.size());
  plugin.attributes = texts.data();
  plugin.capabilityflags = mjPLUGIN_PASSIVE | mjPLUGIN_SENSOR;
  // Sensors report values that the controller computed earlier in the same step, in the stage of
  // passive forces. A later sensor stage would make the engine compute accelerations and forces of
  // all bodies.
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

bool is_plugin(const std::string& name) noexcept {
  return mjp_getPlugin(name.c_str(), nullptr) != nullptr;
}

std::vector<ReportedQuantity> reported_quantities(const std::string& name) {
  std::vector<ReportedQuantity> all;
  const mjpPlugin* const plugin = mjp_getPlugin(name.c_str(), nullptr);
  for (int i = 0; plugin && i < plugin->nattribute; ++i) {
    std::string_view text = plugin->attributes[i];
    if (!text.starts_with(kReports)) continue;
    text.remove_prefix(kReports.size());
    std::string parts[4];
    for (std::string& part : parts) {
      const std::size_t bar = text.find('|');
      part = text.substr(0, bar);
      text.remove_prefix(bar == text.npos ? text.size() : bar + 1);
    }
    all.push_back({parts[0], parts[1], parts[2], parts[3] == "smallest"});
  }
  return all;
}

std::vector<std::string> sensor_names(const std::string& name) {
  std::vector<std::string> names;
  for (const ReportedQuantity& quantity : reported_quantities(name)) names.push_back(quantity.name);
  return names;
}

std::string source_of(const std::string& name) {
  const mjpPlugin* const plugin = mjp_getPlugin(name.c_str(), nullptr);
  for (int i = 0; plugin && i < plugin->nattribute; ++i) {
    if (const std::string_view text = plugin->attributes[i]; text.starts_with(kSource))
      return std::string(text.substr(kSource.size()));
  }
  return {};
}

std::vector<std::string> setting_names(const std::string& name) {
  std::vector<std::string> names;
  const mjpPlugin* const plugin = mjp_getPlugin(name.c_str(), nullptr);
  for (int i = 0; plugin && i < plugin->nattribute; ++i) {
    const std::string_view text = plugin->attributes[i];
    if (!text.starts_with(kReports) && !text.starts_with(kSource)) names.emplace_back(text);
  }
  return names;
}

}  // namespace tendril
