#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "simulation/scene/model_files.hpp"

namespace tendril::simulation {

/// The files that a scene consists of, as read.
struct SceneFiles {
  std::map<std::string, std::string> texts;  ///< scene, includes and robot files, by name; robot
                                             ///< files with their settings
  std::vector<ModelFile> models;             ///< robot and tube files that it attaches; one with
                                             ///< settings of its own once more for each prefix
  /// Scene and includes that the engine must read otherwise than they are, by path: robots with
  /// settings of their own are attached from files of their own.
  std::map<std::string, std::string> engine_texts;
};

/// A robot, tube or shell file that a scene, or a file that it includes, attaches.
struct AttachedFile {
  std::string prefix;
  std::filesystem::path path;
};
[[nodiscard]] std::vector<AttachedFile> attached_files(const std::filesystem::path& scene);

/// Reads an MJCF scene, the files that it includes and the robot and tube files that it attaches.
/// Throws ModelError `scene.xml:3: include: file = parts.xml: No such file or directory`.
[[nodiscard]] SceneFiles read_scene_files(const std::filesystem::path& scene,
                                          std::span<const Setting> settings);

/// A file that the engine reads itself.
struct EngineFile {
  std::filesystem::path path;
  // Who names it: file, element, attribute, and where the element is in the file [bytes].
  std::filesystem::path by;
  std::string element, attribute;
  std::ptrdiff_t offset = 0;
};

/// Lists the files that the engine may read for an MJCF model besides the model: includes, models,
/// meshes, textures, height fields, in every directory that a `compiler` element of any of the
/// files names. Robot files (`.toml`) are listed, what these name is not. Throws ModelError for a
/// file that cannot be read.
[[nodiscard]] std::vector<EngineFile> engine_files(const std::filesystem::path& model);

/// As above, of a text.
/// @param file  whose folder the names are relative to
[[nodiscard]] std::vector<EngineFile> engine_files(const std::string& mjcf,
                                                   const std::filesystem::path& file);

/// Refuses devices and pipes among the files that the engine reads itself (meshes, textures,
/// models): it would wait for them indefinitely. Throws ModelError.
void refuse_devices(const std::filesystem::path& scene);

}  // namespace tendril::simulation
