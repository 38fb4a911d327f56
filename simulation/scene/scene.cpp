#include "simulation/scene/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <utility>
#include <variant>

#include "plugin/controller_plugin.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/engine/model_settings.hpp"
#include "simulation/scene/default_environment.hpp"
#include "simulation/scene/default_visuals.hpp"
#include "simulation/scene/filled_meshes.hpp"
#include "simulation/scene/left_out_obstacles.hpp"
#include "simulation/scene/model_files.hpp"
#include "simulation/scene/robot_settings.hpp"
#include "simulation/scene/scene_checks.hpp"
#include "simulation/scene/scene_faults.hpp"
#include "simulation/scene/scene_files.hpp"
#include "simulation/scene/spec_checks.hpp"
#include "simulation/scene/switched_off.hpp"
#include "simulation/scene/virtual_files.hpp"
#include "tendril/model/file_extension.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/notice.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 4096;
constexpr int kUsualTextSize = 1 << 17;

/// What helps against an error of the engine that has these words, in this order.
struct Hint {
  const char *words, *text;
};
constexpr Hint kHints[] = {
    {"could not find body.*in model asset",
     ": a robot file has the body \"base\": <attach model=... body=\"base\" prefix=.../>"},
    {"plugin .* not found", ": the library that has it must be named by --plugin FILE"}};

std::string with_hint(std::string line) {
  for (const Hint& hint : kHints)
    if (std::regex_search(line, std::regex(hint.words))) return line + hint.text;
  return line;
}

/// "scene.xml:3: mismatched element: worldbody" of what the XML parser says; other errors as they
/// are.
std::string parse_error(const std::string& scene, const char* text) {
  static const std::regex form(
      R"(XML_ERROR_(\w+) .*Line number=(\d+)(?:: (?:XMLElement name=)?(\S.*))?)");
  const std::string line = one_line(text);
  std::smatch found;
  if (!std::regex_search(line, found, form)) return fmt::format("{}: {}", scene, with_hint(line));
  std::string what = found[1].str();
  for (char& c : what) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return fmt::format("{}:{}: {}{}", scene, found[2].str(), what,
                     found[3].matched ? ": " + found[3].str() : "");
}

/// Refuses the first setting that changes robot files.
void refuse_robot_settings(std::span<const Setting> settings, const std::string& scene) {
  for (const Setting& s : settings) {
    if (s.key.starts_with("robot.") || s.key.starts_with("controller."))
      refuse(s, fmt::format("{} attaches no robot file", scene));
  }
}

/// Parses a scene file with the robot and tube files that it attaches, or one of these alone.
SpecPtr parsed(const fs::path& file, const std::vector<ModelFile>& models, VirtualFiles& files) {
  char error[kErrorSize] = "";
  for (const ModelFile& model : models) set_files(model, files);
  SpecPtr spec;
  if (extension_of(file) == ".toml") {
    const std::string mjcf = models.front().mjcf();
    spec.reset(mj_parseXMLString(mjcf.c_str(), files.get(), error, kErrorSize));
  } else {
    spec.reset(mj_parseXML(file.string().c_str(), files.get(), error, kErrorSize));
  }
  if (!spec) throw ModelError(parse_error(file.string(), error));
  return spec;
}

/// @param file  of the scene
ModelPtr compiled(mjSpec& spec, const fs::path& file, const VirtualFiles& files) {
  ModelPtr model(mj_compile(&spec, files.get()));
  if (!model) throw ModelError(fmt::format("{}: {}", file.string(), one_line(mjs_getError(&spec))));
  return model;
}

/// MJCF of a compiled spec. Throws ModelError if the engine cannot write it.
std::string text_of(const mjSpec& spec) {
  char error[kErrorSize] = "";
  std::string xml(kUsualTextSize, '\0');
  const auto write = [&] {
    return mj_saveXMLString(&spec, xml.data(), static_cast<int>(xml.size()), error, kErrorSize);
  };
  int missing = write();
  if (missing > 0) {  // the length of the text
    xml.resize(static_cast<std::size_t>(missing) + 1);
    missing = write();
  }
  if (missing != 0) throw ModelError(one_line(error));
  xml.resize(xml.find('\0'));
  return xml;
}

/// Tells that a plain model lacks what the plugin adds to its tendons.
void add_friction_notice(ModelFile& file, std::vector<std::string>& notices) {
  const ContinuumDescription* const arm = file.arm();
  if (arm == nullptr) return;
  const auto has_friction = [](const Tendon& t) { return t.friction_coefficient > 0.0; };
  if (std::any_of(arm->tendons.begin(), arm->tendons.end(), has_friction)) {
    notices.push_back(
        notice_text("friction-left-out",
                    fmt::format("{}: friction_coefficient: tendons of the plain model have none",
                                file.path.string())));
  }
}

/// Makes a scene of its file: reads, parses, compiles and checks it.
class SceneLoader {
 public:
  SceneLoader(const fs::path& file, std::span<const Setting> settings,
              std::span<const Fault> faults, std::uint64_t seed,
              std::span<const AddedSensor> sensors)
      : file_(file),
        name_(file.string()),
        settings_(settings),
        faults_(faults),
        seed_(seed),
        sensors_(sensors) {}

  Scene load() {
    scene_.notices = take_plugin_notices();
    (void)take_engine_warnings();
    read();
    parse();
    // Its options are known now.
    const mjOption option = option_with(settings_, scene_.spec->option);
    require_sampled(models_, option.timestep);
    if (set_integration(option, models_)) {
      (void)take_engine_warnings();
      parse();
    }
    compile();
    check();
    add_sources_of_controllers();
    add_warnings();
    return std::move(scene_);
  }

 private:
  [[nodiscard]] bool is_lone() const { return extension_of(file_) == ".toml"; }

  void read() {
    if (is_lone()) {
      const RobotSettings settings(settings_, {});
      try {
        models_.push_back(read_model_file(file_.filename().string(), file_, settings.common()));
      } catch (const ModelError& error) {
        settings.rethrow(error);
      }
      scene_.source_files[models_.front().name] = models_.front().text();
    } else {
      SceneFiles files = read_scene_files(file_, settings_);
      for (const auto& [name, text] : files.engine_texts) files_.set(name, text);
      scene_.source_files = std::move(files.texts);
      models_ = std::move(files.models);
    }
    set_sensor_seed(seed_, models_);
    for (ModelFile& model : models_) {
      if (auto robot = model.robot()) robots_.push_back(std::move(*robot));
      const bool is_mobile = std::holds_alternative<MobileDescription>(model.model);
      if (is_mobile && model.arm() != nullptr) robots_.emplace_back(*model.arm());
    }
    if (is_lone()) return;
    if (robots_.empty()) refuse_robot_settings(settings_, name_);
    refuse_devices(file_);
  }

  void parse() {
    scene_.spec = parsed(file_, models_, files_);
    if (is_lone()) {
      scene_.spec->visual.global.azimuth = 120.0F;  // seen obliquely, in front and a little above
      scene_.spec->visual.global.elevation = -30.0F;
      add_default_environment(*scene_.spec, models_.front().model);
    }
    add_actuator_delays(*scene_.spec, faults_, settings_);
    for (const AddedSensor& added : sensors_) {
      mjsSensor* const sensor = mjs_addSensor(scene_.spec.get());
      mjs_setName(sensor->element, added.name.c_str());
      sensor->type = mjSENS_USER;
      sensor->datatype = mjDATATYPE_REAL;
      sensor->needstage = mjSTAGE_ACC;
      sensor->dim = added.dimension;
    }
    keyframes_ = keyframe_sizes(*scene_.spec);
  }

  void compile() {
    // Of the timestep depends how much controllers remember.
    scene_.spec->option = option_with(settings_, scene_.spec->option);
    scene_.model = compiled(*scene_.spec, file_, files_);
    if (add_default_visuals(*scene_.spec, *scene_.model))
      scene_.model = compiled(*scene_.spec, file_, files_);
    apply_model_settings(settings_, *scene_.model);
    scene_.robots = robots_of(*scene_.model, robots_);
  }

  void notice(NoticeCode code, const std::string& line) {
    scene_.notices.push_back(notice_text(code, fmt::format("{}: {}", name_, line)));
  }

  void check() {
    const mjOption& option = scene_.model->opt;
    const bool falls = (option.disableflags & mjDSBL_GRAVITY) == 0;
    for (ModelFile& model : models_) {
      check_options(option, model, name_, scene_.notices);
      check_plausible(model, falls ? mju_norm3(option.gravity) : 0.0, scene_.notices);
    }
    require_measured(scene_.robots, faults_);
    require_sensors(*scene_.model, scene_.robots, name_);
    const RobotBodies robots(*scene_.model);
    for (const std::string& line : switched_off(*scene_.model, robots))
      notice("switched-off", line);
    if (const auto contacts = missed_contacts(*scene_.model, robots))
      notice("contacts-off", *contacts);
    for (const std::string& line : filled_meshes(*scene_.model, robots))
      notice("mesh-filled", line);
    for (const std::string& line : implausible_angles(*scene_.spec))
      notice("implausible-angle", line);
    for (const std::string& line : left_out_obstacles(*scene_.model, scene_.robots))
      notice("obstacle-left-out", line);
    scene_.unlike_keyframes = unlike_keyframes(keyframes_, *scene_.model);
    for (const auto& [name, line] : scene_.unlike_keyframes) notice("keyframe-size", line);
  }

  void add_sources_of_controllers() {
    for (int i = 0; i < scene_.model->nplugin; ++i) {
      const fs::path source = source_of(mjp_getPluginAtSlot(scene_.model->plugin[i])->name);
      if (!source.empty())
        scene_.source_files.try_emplace(source.filename().string(), read_text_file(source));
    }
  }

  void add_warnings() {
    for (const std::string& warning : take_engine_warnings()) {
      // Conflicts of options with an attached robot are reported by check_options.
      if (warning.find("Attach conflict") == std::string::npos)
        notice("engine-warning", one_line(warning));
    }
  }

  const fs::path& file_;
  const std::string name_;
  std::span<const Setting> settings_;
  std::span<const Fault> faults_;
  std::uint64_t seed_;  // of what sensors read
  std::span<const AddedSensor> sensors_;
  std::vector<ModelFile> models_;
  std::vector<RobotDescription> robots_;  // of the files, and the arms on platforms
  std::vector<KeyframeSizes> keyframes_;  // as written
  VirtualFiles files_;
  Scene scene_;
};

}  // namespace

Scene load_scene(const fs::path& file, std::span<const Setting> settings,
                 std::span<const Fault> faults, std::uint64_t seed,
                 std::span<const AddedSensor> sensors) {
  const StandardArithmetic standard;
  load_engine();
  std::vector<Setting> all(settings.begin(), settings.end());
  if (auto setting = measurement_fault_setting(faults, seed)) all.push_back(std::move(*setting));
  return SceneLoader(file, all, faults, seed, sensors).load();
}

ModelText model_file_mjcf(const fs::path& file) {
  load_engine();
  const ModelFile model = read_model_file(file.filename().string(), file, {});
  ModelText text{model.mjcf(), {}};
  check_plausible(model, kStandardGravity, text.notices);
  return text;
}

std::string flattened(const Scene& scene, const mjModel& model, std::vector<std::string>& notices) {
  mj_copyBack(scene.spec.get(), &model);
  try {
    return text_of(*scene.spec);
  } catch (const ModelError& error) {
    notices.push_back(
        notice_text("model-not-flattened",
                    fmt::format("the flattened model could not be written: {}", error.what())));
    return {};
  }
}

ModelText plain_mjcf(const fs::path& file, std::optional<Integrator> integrator) {
  const StandardArithmetic standard;
  load_engine();
  const bool is_lone = extension_of(file) == ".toml";
  std::vector<ModelFile> models;
  if (is_lone) {
    models.push_back(read_model_file(file.filename().string(), file, {}));
  } else {
    models = read_scene_files(file, {}).models;
    refuse_devices(file);
  }
  ModelText text;
  for (ModelFile& model : models) {
    model.erase_controllers();
    if (integrator && model.arm() != nullptr) set_integrator(*model.arm(), *integrator);
    check_plausible(model, kStandardGravity, text.notices);
    add_friction_notice(model, text.notices);
  }
  if (is_lone && !models.front().names_files()) {
    text.mjcf = models.front().mjcf();
    if (integrator == Integrator::ImplicitFast)  // of a robot that is no arm
      text.mjcf = std::regex_replace(text.mjcf, std::regex("integrator=\"discrete\""),
                                     "integrator=\"implicitfast\"");
    return text;
  }
  VirtualFiles files;
  SpecPtr spec = parsed(file, models, files);
  if (integrator)
    spec->option.integrator =
        *integrator == Integrator::ImplicitFast ? mjINT_IMPLICITFAST : mjINT_DISCRETE;
  const mjtIntegrator chosen = static_cast<mjtIntegrator>(spec->option.integrator);
  if (set_integration(spec->option, models)) spec = parsed(file, models, files);
  spec->option.integrator = chosen;
  compiled(*spec, file, files);
  text.mjcf =
      fmt::format("{}{} file by: tendril model --plain (change that file, not this) -->\n{}",
                  kMadeFrom, is_lone ? "robot" : "scene", text_of(*spec));
  return text;
}

}  // namespace tendril::simulation
