#pragma once

#include <mujoco/mujoco.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/host/experiment/setting.hpp"

namespace tendril::host {

struct ModelDeleter {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DataDeleter {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
using ModelPtr = std::unique_ptr<mjModel, ModelDeleter>;
using DataPtr = std::unique_ptr<mjData, DataDeleter>;

/// Where libtendril.so is looked for, in this order: TENDRIL_PLUGIN (nothing else, when it is set),
/// beside the program (`../lib`), the library folder of the install prefix.
[[nodiscard]] std::vector<std::filesystem::path> plugin_candidates();

/// The first candidate that exists; empty when there is none.
[[nodiscard]] std::filesystem::path find_plugin();

/// A plugin library of the user's own, to be loaded by `load_engine` after libtendril.so. Throws
/// ModelError when the file is not there.
void add_plugin_library(const std::filesystem::path& file);

/// Takes over the engine's messages, checks the engine's version (4.0.0 is refused with the reason)
/// and loads libtendril.so; once per process, further calls do nothing. Throws ModelError.
void load_engine();

/// A compiled scene with everything that a recording keeps of it.
struct Scene {
  ModelPtr model;
  std::string model_xml;  ///< the scene with its settings, flattened to one MJCF text
  std::map<std::string, std::string> source_files;  ///< scene, included and robot files as read, by
                                                    ///< name; robot files with their settings
  std::vector<std::string> notices;                 ///< one line each: what the user should know
};

/// Loads MJCF (with robots attached through the decoder plugin) or a lone robot file, applies the
/// settings (but not `motion.*`) and checks integrator, cone and iterations against what the robots
/// need. Calls load_engine. A lone robot stands at the world's origin with a light and a camera; if
/// its controller names a target, there is a mocap body of that name near the tip. Throws
/// ModelError: `file: field: value: what is allowed`.
[[nodiscard]] Scene load_scene(const std::filesystem::path& file,
                               std::span<const Setting> settings = {});

/// mj_makeData. Throws ModelError when memory or a plugin fails.
[[nodiscard]] DataPtr make_data(const mjModel& model);

}  // namespace tendril::host
