#pragma once

#include <mujoco/mujoco.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tendril::host {

struct ModelDeleter {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DataDeleter {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
using ModelPtr = std::unique_ptr<mjModel, ModelDeleter>;
using DataPtr = std::unique_ptr<mjData, DataDeleter>;

/// Checks the engine's version (4.0.0 is refused with the reason) and loads libtendril.so once: from TENDRIL_PLUGIN, beside the
/// program (`../lib`), or from the install prefix. Throws ModelError.
void load_engine();

/// One setting that changes a scene before or after it is compiled; keys:
///   `robot.<key>` / `controller.<key>`  overrides in every robot file of the scene (see with_overrides)
///   `option.timestep|gravity|integrator|cone|iterations`   of the compiled model
///   `body.<name>.offset` = [x, y, z]  moves a static body, m;   `body.<name>.mass` …
///   `geom.<name>.friction`, `geom.*.friction`
struct Setting {
  std::string key;
  std::string value;  ///< TOML text
};

/// A compiled scene with everything that a recording keeps of it.
struct Scene {
  ModelPtr model;
  std::string model_xml;                           ///< the compiled scene, flattened
  std::map<std::string, std::string> source_files; ///< scene and robot files as read, by name
  std::vector<std::string> notices;                ///< e.g. "scene: integrator = Euler, the robot needs discrete: …"
};

/// Loads MJCF (with robots attached through the decoder plugin) or a lone robot file, applies the settings and checks integrator, cone and
/// iterations against what the robots need. Throws ModelError: `file: field: value: what is allowed`.
[[nodiscard]] Scene load_scene(const std::filesystem::path& file, std::span<const Setting> settings = {});

}  // namespace tendril::host
