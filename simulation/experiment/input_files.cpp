#include "simulation/experiment/input_files.hpp"

#include <set>
#include <string>
#include <variant>

#include "simulation/scene/model_files.hpp"
#include "simulation/scene/robot_settings.hpp"
#include "simulation/scene/scene_files.hpp"
#include "tendril/model/file_extension.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

/// The texts of a value, of lists and tables too.
std::vector<std::string> texts_of(const Value& value) {
  std::vector<std::string> texts;
  const auto add = [&](const Value& entry) {
    const std::vector<std::string> more = texts_of(entry);
    texts.insert(texts.end(), more.begin(), more.end());
  };
  if (const auto* const text = std::get_if<std::string>(&value.data)) {
    texts.push_back(*text);
  } else if (const auto* const list = std::get_if<Value::List>(&value.data)) {
    for (const Value& entry : *list) add(entry);
  } else if (const auto* const table = std::get_if<Value::Table>(&value.data)) {
    for (const auto& [key, entry] : *table) add(entry);
  }
  return texts;
}

class InputFiles {
 public:
  explicit InputFiles(const Experiment& experiment) : experiment_(experiment) {
    add(experiment.file);
  }

  /// Adds the files of a run with these settings.
  void add_run(std::span<const Setting> settings) {
    const fs::path folder = experiment_.file.parent_path();
    for (const Setting& setting : settings)
      for (const std::string& text : texts_of(setting.value))
        if (!text.empty()) add_if_file(folder / text);
    const fs::path& scene = experiment_.scene;
    if (scene.empty()) return;  // of a family, which has its own text
    if (extension_of(scene) == ".toml") {
      add_robot(scene, RobotSettings(settings, {}).common());
      return;
    }
    add(scene);
    const std::vector<AttachedFile> attached = attached_files(scene);
    const RobotSettings of_robots(settings, attached);
    for (const EngineFile& file : engine_files(scene)) {
      if (extension_of(file.path) == ".toml")
        add_robot(file.path, of_robots.common());
      else
        add(file.path);
    }
    for (const AttachedFile& file : attached)
      if (of_robots.has(file.prefix)) add_robot(file.path, of_robots.of(file.prefix));
  }

  [[nodiscard]] std::vector<fs::path> take() const { return {found_.begin(), found_.end()}; }

 private:
  void add(const fs::path& path) { found_.insert(path.lexically_normal()); }

  void add_if_file(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) add(path);
  }

  void add_robot(const fs::path& file, std::span<const Override> overrides) {
    add(file);
    const fs::path folder = file.parent_path();
    const FileReader reader = [&](const std::string& name) {
      std::string text = read_text_file(folder / name);
      add(folder / name);
      return text;
    };
    const ModelDescription model =
        parse_model(read_text_file(file), file.string(), overrides, reader);
    for (const EngineFile& asset : engine_files(model_mjcf(model, {}), file)) add(asset.path);
    if (const auto robot = as_robot(model)) add_settings(controller_of(*robot), folder);
    if (const auto* const mobile = std::get_if<MobileDescription>(&model);
        mobile != nullptr && mobile->mounted)
      add_settings(mobile->mounted->robot.controller,
                   fs::path(mobile->mounted->file).parent_path());
  }

  void add_settings(const ControllerConfig& controller, const fs::path& folder) {
    for (const ControllerConfig::Setting& setting : controller.settings) {
      if (!setting.value.empty() && setting.value.find('\n') == std::string::npos)
        add_if_file(folder / setting.value);
    }
  }

  const Experiment& experiment_;
  std::set<fs::path> found_;
};

void add_named(const toml::node& node, const fs::path& folder, std::vector<fs::path>& found) {
  if (const auto* const table = node.as_table()) {
    for (const auto& [key, value] : *table) add_named(value, folder, found);
  } else if (const auto* const array = node.as_array()) {
    for (const toml::node& value : *array) add_named(value, folder, found);
  } else if (const auto* const text = node.as_string()) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / text->get(), ignored)) found.push_back(folder / text->get());
  }
}

/// The files that one file names.
std::vector<fs::path> directly_named(const fs::path& file) {
  std::vector<fs::path> found;
  const std::string extension = extension_of(file);
  try {
    if (extension == ".toml" || extension == ".plan")
      add_named(parse_toml(read_text_file(file), file.string()), file.parent_path(), found);
    if (extension == ".xml" || extension == ".mjcf")
      for (EngineFile& named : engine_files(file)) found.push_back(std::move(named.path));
  } catch (const ModelError&) {  // the command refuses it
  }
  return found;
}

}  // namespace

std::vector<fs::path> named_files(const fs::path& input) {
  std::vector<fs::path> all = directly_named(input);
  std::set<fs::path> seen{input.lexically_normal()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!seen.insert(all[i].lexically_normal()).second) continue;
    const std::vector<fs::path> more = directly_named(fs::path(all[i]));
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<fs::path> input_files(const Experiment& experiment, std::span<const Setting> settings) {
  InputFiles files(experiment);
  const auto add_with = [&](std::span<const Setting> drawn) {
    std::vector<Setting> of_run = experiment.settings;
    of_run.insert(of_run.end(), drawn.begin(), drawn.end());
    of_run.insert(of_run.end(), settings.begin(), settings.end());
    files.add_run(of_run);
  };
  add_with({});
  for (const Variation& variation : experiment.variations) {
    for (const Value& choice : variation.choices) {
      if (texts_of(choice).empty()) continue;
      std::vector<Setting> drawn;
      for (const std::string& key : variation.keys)
        drawn.push_back({key, choice, variation.origin});
      add_with(drawn);
    }
  }
  return files.take();
}

}  // namespace tendril::simulation
