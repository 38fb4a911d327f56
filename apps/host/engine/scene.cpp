#include "apps/host/engine/scene.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <optional>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "apps/host/engine/engine_log.hpp"
#include "apps/host/experiment/experiment.hpp"
#include "tendril/model_error.hpp"
#include "tendril/robot_file/mobile_file.hpp"
#include "tendril/robot_file/model_file.hpp"
#include "tendril/robot_file/robot_file.hpp"
#include "tendril/robot_file/snake_file.hpp"

namespace tendril::host {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 4096;
constexpr double kLargestTimestep = 1.0;  // s

struct SpecDeleter {
  void operator()(mjSpec* spec) const noexcept { mj_deleteSpec(spec); }
};
using SpecPtr = std::unique_ptr<mjSpec, SpecDeleter>;

/// Files in memory that the engine reads instead of those on disk.
class VirtualFiles {
 public:
  VirtualFiles() { mj_defaultVFS(&vfs_); }
  ~VirtualFiles() { mj_deleteVFS(&vfs_); }
  VirtualFiles(const VirtualFiles&) = delete;
  VirtualFiles& operator=(const VirtualFiles&) = delete;

  void add(const std::string& name, const std::string& text) {
    if (mj_addBufferVFS(&vfs_, name.c_str(), text.data(), static_cast<int>(text.size())) != 0) {
      throw ModelError(fmt::format("{}: could not be handed to the engine", name));
    }
  }
  [[nodiscard]] const mjVFS* get() const noexcept { return &vfs_; }

 private:
  mjVFS vfs_;
};

/// The lines of a text joined by "; ", without lines that repeat the one before.
/// The engine's message without what only its programmers need: `Error: engine error: plugin->init
/// failed for plugin id 0`.
std::string_view plain(std::string_view line) {
  for (const std::string_view prefix : {"Error: ", "engine error: "}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  }
  return line.starts_with("plugin->init failed") ? std::string_view{} : line;
}

std::string one_line(const std::string& text) {
  std::string joined, before;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view words = plain(line);
    if (words.empty() || words == before) continue;
    joined += (joined.empty() ? "" : "; ") + std::string(words);
    before = words;
  }
  return joined;
}

// ---- scene files -----------------------------------------------------------------------------

/// One element of an XML text: name and attributes.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
};

/// The elements of an XML text in order. Lenient: those before a mistake are there, and the
/// engine's own parser reports it.
std::vector<Element> scan_elements(const std::string& xml) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size());
  pugi::xpath_node_set found = document.select_nodes("//*");
  found.sort();
  std::vector<Element> elements;
  for (const pugi::xpath_node& entry : found) {
    Element element{entry.node().name(), {}};
    for (const pugi::xml_attribute& attribute : entry.node().attributes())
      element.attributes[attribute.name()] = attribute.value();
    elements.push_back(std::move(element));
  }
  return elements;
}

/// A robot or tube file that a scene attaches.
struct ModelFile {
  std::string name;  ///< as the scene writes it
  fs::path path;
  std::string kind;
  std::string text;  ///< with overrides
};

std::string kind_of(const std::string& toml) {
  try {
    return toml::parse(toml)["kind"].value_or(std::string());
  } catch (const toml::parse_error&) {
    return {};
  }
}

std::vector<RobotOverride> robot_overrides(std::span<const Setting> settings) {
  std::vector<RobotOverride> overrides;
  for (const Setting& s : settings) {
    if (s.key.starts_with("robot.")) overrides.push_back({s.key.substr(6), s.value});
    if (s.key.starts_with("controller.")) overrides.push_back({s.key, s.value});
  }
  return overrides;
}

std::string known_controllers() {
  std::string names;
  for (int i = 0; i < mjp_pluginCount(); ++i) {
    const std::string name = mjp_getPluginAtSlot(i)->name;
    if (name.starts_with("tendril.")) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

/// Drops the settings of a robot file's controller that the plugin which replaces it does not know.
std::string without_foreign_settings(const std::string& text, const mjpPlugin& plugin) {
  toml::table robot = toml::parse(text);
  if (toml::table* const controller = robot["controller"].as_table()) {
    const char* const* const known = plugin.attributes;
    for (auto it = controller->begin(); it != controller->end();) {
      const std::string key(it->first.str());
      const bool keep = key == "plugin" || std::find(known, known + plugin.nattribute, key) !=
                                               known + plugin.nattribute;
      it = keep ? std::next(it) : controller->erase(it);
    }
  }
  std::ostringstream out;
  out << robot;
  return out.str();
}

/// Reads a robot or tube file, applies the overrides to a robot, and parses it, so that an error
/// names file and line.
ModelFile read_model_file(std::string name, fs::path path,
                          std::span<const RobotOverride> overrides) {
  ModelFile file{std::move(name), std::move(path), {}, {}};
  file.text = read_text_file(file.path);
  file.kind = kind_of(file.text);
  const std::string shown = file.path.string();
  (void)model_controller(file.text, shown);
  if (file.kind == "tube") return file;
  for (const RobotOverride& change : overrides) {
    if (change.key != "controller.plugin") continue;
    const std::string plugin_name = setting_word({.key = change.key, .value = change.value});
    if (const mjpPlugin* plugin = mjp_getPlugin(plugin_name.c_str(), nullptr)) {
      file.text = without_foreign_settings(file.text, *plugin);
    }
  }
  if (!overrides.empty()) file.text = model_with_overrides(file.text, overrides, shown);
  const std::string controller = model_controller(file.text, shown).plugin;
  if (!controller.empty() && mjp_getPlugin(controller.c_str(), nullptr) == nullptr) {
    throw ModelError(fmt::format("{}: controller.plugin: {}: must be a loaded plugin: {}", shown,
                                 controller, known_controllers()));
  }
  return file;
}

/// The scene file and what it includes go to `sources`, the TOML models that it attaches to
/// `models`.
void read_scene_files(const std::string& name, const fs::path& folder,
                      std::span<const RobotOverride> overrides,
                      std::map<std::string, std::string>& sources, std::vector<ModelFile>& models) {
  if (sources.contains(name)) return;
  const std::string xml = read_text_file(folder / name);
  sources[name] = xml;
  for (const Element& element : scan_elements(xml)) {
    const auto file = element.attributes.find("file");
    if (file == element.attributes.end()) continue;
    if (element.name == "include")
      read_scene_files(file->second, folder, overrides, sources, models);
    if (element.name == "model" && file->second.ends_with(".toml") &&
        !sources.contains(file->second)) {
      models.push_back(read_model_file(file->second, folder / file->second, overrides));
      sources[file->second] = models.back().text;
    }
  }
}

// ---- what robots need of the scene's options ---------------------------------------------------

const char* integrator_name(int integrator) {
  constexpr const char* kNames[] = {"Euler", "RK4", "implicit", "implicitfast", "discrete"};
  return integrator >= 0 && integrator < 5 ? kNames[integrator] : "unknown";
}

/// Options of the MJCF that a robot stands for.
std::optional<mjOption> needed_options(const ModelFile& file) {
  if (file.kind == "tube") return std::nullopt;
  const std::string mjcf = model_file_mjcf(file.text, file.path.string());
  char error[kErrorSize] = "";
  const SpecPtr spec(mj_parseXMLString(mjcf.c_str(), nullptr, error, kErrorSize));
  if (!spec) throw ModelError(fmt::format("{}: {}", file.path.string(), one_line(error)));
  return spec->option;
}

void check_options(const mjOption& scene, const ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices) {
  const std::optional<mjOption> desired = needed_options(file);
  if (!desired) return;
  const auto notice = [&](const std::string& what, const std::string& needs) {
    notices.push_back(
        fmt::format("{}: option {}: {} needs {}; add <compiler conflict=\"merge\"/> to the scene, "
                    "or the option itself",
                    scene_name, what, file.name, needs));
  };
  const auto good = [](int i) { return i == mjINT_IMPLICITFAST || i == mjINT_DISCRETE; };
  if (!good(scene.integrator) && good(desired->integrator)) {
    notice(fmt::format("integrator = {}", integrator_name(scene.integrator)),
           "discrete or implicitfast");
  }
  if (scene.cone == mjCONE_PYRAMIDAL && desired->cone == mjCONE_ELLIPTIC) {
    notice("cone = pyramidal", "elliptic");
  }
  if (scene.iterations < desired->iterations) {
    notice(fmt::format("iterations = {}", scene.iterations),
           fmt::format("at least {}", desired->iterations));
  }
}

// ---- a lone robot ------------------------------------------------------------------------------

/// Light and camera for what reaches this far from the world's origin.
void light_up(mjSpec& spec, double reach) {
  mjsBody* const world = mjs_findBody(&spec, "world");
  mjsLight* const light = mjs_addLight(world, nullptr);
  const double light_position[3] = {0.5 * reach, -reach, 2.0 * reach + 1.0};
  const double light_direction[3] = {-0.2, 0.4, -1.0};
  std::copy_n(light_position, 3, light->pos);
  std::copy_n(light_direction, 3, light->dir);
  mjsCamera* const camera = mjs_addCamera(world, nullptr);
  mjs_setName(camera->element, "overview");
  const double camera_position[3] = {0.0, -2.5 * reach, 0.5 * reach};
  const double along_x[4] = {M_SQRT1_2, M_SQRT1_2, 0.0, 0.0};  // looks along +y, z up
  std::copy_n(camera_position, 3, camera->pos);
  std::copy_n(along_x, 4, camera->quat);
  spec.visual.global.offwidth = 1920;
  spec.visual.global.offheight = 1080;
}

/// The mocap body that the controller names as its target, unless there is one.
void add_target(mjSpec& spec, const ControllerConfig& controller, const double (&position)[3]) {
  for (const auto& [key, target] : controller.settings) {
    if (key != "target" || mjs_findBody(&spec, target.c_str()) != nullptr) continue;
    mjsBody* const body = mjs_addBody(mjs_findBody(&spec, "world"), nullptr);
    mjs_setName(body->element, target.c_str());
    body->mocap = 1;
    std::copy_n(position, 3, body->pos);
    mjsGeom* const sphere = mjs_addGeom(body, nullptr);
    sphere->type = mjGEOM_SPHERE;
    sphere->size[0] = 0.02;
    sphere->contype = sphere->conaffinity = 0;
    const float colour[4] = {0.9f, 0.3f, 0.2f, 0.5f};
    std::copy_n(colour, 4, sphere->rgba);
  }
}

/// Light, camera and target round an arm that stands at the world's origin.
void furnish(mjSpec& spec, const RobotDescription& robot) {
  light_up(spec, robot.kinematics().max_length() + robot.base.feed_limit);
  double length = 0.0;
  for (const SectionParameters& section : robot.sections) {
    length += section.length + 0.5 * section.variable_length;
  }
  add_target(spec, robot.controller, {0.1 * length, 0.0, 0.95 * length});
}

void add_floor(mjSpec& spec, const char* name, double half_size) {
  mjsGeom* const floor = mjs_addGeom(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(floor->element, name);
  floor->type = mjGEOM_PLANE;
  floor->size[0] = floor->size[1] = half_size;
  floor->size[2] = 0.01;
  const float colour[4] = {0.8f, 0.82f, 0.85f, 1.0f};
  std::copy_n(colour, 4, floor->rgba);
}

/// Light, camera, target and, for a free snake, the floor that it lies on.
void furnish(mjSpec& spec, const SnakeDescription& snake) {
  const double length =
      std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), snake.feed_limit);
  light_up(spec, length);
  add_target(spec, snake.controller, {2.0 * length, length, 0.0});
  if (snake.base != SnakeBase::Free && !snake.scales) return;
  add_floor(spec, snake.scales ? snake.scales->floor.c_str() : "floor", 10.0 * length);
}

/// Light, camera, target and the floor that a mobile robot stands on.
void furnish(mjSpec& spec, const MobileDescription& robot) {
  constexpr double kMountedReach = 1.0;  // [m], of an arm that is described elsewhere
  const double arm = robot.mounted ? kMountedReach : robot.kinematics().reach();
  const double reach = arm + robot.parameters.platform_length;
  light_up(spec, reach);
  add_target(spec, robot.controller, {2.0 * reach, 0.0, 2.0 * robot.parameters.platform_height});
  add_floor(spec, "floor", 10.0 * reach);
}

// ---- settings of the compiled model ------------------------------------------------------------

struct NumberOption {
  const char* name;
  mjtNum mjOption::*member;
  double low, high;
  const char* allowed;
};
constexpr double kTiny = 1e-9;
constexpr NumberOption kNumberOptions[] = {
    {"timestep", &mjOption::timestep, kTiny, kLargestTimestep, "must be a time in [1e-9, 1] s"},
    {"impratio", &mjOption::impratio, kTiny, 1e9, "must be > 0"},
    {"tolerance", &mjOption::tolerance, 0.0, 1.0, "must be in [0, 1]"},
    {"ls_tolerance", &mjOption::ls_tolerance, 0.0, 1.0, "must be in [0, 1]"},
    {"density", &mjOption::density, 0.0, 1e9, "must be >= 0 kg/m^3"},
    {"viscosity", &mjOption::viscosity, 0.0, 1e9, "must be >= 0 Pa s"},
};
struct CountOption {
  const char* name;
  int mjOption::*member;
  int low;
};
constexpr CountOption kCountOptions[] = {{"iterations", &mjOption::iterations, 1},
                                         {"ls_iterations", &mjOption::ls_iterations, 1},
                                         {"noslip_iterations", &mjOption::noslip_iterations, 0},
                                         {"ccd_iterations", &mjOption::ccd_iterations, 1}};
constexpr int kMostIterations = 100000;

void apply_option(const Setting& setting, mjModel& model) {
  const std::string name = setting.key.substr(std::string("option.").size());
  for (const NumberOption& option : kNumberOptions) {
    if (name != option.name) continue;
    model.opt.*option.member = setting_number(setting, option.low, option.high, option.allowed);
    return;
  }
  for (const CountOption& option : kCountOptions) {
    if (name != option.name) continue;
    const std::string allowed =
        fmt::format("must be an integer in [{}, {}]", option.low, kMostIterations);
    const double value = setting_number(setting, option.low, kMostIterations, allowed);
    if (value != std::floor(value)) refuse(setting, allowed);
    model.opt.*option.member = static_cast<int>(value);
    return;
  }
  if (name == "gravity") {
    const auto g = setting_numbers(setting, 3, 3, "must be three finite numbers in m/s^2");
    std::copy_n(g.begin(), 3, model.opt.gravity);
    return;
  }
  const std::string word = setting_word(setting);
  if (name == "integrator") {
    for (int i = 0; i <= mjINT_DISCRETE; ++i) {
      if (word == integrator_name(i)) {
        model.opt.integrator = i;
        return;
      }
    }
    refuse(setting, "must be Euler, RK4, implicit, implicitfast or discrete");
  }
  if (name == "cone") {
    if (word != "pyramidal" && word != "elliptic") refuse(setting, "must be pyramidal or elliptic");
    model.opt.cone = word == "elliptic" ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
    return;
  }
  refuse(setting,
         "the option must be timestep, gravity, integrator, cone, iterations, ls_iterations, "
         "noslip_iterations, "
         "ccd_iterations, tolerance, ls_tolerance, impratio, density or viscosity");
}

/// Splits `body.<pattern>.<field>`.
std::pair<std::string, std::string> pattern_and_field(const Setting& setting) {
  const std::size_t first = setting.key.find('.');
  const std::size_t last = setting.key.rfind('.');
  if (last == first) {
    refuse(setting, fmt::format("must be {}.<name>.<field>", setting.key.substr(0, first)));
  }
  return {setting.key.substr(first + 1, last - first - 1), setting.key.substr(last + 1)};
}

std::vector<int> matching(const mjModel& model, mjtObj type, int count,
                          const std::string& pattern) {
  std::vector<int> found;
  for (int i = 0; i < count; ++i) {
    const char* name = mj_id2name(&model, type, i);
    if (name != nullptr && name[0] != '\0' && matches(pattern, name)) found.push_back(i);
    if (pattern == "*" && (name == nullptr || name[0] == '\0')) found.push_back(i);
  }
  return found;
}

void apply_body(const Setting& setting, mjModel& model) {
  const auto [pattern, field] = pattern_and_field(setting);
  const std::vector<int> bodies =
      matching(model, mjOBJ_BODY, static_cast<int>(model.nbody), pattern);
  if (bodies.empty()) refuse(setting, "the scene has no such body");
  if (field == "offset") {
    const auto shift = setting_numbers(setting, 3, 3, "must be three finite numbers in m");
    for (const int body : bodies) {
      if (body == 0 || (model.body_weldid[body] != 0 && model.body_mocapid[body] < 0)) {
        refuse(setting, fmt::format("body '{}' must be static or mocap, it moves by joints",
                                    mj_id2name(&model, mjOBJ_BODY, body)));
      }
      for (int k = 0; k < 3; ++k)
        model.body_pos[3 * body + k] += shift[static_cast<std::size_t>(k)];
    }
  } else if (field == "mass") {
    const double mass = setting_number(setting, kTiny, 1e9, "must be a mass > 0 kg");
    for (const int body : bodies) {
      if (!(model.body_mass[body] > 0.0)) {
        refuse(setting,
               fmt::format("body '{}' has no mass to scale", mj_id2name(&model, mjOBJ_BODY, body)));
      }
      const double scale = mass / model.body_mass[body];
      model.body_mass[body] = mass;
      for (int k = 0; k < 3; ++k) model.body_inertia[3 * body + k] *= scale;
    }
  } else {
    refuse(setting, "the field must be offset or mass");
  }
}

void apply_geom(const Setting& setting, mjModel& model) {
  const auto [pattern, field] = pattern_and_field(setting);
  if (field != "friction") refuse(setting, "the field must be friction");
  const std::vector<int> geoms =
      matching(model, mjOBJ_GEOM, static_cast<int>(model.ngeom), pattern);
  if (geoms.empty()) refuse(setting, "the scene has no such geom");
  constexpr const char* kAllowed = "must be one to three numbers >= 0: sliding, torsional, rolling";
  const auto friction = setting_numbers(setting, 1, 3, kAllowed);
  for (const double f : friction) {
    if (f < 0.0) refuse(setting, kAllowed);
  }
  for (const int geom : geoms)
    std::copy(friction.begin(), friction.end(), model.geom_friction + 3 * geom);
}

void apply_settings(std::span<const Setting> settings, mjModel& model) {
  bool constants_changed = false;
  for (const Setting& setting : settings) {
    if (setting.key.starts_with("option.")) {
      apply_option(setting, model);
    } else if (setting.key.starts_with("geom.")) {
      apply_geom(setting, model);
    } else if (setting.key.starts_with("body.")) {
      apply_body(setting, model);
      constants_changed = true;
    } else if (!setting.key.starts_with("robot.") && !setting.key.starts_with("controller.") &&
               !setting.key.starts_with("motion.")) {
      refuse(setting,
             "unknown key: must begin with robot., controller., option., body., geom. or motion.");
    }
  }
  if (constants_changed) {
    const DataPtr data = make_data(model);
    mj_setConst(&model, data.get());
  }
}

// ---- engine ------------------------------------------------------------------------------------

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
}

std::string flattened(mjSpec& spec, const mjModel& model, std::vector<std::string>& notices) {
  mj_copyBack(&spec, &model);
  char error[kErrorSize] = "";
  char probe[1] = "";
  const int size = mj_saveXMLString(&spec, probe, 1, error, kErrorSize);
  if (size <= 0) {
    notices.push_back(fmt::format("the flattened model could not be written: {}", one_line(error)));
    return {};
  }
  std::string xml(static_cast<std::size_t>(size) + 1, '\0');
  if (mj_saveXMLString(&spec, xml.data(), static_cast<int>(xml.size()), error, kErrorSize) != 0) {
    notices.push_back(fmt::format("the flattened model could not be written: {}", one_line(error)));
    return {};
  }
  xml.resize(xml.find('\0'));
  return xml;
}

ModelPtr compiled(mjSpec& spec, const VirtualFiles& files, const std::string& name) {
  ModelPtr model(mj_compile(&spec, files.get()));
  if (!model) throw ModelError(fmt::format("{}: {}", name, one_line(mjs_getError(&spec))));
  return model;
}

}  // namespace

std::vector<fs::path> plugin_candidates() {
  if (const char* named = std::getenv("TENDRIL_PLUGIN"); named != nullptr && named[0] != '\0') {
    return {named};
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> candidates{prefix / "lib" / "libtendril.so"};
  if (const fs::path installed = prefix / TENDRIL_INSTALL_LIBDIR / "libtendril.so";
      installed != candidates.front()) {
    candidates.push_back(installed);
  }
  return candidates;
}

fs::path find_plugin() {
  for (const fs::path& candidate : plugin_candidates()) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

namespace {

std::vector<fs::path>& extra_plugins() {
  static std::vector<fs::path> files;
  return files;
}

void load_plugin(const fs::path& file) {
  const std::string error = guarded([&] { mj_loadPluginLibrary(file.c_str()); });
  if (!error.empty()) throw ModelError(fmt::format("{}: {}", file.string(), one_line(error)));
}

}  // namespace

void add_plugin_library(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) {
    throw ModelError(fmt::format("--plugin: {}: must be a plugin library (.so)", file.string()));
  }
  extra_plugins().push_back(
      fs::absolute(file));  // a bare name would be searched in the library path
}

void load_engine() {
  static std::mutex mutex;
  static bool loaded = false;
  const std::lock_guard lock(mutex);
  if (loaded) return;
  const int version = mj_version();
  if (version == 4000000) {
    throw ModelError(
        "MuJoCo: version: 4.0.0: must be 4.0.1: the sparse Newton solver of 4.0.0 uses a wrong "
        "factor");
  }
  if (version != mjVERSION_HEADER) {
    throw ModelError(
        fmt::format("MuJoCo: version: {}: must be {}, which this program was built for",
                    version_text(version), version_text(mjVERSION_HEADER)));
  }
  install_engine_log();
  const fs::path plugin = find_plugin();
  if (plugin.empty()) {
    std::string places;
    for (const fs::path& p : plugin_candidates())
      places += (places.empty() ? "" : ", ") + p.string();
    throw ModelError(
        fmt::format("libtendril.so: not found in {}: set TENDRIL_PLUGIN to the file", places));
  }
  load_plugin(plugin);
  for (const fs::path& file : extra_plugins()) load_plugin(file);
  loaded = true;
}

Scene load_scene(const fs::path& file, std::span<const Setting> settings) {
  load_engine();
  Scene scene;
  const std::string name = file.string();
  const std::vector<RobotOverride> overrides = robot_overrides(settings);
  std::vector<ModelFile> models;
  VirtualFiles files;
  char error[kErrorSize] = "";
  (void)take_engine_warnings();

  SpecPtr spec;
  if (file.extension() == ".toml") {
    models.push_back(read_model_file(file.filename().string(), file, overrides));
    scene.source_files[models.front().name] = models.front().text;
    files.add(name, models.front().text);
    spec.reset(mj_parse(name.c_str(), nullptr, files.get(), error, kErrorSize));
    if (spec && models.front().kind == "snake") {
      furnish(*spec, parse_snake(models.front().text, name));
    } else if (spec && models.front().kind == "mobile") {
      furnish(*spec, parse_mobile(models.front().text, name));
    } else if (spec && models.front().kind != "tube") {
      furnish(*spec, parse_robot(models.front().text, name));
    }
  } else {
    read_scene_files(file.filename().string(), file.parent_path(), overrides, scene.source_files,
                     models);
    const bool has_robot = std::any_of(models.begin(), models.end(),
                                       [](const ModelFile& m) { return m.kind != "tube"; });
    if (!overrides.empty() && !has_robot) {
      for (const Setting& s : settings) {
        if (s.key.starts_with("robot.") || s.key.starts_with("controller.")) {
          refuse(s, fmt::format("{} attaches no robot file", name));
        }
      }
    }
    for (const ModelFile& model : models) {
      if (!overrides.empty() && model.kind != "tube") files.add(model.path.string(), model.text);
    }
    spec.reset(mj_parseXML(name.c_str(), files.get(), error, kErrorSize));
  }
  if (!spec) throw ModelError(fmt::format("{}: {}", name, one_line(error)));

  scene.model = compiled(*spec, files, name);
  apply_settings(settings, *scene.model);
  for (const ModelFile& model : models) check_options(scene.model->opt, model, name, scene.notices);
  scene.model_xml = flattened(*spec, *scene.model, scene.notices);
  for (const std::string& warning : take_engine_warnings()) {
    // Conflicts of options with an attached robot are what check_options reports in words of its
    // own.
    if (warning.find("Attach conflict") == std::string::npos) {
      scene.notices.push_back(fmt::format("{}: {}", name, one_line(warning)));
    }
  }
  return scene;
}

DataPtr make_data(const mjModel& model) {
  DataPtr data;
  const std::string error = guarded([&] { data.reset(mj_makeData(&model)); });
  if (!data) {
    throw ModelError(fmt::format("mj_makeData: {}", error.empty() ? "failed" : one_line(error)));
  }
  return data;
}

}  // namespace tendril::host
