#include "simulation/scene/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "plugin/controller_plugin.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> known_controllers() {
  std::vector<std::string_view> names;
  for (int i = 0; i < mjp_pluginCount(); ++i) {
    const char* const name = mjp_getPluginAtSlot(i)->name;
    if (!reported_quantities(name).empty()) names.emplace_back(name);
  }
  return names;
}

void require_plugin(const ControllerConfig& controller) {
  const auto is_loaded = [](std::string_view plugin) {
    return mjp_getPlugin(std::string(plugin).c_str(), nullptr) != nullptr;
  };
  if (is_loaded(controller.plugin)) return;
  if (const std::string_view now = present_name(controller.plugin, is_loaded); !now.empty())
    throw ModelError(fmt::format("{}: controller.plugin = {}", controller.origin,
                                 renamed_text(controller.plugin, now)));
  const std::vector<std::string_view> known = known_controllers();
  throw ModelError(fmt::format(
      "{}: controller.plugin = {}{}: must be a loaded plugin: {}; --plugin FILE.so or --python "
      "FILE.py loads a library with others",
      controller.origin, controller.plugin, meant_text(controller.plugin, known), joined(known)));
}

/// Checks that the controller's plugin is loaded and knows the settings. If the plugin replaces
/// that of the file, settings of the file unknown to it are dropped.
template <class D>
void check_controller(D& robot, const std::string& file, std::span<const Override> overrides) {
  const ControllerConfig& controller = robot.controller;
  if (controller.plugin.empty()) return;
  require_plugin(controller);
  const std::vector<std::string> known = setting_names(controller.plugin);
  const auto is_known = [&](std::string_view key) {
    return std::find(known.begin(), known.end(), key) != known.end();
  };
  const bool is_replaced = std::any_of(overrides.begin(), overrides.end(), [](const Override& o) {
    return o.key == "controller.plugin";
  });
  if (is_replaced) {
    std::vector<std::string> unknown;
    for (const ControllerConfig::Setting& setting : controller.settings) {
      if (!is_known(setting.key) && setting.origin.starts_with(file + ":"))
        unknown.push_back(setting.key);
    }
    if (!unknown.empty()) erase_controller_settings(robot, unknown);
  }
  for (const ControllerConfig::Setting& setting : controller.settings) {
    if (is_known(setting.key)) continue;
    if (const std::string_view now = present_name(setting.key, is_known); !now.empty())
      throw ModelError(
          fmt::format("{}: controller: {}", setting.origin, renamed_text(setting.key, now)));
    std::vector<std::string_view> words(known.begin(), known.end());
    throw ModelError(fmt::format("{}: controller: unknown key '{}'{}, {} has: {}", setting.origin,
                                 setting.key, meant_text(setting.key, words), controller.plugin,
                                 joined(words)));
  }
}

}  // namespace

std::string ModelFile::mjcf() const {
  std::vector<std::string> sensors;
  if (const auto described = robot()) sensors = sensor_names(controller_of(*described).plugin);
  return model_mjcf(model, sensors);
}

std::string ModelFile::text() const {
  return std::visit(
      [&]<class D>(const D& description) {
        if constexpr (RobotKind<D>)
          return description.text;
        else
          return read_text_file(path);
      },
      model);
}

ContinuumDescription* ModelFile::arm() {
  if (auto* const description = std::get_if<ContinuumDescription>(&model)) return description;
  auto* const mobile = std::get_if<MobileDescription>(&model);
  return mobile != nullptr && mobile->mounted ? &mobile->mounted->robot : nullptr;
}

bool ModelFile::names_files() const {
  const auto* const mobile = std::get_if<MobileDescription>(&model);
  return mobile != nullptr && mobile->mounted.has_value();
}

void ModelFile::erase_controllers() {
  std::visit(
      []<class D>(D& description) {
        if constexpr (RobotKind<D>) description.controller = {};
      },
      model);
  if (ContinuumDescription* const carried = arm()) carried->controller = {};
}

ModelFile read_model_file(std::string name, fs::path path, std::span<const Override> overrides) {
  const std::string text = read_text_file(path);
  const std::string shown = path.string();
  ModelFile file{std::move(name), std::move(path), parse_model(text, shown, {})};
  if (!file.robot()) return file;
  if (!overrides.empty()) file.model = parse_model(text, shown, overrides);
  std::visit(
      [&]<class D>(D& description) {
        if constexpr (RobotKind<D>) check_controller(description, shown, overrides);
      },
      file.model);
  return file;
}

void set_files(const ModelFile& file, VirtualFiles& files) {
  files.set(file.engine_path.string(), file.mjcf());
  const auto* const mobile = std::get_if<MobileDescription>(&file.model);
  if (mobile == nullptr || !mobile->mounted) return;
  const MountedArm& arm = *mobile->mounted;
  files.set(arm.file, model_mjcf(arm.robot, sensor_names(arm.robot.controller.plugin)));
}

void set_sensor_seed(std::uint64_t seed, std::vector<ModelFile>& models) {
  static constexpr const char* kSetting = "sensor_seed";
  static constexpr std::uint64_t kLargest = std::numeric_limits<int>::max();
  const auto set = [&](auto& robot) {
    if (robot.sensors.empty()) return;
    std::vector<ControllerConfig::Setting>& settings = robot.controller.settings;
    std::erase_if(settings, [](const auto& setting) { return setting.key == kSetting; });
    settings.push_back({kSetting, fmt::format("{}", seed & kLargest), {}});
  };
  for (ModelFile& file : models) {
    std::visit(
        [&]<class D>(D& description) {
          if constexpr (RobotKind<D>) set(description);
        },
        file.model);
    if (file.names_files()) set(*file.arm());
  }
}

void require_sampled(const std::vector<ModelFile>& models, double timestep) {
  for (const ModelFile& file : models) {
    if (const auto robot = file.robot()) require_sampled(sensors_of(*robot), timestep);
    const auto* const mobile = std::get_if<MobileDescription>(&file.model);
    if (mobile != nullptr && mobile->mounted)
      require_sampled(mobile->mounted->robot.sensors, timestep);
  }
}

void set_integrator(ContinuumDescription& arm, Integrator integrator) {
  arm.integrator = integrator;
  arm.numerical_damping_time = integrator == Integrator::Discrete ? arm.timestep : 0.0;
}

bool set_integration(const mjOption& option, std::vector<ModelFile>& models) {
  const bool is_discrete = option.integrator == mjINT_DISCRETE;
  const double damping_time = is_discrete ? option.timestep : 0.0;
  bool changed = false;
  for (ModelFile& file : models) {
    ContinuumDescription* const arm = file.arm();
    if (arm == nullptr) continue;
    const auto before = std::tuple(arm->integrator, arm->timestep, arm->numerical_damping_time);
    arm->integrator =
        option.integrator == mjINT_IMPLICITFAST ? Integrator::ImplicitFast : Integrator::Discrete;
    arm->timestep = option.timestep;
    arm->numerical_damping_time = damping_time;
    changed |= before != std::tuple(arm->integrator, arm->timestep, arm->numerical_damping_time);
  }
  return changed;
}

}  // namespace tendril::simulation
