#include "simulation/scene/scene_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

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

/// Reads a scene and its includes into `files`.
class SceneReader {
 public:
  SceneReader(fs::path folder, std::span<const Override> overrides, SceneFiles& files)
      : folder_(std::move(folder)), overrides_(overrides), files_(files) {}

  void read(const std::string& name) {
    if (files_.texts.contains(name)) return;
    const std::string xml = read_text_file(folder_ / name);
    files_.texts[name] = xml;
    for (const Element& element : scan_elements(xml)) {
      check_order(element, name, xml);
      const auto file = element.attributes.find("file");
      if (file == element.attributes.end()) continue;
      const bool is_include = element.name == "include";
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
  /// The engine copies the plugins of a robot that is attached before a replicated body, and frees
  /// them twice.
  void check_order(const Element& element, const std::string& name, const std::string& xml) {
    const auto& models = files_.models;
    const auto has_controller = [](const ModelFile& file) {
      const auto robot = file.robot();
      return robot && !controller_of(*robot).plugin.empty();
    };
    if (element.name == "attach" && std::any_of(models.begin(), models.end(), has_controller)) {
      if (attached_.empty())
        attached_ = fmt::format("{}:{}", (folder_ / name).string(), line_of(element, xml));
    }
    if (element.name != "replicate" || attached_.empty()) return;
    throw ModelError(
        fmt::format("{}:{}: replicate: must stand before the first <attach> of a robot with a "
                    "controller, {}: the engine crashes otherwise",
                    (folder_ / name).string(), line_of(element, xml), attached_));
  }

  void add_model(const std::string& name) {
    files_.models.push_back(read_model_file(name, folder_ / name, overrides_));
    files_.texts[name] = files_.models.back().text();
  }

  fs::path folder_;
  std::span<const Override> overrides_;
  SceneFiles& files_;
  std::string attached_;  ///< place of the first robot that is attached; empty: none yet
};

/// The files that the engine reads for a scene.
class EngineFiles {
 public:
  /// @param folder  that the names in the file are relative to
  void check(const fs::path& file, const fs::path& folder) {
    if (!seen_.insert(file).second) return;
    const std::string xml = read_text_file(file);
    const std::vector<Element> elements = scan_elements(xml);
    for (const Element& element : elements) add_directories(element);
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
          check_content(element, path, folder);
        }
      }
    }
  }

 private:
  void add_directories(const Element& element) {
    for (const char* const key : {"assetdir", "meshdir", "texturedir"}) {
      const auto directory = element.attributes.find(key);
      if (directory != element.attributes.end()) directories_.insert(directory->second);
    }
  }

  void check_content(const Element& element, const fs::path& path, const fs::path& folder) {
    if (element.name == "include") check(path, folder);
    if (element.name == "model" && path.extension() != ".toml") check(path, path.parent_path());
  }

  std::set<fs::path> seen_, directories_{""};
};

}  // namespace

SceneFiles read_scene_files(const fs::path& scene, std::span<const Override> overrides) {
  SceneFiles files;
  SceneReader(scene.parent_path(), overrides, files).read(scene.filename().string());
  return files;
}

void refuse_devices(const fs::path& scene) { EngineFiles().check(scene, scene.parent_path()); }

}  // namespace tendril::simulation
