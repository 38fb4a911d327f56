#include "simulation/scene/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <pugixml.hpp>
#include <regex>
#include <set>
#include <utility>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/measurement_faults.hpp"
#include "plugin/controller_plugin.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/engine/model_settings.hpp"
#include "simulation/scene/default_visuals.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model/plausibility.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 4096;
constexpr int kUsualTextSize = 1 << 17;

/// Files in memory that the engine reads instead of files on disk.
class VirtualFiles {
 public:
  VirtualFiles() { mj_defaultVFS(&vfs_); }
  ~VirtualFiles() { mj_deleteVFS(&vfs_); }
  VirtualFiles(const VirtualFiles&) = delete;
  VirtualFiles& operator=(const VirtualFiles&) = delete;

  /// In place of a file of that name, if there is one.
  void set(const std::string& name, const std::string& text) {
    (void)mj_deleteFileVFS(&vfs_, name.c_str());
    if (mj_addBufferVFS(&vfs_, name.c_str(), text.data(), static_cast<int>(text.size())) != 0) {
      throw ModelError(fmt::format("{}: could not be handed to the engine", name));
    }
  }
  [[nodiscard]] const mjVFS* get() const noexcept { return &vfs_; }

 private:
  mjVFS vfs_;
};

// ---- scene files -----------------------------------------------------------------------------

/// One element of an XML text: name, attributes and place.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::ptrdiff_t offset = 0;  ///< in the text [bytes]
};

/// The elements of an XML text in order. In case of a syntax error, the elements before it; the
/// error is reported by the engine's parser.
std::vector<Element> scan_elements(const std::string& xml) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size());
  pugi::xpath_node_set found = document.select_nodes("//*");
  found.sort();
  std::vector<Element> elements;
  for (const pugi::xpath_node& entry : found) {
    Element element{entry.node().name(), {}, entry.node().offset_debug()};
    for (const pugi::xml_attribute& attribute : entry.node().attributes())
      element.attributes[attribute.name()] = attribute.value();
    elements.push_back(std::move(element));
  }
  return elements;
}

/// A robot or tube file that a scene attaches.
struct ModelFile {
  std::string name;  ///< as written in the scene
  fs::path path;
  ModelDescription model;
  [[nodiscard]] std::optional<RobotDescription> robot() const { return as_robot(model); }
};

/// The settings that change robot files.
std::vector<Override> robot_overrides(std::span<const Setting> settings) {
  std::vector<Override> overrides;
  for (const Setting& s : settings) {
    if (s.key.starts_with("robot.")) overrides.push_back({s.key.substr(6), s.value, s.origin});
    if (s.key.starts_with("controller.")) overrides.push_back(s);
  }
  return overrides;
}

std::string known_controllers() {
  std::string names;
  for (int i = 0; i < mjp_pluginCount(); ++i) {
    const std::string name = mjp_getPluginAtSlot(i)->name;
    if (!reported_quantities(name).empty()) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

/// Checks that the controller's plugin is loaded and knows the settings. If the plugin replaces
/// that of the file, settings of the file unknown to it are dropped.
template <class D>
void check_controller(D& robot, const std::string& file, std::span<const Override> overrides) {
  const ControllerConfig& controller = robot.controller;
  if (controller.plugin.empty()) return;
  const auto is_loaded = [](std::string_view plugin) {
    return mjp_getPlugin(std::string(plugin).c_str(), nullptr) != nullptr;
  };
  if (const std::string_view now = present_name(controller.plugin, is_loaded);
      !is_loaded(controller.plugin) && !now.empty())
    throw ModelError(fmt::format("{}: controller.plugin = {}", controller.origin,
                                 renamed_text(controller.plugin, now)));
  if (!is_loaded(controller.plugin)) {
    throw ModelError(
        fmt::format("{}: controller.plugin = {}: must be a loaded plugin: {}; --plugin FILE.so or "
                    "--python FILE.py loads "
                    "a library with others",
                    controller.origin, controller.plugin, known_controllers()));
  }
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
    throw ModelError(fmt::format("{}: controller: unknown key '{}', {} has: {}", setting.origin,
                                 setting.key, controller.plugin, joined(words)));
  }
}

/// Reads a robot or tube file with the overrides of robots.
ModelFile read_model_file(std::string name, fs::path path, std::span<const Override> overrides) {
  const std::string text = read_text_file(path);
  const std::string shown = path.string();
  ModelFile file{std::move(name), std::move(path), parse_model(text, shown, {})};
  if (std::holds_alternative<TubeDescription>(file.model)) return file;
  if (!overrides.empty()) file.model = parse_model(text, shown, overrides);
  std::visit(
      [&]<class D>(D& description) {
        if constexpr (!std::is_same_v<D, TubeDescription>)
          check_controller(description, shown, overrides);
      },
      file.model);
  return file;
}

/// The MJCF described by a file, with a sensor for every quantity reported by its controller.
std::string mjcf_of(const ModelFile& file) {
  std::vector<std::string> sensors;
  if (const auto robot = file.robot()) sensors = sensor_names(controller_of(*robot).plugin);
  return model_mjcf(file.model, sensors);
}

/// The continuum arm of a file: the robot, or what a platform carries. Null if there is none.
ContinuumDescription* continuum_arm(ModelDescription& model) {
  if (auto* const arm = std::get_if<ContinuumDescription>(&model)) return arm;
  auto* const mobile = std::get_if<MobileDescription>(&model);
  return mobile != nullptr && mobile->mounted ? &mobile->mounted->robot : nullptr;
}

/// Hands the engine the texts that have been read, so that it does not read the files again.
void set_files(const ModelFile& file, VirtualFiles& files) {
  files.set(file.path.string(), mjcf_of(file));
  const auto* const mobile = std::get_if<MobileDescription>(&file.model);
  if (mobile == nullptr || !mobile->mounted) return;
  const MountedArm& arm = *mobile->mounted;
  files.set(arm.file, model_mjcf(arm.robot, sensor_names(arm.robot.controller.plugin)));
}

/// Makes the arms for the numerical damping of these options. Returns whether that changes any.
bool set_numerical_damping(const mjOption& scene, std::vector<ModelFile>& models) {
  const double time = scene.integrator == mjINT_DISCRETE ? scene.timestep : 0.0;
  bool changed = false;
  for (ModelFile& file : models) {
    ContinuumDescription* const arm = continuum_arm(file.model);
    if (arm == nullptr || arm->numerical_damping_time == time) continue;
    arm->numerical_damping_time = time;
    changed = true;
  }
  return changed;
}

const std::string& text_of(const RobotDescription& robot) {
  return std::visit([](const auto& d) -> const std::string& { return d.text; }, robot);
}

std::ptrdiff_t line_of(const Element& element, const std::string& xml) {
  const auto offset = std::clamp<std::ptrdiff_t>(element.offset, 0, std::ssize(xml));
  return 1 + std::count(xml.begin(), xml.begin() + offset, '\n');
}

/// Refuses a file that is named by an element of the scene and missing.
void require_file(const fs::path& file, const fs::path& scene, const std::string& xml,
                  const Element& element) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) return;
  throw ModelError(fmt::format("{}:{}: {}: file = {}: No such file or directory", scene.string(),
                               line_of(element, xml), element.name, file.string()));
}

/// Stores the scene file and its includes in `sources`, and the TOML models that it attaches in
/// `models`.
void read_scene_files(const std::string& name, const fs::path& folder,
                      std::span<const Override> overrides,
                      std::map<std::string, std::string>& sources, std::vector<ModelFile>& models) {
  if (sources.contains(name)) return;
  const std::string xml = read_text_file(folder / name);
  sources[name] = xml;
  for (const Element& element : scan_elements(xml)) {
    const auto file = element.attributes.find("file");
    if (file == element.attributes.end()) continue;
    if (element.name == "include") {
      require_file(folder / file->second, folder / name, xml, element);
      read_scene_files(file->second, folder, overrides, sources, models);
    }
    if (element.name == "model" && file->second.ends_with(".toml") &&
        !sources.contains(file->second)) {
      require_file(folder / file->second, folder / name, xml, element);
      models.push_back(read_model_file(file->second, folder / file->second, overrides));
      const auto robot = models.back().robot();
      sources[file->second] = robot ? text_of(*robot) : read_text_file(folder / file->second);
    }
  }
}

/// Refuses devices and pipes among the files that the engine reads itself (meshes, textures,
/// models): it would wait for them for ever.
class EngineFiles {
 public:
  /// @param folder  that the names in the file are relative to
  void check(const fs::path& file, const fs::path& folder) {
    if (!seen_.insert(file).second) return;
    const std::string xml = read_text_file(file);
    const std::vector<Element> elements = scan_elements(xml);
    for (const Element& element : elements) {
      for (const char* const key : {"assetdir", "meshdir", "texturedir"}) {
        const auto directory = element.attributes.find(key);
        if (directory != element.attributes.end()) directories_.insert(directory->second);
      }
    }
    for (const Element& element : elements) {
      for (const auto& [key, name] : element.attributes) {
        if (!key.starts_with("file")) continue;  // file, fileright, filename...
        for (const fs::path& directory : directories_) {
          const fs::path path = folder / directory / name;
          std::error_code ignored;
          const fs::file_status status = fs::status(path, ignored);
          if (!fs::exists(status) || fs::is_directory(status)) continue;
          if (!fs::is_regular_file(status)) {
            throw ModelError(fmt::format(
                "{}:{}: {}: {} = {}: is a device or a pipe: must be a readable file", file.string(),
                line_of(element, xml), element.name, key, path.string()));
          }
          if (element.name == "include") check(path, folder);
          if (element.name == "model" && path.extension() != ".toml")
            check(path, path.parent_path());
        }
      }
    }
  }

 private:
  std::set<fs::path> seen_, directories_{""};
};

// ---- options of the scene required by robots ---------------------------------------------------

/// Ten times the steps that the robots' contacts and servos are made for [s].
constexpr double kLongestTimestep = 0.02;

/// Below this ratio of frictional to normal impedance, contacts slip slowly under loads that
/// friction would hold.
constexpr double kFrictionImpedance = 10.0;

void check_options(const mjOption& scene, const ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices) {
  const auto robot = file.robot();
  if (!robot) return;
  const EngineNeeds needs = engine_needs(*robot);
  const auto notice = [&](const std::string& what, const std::string& required) {
    notices.push_back(
        fmt::format("{}: option {}: {} needs {}; add <compiler conflict=\"merge\"/> to the scene, "
                    "or the option itself",
                    scene_name, what, file.name, required));
  };
  if (scene.integrator != mjINT_IMPLICITFAST && scene.integrator != mjINT_DISCRETE) {
    notice(fmt::format("integrator = {}", integrator_name(scene.integrator)),
           "discrete or implicitfast");
  }
  if (scene.cone == mjCONE_PYRAMIDAL) notice("cone = pyramidal", "elliptic");
  if (scene.impratio < kFrictionImpedance) {
    notice(fmt::format("impratio = {:.3g}", scene.impratio),
           fmt::format("{:g}, or what friction holds creeps", kFrictionImpedance));
  }
  if (scene.iterations < needs.iterations) {
    notice(fmt::format("iterations = {}", scene.iterations),
           fmt::format("at least {}", needs.iterations));
  }
  if (needs.flat_contacts && (scene.disableflags & mjDSBL_MULTICCD) != 0)
    notice("flag multiccd = disable", "enable, or flat faces touch in one point and tilt off");
  if (const auto& medium = needs.medium) {
    const auto& [x, y, z] = medium->current;
    if (scene.density != medium->density || scene.viscosity != medium->viscosity)
      notice(fmt::format("density = {:.6g}, viscosity = {:.6g}", scene.density, scene.viscosity),
             fmt::format("{:.6g} and {:.6g}, its medium's", medium->density, medium->viscosity));
    if (scene.wind[0] != x || scene.wind[1] != y || scene.wind[2] != z)
      notice(
          fmt::format("wind = {:.6g} {:.6g} {:.6g}", scene.wind[0], scene.wind[1], scene.wind[2]),
          fmt::format("{:.6g} {:.6g} {:.6g}, its medium's current", x, y, z));
  }
  if (scene.timestep > kLongestTimestep) {
    notices.push_back(
        fmt::format("{}: option timestep = {:.6g} s: {} needs at most {} s, better 0.002 s",
                    scene_name, scene.timestep, file.name, kLongestTimestep));
  }
}

/// Sections that `discrete` damps more than their files say.
void check_damping(ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices) {
  const ContinuumDescription* const arm = continuum_arm(file.model);
  if (arm == nullptr) return;
  for (std::size_t i = 0; i < arm->physics.size(); ++i) {
    const double time = arm->physics[i].damping_time;
    if (time >= arm->numerical_damping_time) continue;
    notices.push_back(fmt::format(
        "{}: option timestep = {:.6g} s: {}: section {}: damping_time = {:.6g} s is {:.6g} s with "
        "integrator discrete, which damps by a timestep: take a shorter one, or implicitfast",
        scene_name, arm->numerical_damping_time, file.name, i + 1, time,
        arm->numerical_damping_time));
  }
}

constexpr double kStandardGravity = 9.81;  // [m/s^2]

void check_plausible(const ModelFile& file, double gravity, std::vector<std::string>& notices) {
  for (const std::string& doubt : plausibility(file.model, gravity))
    notices.push_back(fmt::format("{}: {}", file.path.string(), doubt));
}

/// Name of the body that a controller follows if its settings name none; empty: none.
std::string default_target(std::string_view plugin) {
  for (const ControllerKind& kind : built_in_controllers()) {
    if (kind.name != plugin) continue;
    for (const SettingInfo& setting : kind.settings)
      if (setting.name == std::string_view("target")) return setting.default_value;
  }
  return {};
}

// ---- a lone robot ------------------------------------------------------------------------------

constexpr double kTargetSize = 0.025;  // radius of a target relative to the robot's reach

/// Adds the mocap body named as target by the controller, unless it exists.
void add_target(mjSpec& spec, const ControllerConfig& controller, const double (&position)[3],
                double radius) {
  const std::string* const target = controller.find("target");
  if (target == nullptr || mjs_findBody(&spec, target->c_str()) != nullptr) return;
  mjsBody* const body = mjs_addBody(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(body->element, target->c_str());
  body->mocap = 1;
  std::copy_n(position, 3, body->pos);
  mjsGeom* const sphere = mjs_addGeom(body, nullptr);
  sphere->type = mjGEOM_SPHERE;
  sphere->size[0] = radius;
  sphere->contype = sphere->conaffinity = 0;
  const float color[4] = {0.9f, 0.3f, 0.2f, 0.5f};
  std::copy_n(color, 4, sphere->rgba);
}

/// Where the tip of an arm is whose sections are all bent by a quarter of their limit.
Eigen::Vector3d gently_bent_tip(const ContinuumRobot& robot) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i].theta =
        0.25 * robot.section(static_cast<int>(i)).bend_angle_limit_at(states[i].extension);
  return tip_pose(robot, states).translation();
}

/// A target that can be reached, for an arm at the world's origin.
void add_default_environment(mjSpec& spec, const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  const double reach = kinematics.max_length() + robot.base.feed_limit;
  const Eigen::Vector3d tip = gently_bent_tip(kinematics);
  add_target(spec, robot.controller, {tip.x(), tip.y(), tip.z()}, kTargetSize * reach);
}

void add_floor(mjSpec& spec, const char* name) {
  mjsGeom* const floor = mjs_addGeom(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(floor->element, name);
  floor->type = mjGEOM_PLANE;
  floor->size[0] = floor->size[1] = 0.0;  // without end
  floor->size[2] = 1.0;
}

/// Target and, for a free snake, the floor.
void add_default_environment(mjSpec& spec, const SnakeDescription& snake) {
  const double length =
      std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), snake.feed_limit);
  add_target(spec, snake.controller, {2.0 * length, length, 0.0}, kTargetSize * length);
  if (snake.base != SnakeBase::Free && !snake.scales) return;
  add_floor(spec, snake.scales ? snake.scales->floor.c_str() : "floor");
}

/// Target and floor for a mobile robot.
void add_default_environment(mjSpec& spec, const MobileDescription& robot) {
  const double arm = robot.mounted ? rest_length(robot.mounted->robot) : robot.kinematics().reach();
  const double reach = arm + robot.parameters.platform_length;
  add_target(spec, robot.controller, {2.0 * reach, 0.0, 2.0 * robot.parameters.platform_height},
             kTargetSize * reach);
  add_floor(spec, "floor");
}

void add_default_environment(mjSpec& /*spec*/, const TubeDescription& /*tube*/) {}

// ---- engine ------------------------------------------------------------------------------------

ModelPtr compiled(mjSpec& spec, const VirtualFiles& files, const std::string& name) {
  ModelPtr model(mj_compile(&spec, files.get()));
  if (!model) throw ModelError(fmt::format("{}: {}", name, one_line(mjs_getError(&spec))));
  return model;
}

// ---- faults
// --------------------------------------------------------------------------------------

/// Sets the timestep before the model is compiled: the memory of faults depends on it.
void set_timestep(mjSpec& spec, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (setting.key != "option.timestep") continue;
    const auto value = resolved(setting, {&spec.option.timestep, 1}).value.numbers();
    if (value && value->size() == 1 && value->front() > 0.0) spec.option.timestep = value->front();
  }
}

/// The engine's own delay of controls.
void delay_actuators(mjSpec& spec, std::span<const Fault> faults) {
  for (const Fault& fault : faults) {
    if (fault.kind != FaultKind::ActuatorDelay) continue;
    bool found = false;
    for (mjsElement* element = mjs_firstElement(&spec, mjOBJ_ACTUATOR); element != nullptr;
         element = mjs_nextElement(&spec, element)) {
      const std::string actuator = mjs_getString(mjs_getName(element));
      if (!fault.is_of_robot(actuator) || !matches(fault.actuator, actuator)) continue;
      found = true;
      const double steps = std::round(fault.time / spec.option.timestep);
      if (steps == 0.0) continue;
      mjsActuator* const delayed = mjs_asActuator(element);
      delayed->delay = steps * spec.option.timestep;
      delayed->nsample = static_cast<int>(steps) + 1;
    }
    if (!found) {
      throw ModelError(fmt::format("{}: fault {}: actuator = {}: the scene has no such actuator",
                                   fault.origin, fault.name, fault.actuator));
    }
  }
}

bool measures(const RobotDescription& robot, FaultChannel channel) {
  struct CoordinateQuery {
    FaultChannel channel;
    bool operator()(const ContinuumDescription& d) const {
      return has_channel(ArmMeasurement(1, static_cast<int>(d.tendons.size())), channel);
    }
    bool operator()(const SnakeDescription&) const {
      return has_channel(SnakeMeasurement(1), channel);
    }
    bool operator()(const MobileDescription& d) const {
      return has_channel(MobileMeasurement(d.mounted ? 0 : 1), channel);
    }
  };
  return std::visit(CoordinateQuery{channel}, robot);
}

/// Refuses a fault of a measurement that no controller makes.
void require_controllers(const mjModel& model, std::span<const Fault> faults) {
  for (const Fault& fault : faults) {
    if (!is_of_measurement(fault.kind)) continue;
    bool found = false;
    std::string robots;
    for (const ControllerInstance& controller : controllers_of(model)) {
      robots += fmt::format("{}\"{}\"", robots.empty() ? "" : ", ", controller.prefix);
      if (fault.robot && *fault.robot != controller.prefix) continue;
      found = found || measures(controller.robot(), fault.channel);
    }
    if (found) continue;
    throw ModelError(fmt::format(
        "{}: fault {}: channel = {}{}: no controller of the scene measures it; robots: {}",
        fault.origin, fault.name, fault_channel_name(fault.channel),
        fault.robot ? fmt::format(", robot = \"{}\"", *fault.robot) : "",
        robots.empty() ? "none" : robots));
  }
}

}  // namespace

std::string ControllerInstance::config(const char* key) const {
  const char* const text = mj_getPluginConfig(&model, plugin, key);
  return text != nullptr ? text : "";
}

RobotDescription ControllerInstance::robot() const {
  return parse_robot(config("robot"), "robot", {},
                     [this](const std::string&) { return config("arm"); });
}

std::string ControllerInstance::plugin_name() const {
  const mjpPlugin* const registered = mjp_getPluginAtSlot(model.plugin[plugin]);
  return registered != nullptr ? registered->name : "";
}

std::string ControllerInstance::target() const {
  std::string name = config("target");
  return name.empty() ? default_target(plugin_name()) : name;
}

std::vector<ControllerInstance> controllers_of(const mjModel& model) {
  std::vector<ControllerInstance> all;
  for (int i = 0; i < model.nplugin; ++i) {
    const char* const name = mj_id2name(&model, mjOBJ_PLUGIN, i);
    const std::string_view instance = name != nullptr ? name : "";
    const auto prefix = instance.ends_with(names::kController)  // as in the plugin
                            ? instance.substr(0, instance.size() - std::strlen(names::kController))
                            : std::string_view();
    ControllerInstance one{model, i, std::string(prefix)};
    if (!one.config("robot").empty()) all.push_back(std::move(one));
  }
  return all;
}

std::vector<std::string> drivers_of(const mjModel& model) {
  std::vector<std::string> drivers(static_cast<std::size_t>(model.nactuator));
  for (const ControllerInstance& controller : controllers_of(model)) {
    const RobotDescription robot = controller.robot();
    const std::string& prefix = controller.prefix;
    for (int i = 0; i < model.nactuator; ++i) {
      const std::string name = object_name(model, mjOBJ_ACTUATOR, i);
      if (!name.starts_with(prefix) ||
          !is_driven(robot, std::string_view(name).substr(prefix.size())))
        continue;
      drivers[static_cast<std::size_t>(i)] = fmt::format(
          "{}{}", controller.plugin_name(), prefix.empty() ? "" : fmt::format(" of {}", prefix));
    }
  }
  return drivers;
}

ModelText model_file_mjcf(const fs::path& file) {
  load_engine();
  const ModelFile model = read_model_file(file.filename().string(), file, {});
  ModelText text{mjcf_of(model), {}};
  check_plausible(model, kStandardGravity, text.notices);
  return text;
}

std::vector<std::string> distant_targets(const mjModel& model, const mjData& data) {
  std::vector<std::string> lines;
  for (const ControllerInstance& controller : controllers_of(model)) {
    const std::string target = controller.target();
    if (target.empty()) continue;
    const RobotDescription robot = controller.robot();
    const auto* const arm = std::get_if<ContinuumDescription>(&robot);
    const std::string& prefix = controller.prefix;
    const int base = mj_name2id(&model, mjOBJ_BODY, (prefix + names::kBase).c_str());
    const int goal = mj_name2id(&model, mjOBJ_BODY, target.c_str());
    if (arm == nullptr || base < 0 || goal < 0 || model.body_weldid[base] != 0) continue;
    const double distance = mju_dist3(data.xpos + 3 * base, data.xpos + 3 * goal);
    const double reach = arm->kinematics().max_length() + arm->base.feed_limit;
    if (distance > reach) {
      lines.push_back(fmt::format("target {} is {:.3g} m from {}{}: the arm reaches {:.3g} m",
                                  target, distance, prefix, names::kBase, reach));
    }
  }
  return lines;
}

namespace {

/// "scene.xml:3: mismatched element: worldbody" of what the XML parser says; other errors as they
/// are.
std::string parse_error(const std::string& scene, const char* text) {
  static const std::regex form(
      R"(XML_ERROR_(\w+) .*Line number=(\d+)(?:: (?:XMLElement name=)?(\S.*))?)");
  const std::string line = one_line(text);
  std::smatch found;
  if (!std::regex_search(line, found, form)) return fmt::format("{}: {}", scene, line);
  std::string what = found[1].str();
  for (char& c : what) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return fmt::format("{}:{}: {}{}", scene, found[2].str(), what,
                     found[3].matched ? ": " + found[3].str() : "");
}

}  // namespace

Scene load_scene(const fs::path& file, std::span<const Setting> all_settings,
                 std::span<const Fault> faults, std::uint64_t seed) {
  load_engine();
  std::vector<Setting> settings(all_settings.begin(), all_settings.end());
  if (std::string text = measurement_faults_text(faults, seed); !text.empty()) {
    const auto first = std::find_if(faults.begin(), faults.end(),
                                    [](const Fault& f) { return is_of_measurement(f.kind); });
    settings.push_back({"controller.measurement_faults", {std::move(text)}, first->origin});
  }
  Scene scene;
  scene.notices = take_plugin_notices();
  const std::string name = file.string();
  const std::vector<Override> overrides = robot_overrides(settings);
  std::vector<ModelFile> models;
  VirtualFiles files;
  char error[kErrorSize] = "";
  (void)take_engine_warnings();

  const bool is_lone = file.extension() == ".toml";
  if (is_lone) {
    models.push_back(read_model_file(file.filename().string(), file, overrides));
    const auto robot = models.front().robot();
    scene.source_files[models.front().name] = robot ? text_of(*robot) : read_text_file(file);
  } else {
    read_scene_files(file.filename().string(), file.parent_path(), overrides, scene.source_files,
                     models);
    const bool has_robot = std::any_of(models.begin(), models.end(),
                                       [](const ModelFile& m) { return m.robot().has_value(); });
    if (!overrides.empty() && !has_robot) {
      for (const Setting& s : settings) {
        if (s.key.starts_with("robot.") || s.key.starts_with("controller.")) {
          refuse(s, fmt::format("{} attaches no robot file", name));
        }
      }
    }
    EngineFiles().check(file, file.parent_path());
  }
  SpecPtr spec;
  const auto build = [&] {
    for (const ModelFile& model : models) set_files(model, files);
    if (is_lone) {
      const std::string mjcf = mjcf_of(models.front());
      spec.reset(mj_parseXMLString(mjcf.c_str(), files.get(), error, kErrorSize));
      if (spec) {
        spec->visual.global.azimuth = 120.0F;  // seen obliquely, from in front and a little above
        spec->visual.global.elevation = -30.0F;
        std::visit([&](const auto& d) { add_default_environment(*spec, d); }, models.front().model);
      }
    } else {
      spec.reset(mj_parseXML(name.c_str(), files.get(), error, kErrorSize));
    }
    if (!spec) throw ModelError(parse_error(name, error));
    if (!faults.empty()) {
      set_timestep(*spec, settings);
      delay_actuators(*spec, faults);
    }
    scene.model = compiled(*spec, files, name);
    if (add_default_visuals(*spec, *scene.model)) scene.model = compiled(*spec, files, name);
    apply_model_settings(settings, *scene.model);
  };
  build();
  // The scene's options are known now.
  if (set_numerical_damping(scene.model->opt, models)) {
    (void)take_engine_warnings();
    build();
  }
  const mjOption& option = scene.model->opt;
  const bool falls = (option.disableflags & mjDSBL_GRAVITY) == 0;
  for (ModelFile& model : models) {
    check_options(option, model, name, scene.notices);
    check_damping(model, name, scene.notices);
    check_plausible(model, falls ? mju_norm3(option.gravity) : 0.0, scene.notices);
  }
  require_controllers(*scene.model, faults);
  for (int i = 0; i < scene.model->nplugin; ++i) {
    const fs::path source = source_of(mjp_getPluginAtSlot(scene.model->plugin[i])->name);
    if (!source.empty())
      scene.source_files.try_emplace(source.filename().string(), read_text_file(source));
  }
  for (const std::string& warning : take_engine_warnings()) {
    // Conflicts of options with an attached robot are reported by check_options.
    if (warning.find("Attach conflict") == std::string::npos) {
      scene.notices.push_back(fmt::format("{}: {}", name, one_line(warning)));
    }
  }
  scene.spec = std::move(spec);
  return scene;
}

std::string flattened(const Scene& scene, const mjModel& model, std::vector<std::string>& notices) {
  mj_copyBack(scene.spec.get(), &model);
  char error[kErrorSize] = "";
  std::string xml(kUsualTextSize, '\0');
  const auto write = [&] {
    return mj_saveXMLString(scene.spec.get(), xml.data(), static_cast<int>(xml.size()), error,
                            kErrorSize);
  };
  int missing = write();
  if (missing > 0) {  // the length of the text
    xml.resize(static_cast<std::size_t>(missing) + 1);
    missing = write();
  }
  if (missing != 0) {
    notices.push_back(fmt::format("the flattened model could not be written: {}", one_line(error)));
    return {};
  }
  xml.resize(xml.find('\0'));
  return xml;
}

}  // namespace tendril::simulation
