#include "simulation/scene/scene_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <pugixml.hpp>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "simulation/scene/robot_settings.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model/xml_node.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

/// One element of an XML text: name, attributes and place.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::ptrdiff_t offset = 0;   ///< in the text [bytes]
  bool is_replicated = false;  ///< lies in a `replicate`
};

/// The elements of an XML text in order. In case of a syntax error, the elements before it; the
/// error is reported by the engine's parser.
std::vector<Element> scan_elements(const std::string& xml) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size());
  pugi::xpath_node_set found = document.select_nodes("//*");
  found.sort();
  std::vector<Element> elements;
  std::set<pugi::xml_node> replicated;  // a parent comes before what lies in it
  for (const pugi::xpath_node& entry : found) {
    const pugi::xml_node parent = entry.node().parent();
    Element element{entry.node().name(), {}, entry.node().offset_debug()};
    element.is_replicated =
        std::string_view(parent.name()) == "replicate" || replicated.contains(parent);
    if (element.is_replicated) replicated.insert(entry.node());
    for (const pugi::xml_attribute& attribute : entry.node().attributes())
      element.attributes[attribute.name()] = attribute.value();
    elements.push_back(std::move(element));
  }
  return elements;
}

std::ptrdiff_t line_of(std::ptrdiff_t offset, const std::string& xml) {
  const auto end = xml.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(xml));
  return 1 + std::count(xml.begin(), end, '\n');
}
std::ptrdiff_t line_of(const Element& element, const std::string& xml) {
  return line_of(element.offset, xml);
}

/// Refuses a file that is named by an element of the scene and missing.
void require_file(const fs::path& file, const fs::path& scene, const std::string& xml,
                  const Element& element) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) return;
  throw ModelError(fmt::format("{}:{}: {}: file = {}: No such file or directory", scene.string(),
                               line_of(element, xml), element.name, file.string()));
}

/// Reads a scene and its includes into `files`.
class SceneReader {
 public:
  SceneReader(fs::path folder, const RobotSettings& settings, SceneFiles& files)
      : folder_(std::move(folder)),
        settings_(settings),
        overrides_(settings.common()),
        files_(files) {}

  void read(const std::string& name) {
    if (files_.texts.contains(name)) return;
    const std::string xml = read_text_file(folder_ / name);
    files_.texts[name] = xml;
    for (const Element& element : scan_elements(xml)) {
      check_order(element, name, xml);
      const auto file = element.attributes.find("file");
      if (file == element.attributes.end()) {
        if (element.name == "model") refuse_nameless(name, xml, element);
        continue;
      }
      const bool is_include = element.name == "include";
      if (is_include && file->second.ends_with(".toml")) {
        throw ModelError(fmt::format(
            "{}:{}: include: file = {}: is a robot file, not MJCF: name it in <asset>, <model "
            "name=\"robot\" file=\"{}\"/>, and <attach model=\"robot\" body=\"base\" prefix=.../>",
            (folder_ / name).string(), line_of(element, xml), file->second, file->second));
      }
      const bool is_model = element.name == "model" && file->second.ends_with(".toml") &&
                            !files_.texts.contains(file->second);
      if (!is_include && !is_model) continue;
      require_file(folder_ / file->second, folder_ / name, xml, element);
      if (is_include)
        read(file->second);
      else
        add_model(file->second);
    }
  }

 private:
  /// Refuses a model that names no file: the engine crashes.
  [[noreturn]] void refuse_nameless(const std::string& name, const std::string& xml,
                                    const Element& element) const {
    throw ModelError(fmt::format("{}:{}: model: file: missing: must be the name of a file",
                                 (folder_ / name).string(), line_of(element, xml)));
  }

  /// The engine copies the plugins of a robot that is attached before a replicated body, and frees
  /// them twice.
  void check_order(const Element& element, const std::string& name, const std::string& xml) {
    const auto& models = files_.models;
    const auto has_controller = [](const ModelFile& file) {
      const auto robot = file.robot();
      return robot && !controller_of(*robot).plugin.empty();
    };
    if (element.name == "attach" && std::any_of(models.begin(), models.end(), has_controller)) {
      const std::string here =
          fmt::format("{}:{}", (folder_ / name).string(), line_of(element, xml));
      if (element.is_replicated)
        throw ModelError(here +
                         ": attach: lies in a <replicate>: copies of a robot with a controller "
                         "must be written out, each with a separate prefix");
      if (attached_.empty()) attached_ = here;
    }
    if (element.name != "replicate" || attached_.empty()) return;
    throw ModelError(
        fmt::format("{}:{}: replicate: must come before the first <attach> of a robot with a "
                    "controller, {}: the engine crashes otherwise",
                    (folder_ / name).string(), line_of(element, xml), attached_));
  }

  void add_model(const std::string& name) {
    try {
      files_.models.push_back(read_model_file(name, folder_ / name, overrides_));
    } catch (const ModelError& error) {
      settings_.rethrow(error);
    }
    files_.texts[name] = files_.models.back().text();
  }

  fs::path folder_;
  const RobotSettings& settings_;
  std::vector<Override> overrides_;  ///< of all robots
  SceneFiles& files_;
  std::string attached_;  ///< place of the first robot that is attached; empty: none yet
};

/// The robots that a scene and its includes attach.
class Attachments {
 public:
  struct Place {
    std::string file;   // in which it is
    Element element;    // attach or model
    std::string model;  // name of the model
    std::string value;  // of attach its prefix, of model its file
  };

  explicit Attachments(const fs::path& scene) : folder_(scene.parent_path()) {
    read(scene.filename().string());
    std::erase_if(attached_, [&](const Place& place) { return model(place.model) == nullptr; });
  }

  /// Those whose model is a robot, tube or shell file.
  [[nodiscard]] const std::vector<Place>& attached() const noexcept { return attached_; }
  /// The model of a name; null: there is none.
  [[nodiscard]] const Place* model(const std::string& name) const noexcept {
    const auto found = models_.find(name);
    return found != models_.end() ? &found->second : nullptr;
  }
  [[nodiscard]] std::vector<AttachedFile> files() const {
    std::vector<AttachedFile> files;
    for (const Place& place : attached_)
      files.push_back({place.value, folder_ / model(place.model)->value});
    return files;
  }

 private:
  /// What cannot be read is refused by SceneReader.
  void read(const std::string& name) {
    std::error_code ignored;
    if (!read_.insert(name).second || !fs::is_regular_file(folder_ / name, ignored)) return;
    for (Element& element : scan_elements(read_text_file(folder_ / name))) {
      const auto text = [&](const char* key) {
        const auto found = element.attributes.find(key);
        return found != element.attributes.end() ? found->second : std::string();
      };
      const std::string file = text("file"), model = text("model"), model_name = text("name");
      if (element.name == "include") read(file);
      if (element.name == "attach") attached_.push_back({name, element, model, text("prefix")});
      if (element.name == "model" && file.ends_with(".toml"))
        models_.insert({model_name, {name, element, model_name, file}});
    }
  }

  fs::path folder_;
  std::set<std::string> read_;
  std::vector<Place> attached_;
  std::map<std::string, Place> models_;
};

/// Attaches the robots that have settings of their own from files of their own: reads these, and
/// changes the texts of the scene for the engine, in the same lines.
class OwnSettings {
 public:
  OwnSettings(fs::path folder, const RobotSettings& settings, SceneFiles& files)
      : folder_(std::move(folder)), settings_(settings), files_(files) {}

  void apply(const Attachments& attachments) {
    for (const Attachments::Place& place : attachments.attached()) {
      if (!settings_.has(place.value)) continue;
      const Attachments::Place& model = *attachments.model(place.model);
      const std::string name = own_name(model.value, place.value);
      if (!files_.texts.contains(name)) {
        add_model(model.value, name, place.value);
        insert(model, fmt::format(R"(<model name="{0}" file="{0}"/>)", xml_escaped(name)));
      }
      replace_model(place, name);
    }
    for (auto& [file, edits] : edits_) {
      std::string text = files_.texts.at(file);
      for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)  // from the end
        text.replace(edit->first, edit->second.first, edit->second.second);
      files_.engine_texts[(folder_ / file).string()] = std::move(text);
    }
  }

 private:
  /// "parts/arm@L_.toml": a name that a file beside the robot's could have.
  static std::string own_name(const std::string& file, std::string prefix) {
    std::replace_if(
        prefix.begin(), prefix.end(), [](char c) { return c == '/' || c == '\\'; }, '-');
    const fs::path path(file);
    return (path.parent_path() / (path.stem().string() + "@" + prefix + ".toml")).string();
  }

  void add_model(const std::string& file, const std::string& name, const std::string& prefix) {
    ModelFile model = read_model_file(file, folder_ / file, settings_.of(prefix));
    if (!model.robot())
      settings_.refuse_of(prefix,
                          fmt::format("is a {}, which has no settings", kind_name(model.model)));
    model.name = name;
    model.engine_path = folder_ / name;
    files_.texts[name] = model.text();
    files_.models.push_back(std::move(model));
  }

  /// Inserts text before an element.
  void insert(const Attachments::Place& before, const std::string& text) {
    const auto bracket = static_cast<std::size_t>(before.element.offset) - 1;
    std::string& inserted = edits_[before.file][bracket].second;
    inserted += text;
  }

  /// Gives an `attach` element another model.
  void replace_model(const Attachments::Place& place, const std::string& name) {
    static const std::regex kModel(R"((\smodel\s*=\s*)("[^"]*"|'[^']*'))");
    const std::string& text = files_.texts.at(place.file);
    std::smatch found;
    const auto from = text.begin() + place.element.offset;
    if (!std::regex_search(from, text.end(), found, kModel)) return;
    const auto at = static_cast<std::size_t>(found[2].first - text.begin());
    edits_[place.file][at] = {static_cast<std::size_t>(found[2].length()),
                              '"' + xml_escaped(name) + '"'};
  }

  fs::path folder_;
  const RobotSettings& settings_;
  SceneFiles& files_;
  /// Replaced length and its text, by the place in each file.
  std::map<std::string, std::map<std::size_t, std::pair<std::size_t, std::string>>> edits_;
};

/// Collects the files that the engine reads for a model: every file of one of the names, in each of
/// the directories in which the engine may look for it.
class EngineFiles {
 public:
  /// @param folder  that the names in the file are relative to
  void add_model(const fs::path& file, const fs::path& folder) {
    if (!read_.insert(file.lexically_normal()).second) return;
    add_text(read_text_file(file), file, folder);
  }

  /// @param file  whose text it is, for messages
  void add_text(const std::string& xml, const fs::path& file, const fs::path& folder) {
    folders_.insert(folder);
    folders_.insert(file.parent_path());
    for (const Element& element : scan_elements(xml)) {
      for (const auto& [key, value] : element.attributes) {
        if (std::ranges::find(kDirectories, key) != kDirectories.end()) directories_.insert(value);
        if (!key.starts_with("file")) continue;  // file, fileright, filename...
        const EngineFile named{folder / value, file, element.name, key, element.offset};
        if (!is_model(element, value))
          names_.push_back({value, named});
        else if (add(named))
          add_model(folder / value,
                    element.name == "include" ? folder : (folder / value).parent_path());
      }
    }
  }

  /// Returns all files, those that exist, without repetitions.
  [[nodiscard]] std::vector<EngineFile> take() {
    for (auto& [name, named] : names_) {
      std::set<fs::path> names{name, name.filename()};  // the latter with strippath
      for (const fs::path& folder : folders_) {
        for (const fs::path& directory : directories_) {
          for (const fs::path& one : names) {
            named.path = folder / directory / one;
            add(named);
          }
        }
      }
    }
    return std::move(found_);
  }

 private:
  static constexpr std::array<std::string_view, 3> kDirectories = {"assetdir", "meshdir",
                                                                   "texturedir"};
  struct Name {
    fs::path text;
    EngineFile named;
  };

  static bool is_model(const Element& element, const std::string& name) {
    return element.name == "include" || (element.name == "model" && !name.ends_with(".toml"));
  }

  /// Returns whether it is a regular file.
  bool add(const EngineFile& file) {
    std::error_code ignored;
    const fs::file_status status = fs::status(file.path, ignored);
    if (!fs::exists(status) || fs::is_directory(status)) return false;
    if (seen_.insert(file.path.lexically_normal()).second) found_.push_back(file);
    return fs::is_regular_file(status);
  }

  std::set<fs::path> read_, seen_, folders_, directories_{""};
  std::vector<Name> names_;
  std::vector<EngineFile> found_;
};

}  // namespace

std::vector<AttachedFile> attached_files(const fs::path& scene) {
  return Attachments(scene).files();
}

SceneFiles read_scene_files(const fs::path& scene, std::span<const Setting> settings) {
  const fs::path folder = scene.parent_path();
  const Attachments attachments(scene);
  const RobotSettings of_robots(settings, attachments.files());
  SceneFiles files;
  SceneReader(folder, of_robots, files).read(scene.filename().string());
  OwnSettings(folder, of_robots, files).apply(attachments);
  return files;
}

std::vector<EngineFile> engine_files(const fs::path& model) {
  EngineFiles files;
  files.add_model(model, model.parent_path());
  return files.take();
}

std::vector<EngineFile> engine_files(const std::string& mjcf, const fs::path& file) {
  EngineFiles files;
  files.add_text(mjcf, file, file.parent_path());
  return files.take();
}

void refuse_devices(const fs::path& scene) {
  for (const EngineFile& file : engine_files(scene)) {
    std::error_code ignored;
    if (fs::is_regular_file(file.path, ignored)) continue;
    throw ModelError(
        fmt::format("{}:{}: {}: {} = {}: is a device or a pipe: must be a readable file",
                    file.by.string(), line_of(file.offset, read_text_file(file.by)), file.element,
                    file.attribute, file.path.string()));
  }
}

}  // namespace tendril::simulation
