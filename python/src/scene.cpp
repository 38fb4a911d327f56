#include "simulation/scene/scene.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <utility>

#include "python/src/settings.hpp"
#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/scene/model_tables.hpp"

namespace tendril::python {
namespace {

/// A scene whose model belongs to MuJoCo's own object.
struct PyScene {
  nb::object model;
  std::vector<std::string> notices;
  std::map<std::string, std::string> source_files;
  std::string model_xml;
};

PyScene load_scene(const std::filesystem::path& file, nb::handle set) {
  mujoco();
  const std::vector<simulation::Setting> settings = settings_of(set);
  std::string model_xml;
  simulation::Scene scene = [&] {
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    simulation::Scene loaded = simulation::load_scene(file, settings);
    model_xml = simulation::flattened(loaded, *loaded.model, loaded.notices);
    return loaded;
  }();
  return {mujoco_model(std::move(scene.model)), std::move(scene.notices),
          std::move(scene.source_files), std::move(model_xml)};
}

}  // namespace

void bind_scene(nb::module_& module) {
  nb::class_<PyScene>(module, "Scene", "A compiled scene and what it was made of.")
      .def(
          "__reduce__",
          [](nb::handle self) {
            return nb::module_::import_("tendril._copies").attr("reduced_scene")(self);
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def_ro("model", &PyScene::model, nb::sig("def model(self) -> mujoco.MjModel"),
              "The compiled model: MuJoCo's own object.")
      .def_ro("notices", &PyScene::notices, "What the user should know, one per line.")
      .def_ro("source_files", &PyScene::source_files,
              "Texts of the scene, of included files and of robot files, by name; robot files with "
              "their settings.")
      .def_ro("model_xml", &PyScene::model_xml,
              "The scene with its settings, flattened to one MJCF text.");
  module.def(
      "make_scene",
      [](nb::object model, std::vector<std::string> notices,
         std::map<std::string, std::string> source_files, std::string model_xml) {
        return PyScene{std::move(model), std::move(notices), std::move(source_files),
                       std::move(model_xml)};
      },
      nb::arg("model"), nb::arg("notices"), nb::arg("source_files"), nb::arg("model_xml"),
      nb::sig("def make_scene(model: mujoco.MjModel, notices: collections.abc.Sequence[str], "
              "source_files: collections.abc.Mapping[str, str], model_xml: str) -> Scene"),
      "A scene of its parts, those of another process.");
  module.def(
      "plugin_names",
      [](const nb::object& model) {
        return simulation::plugin_names(native<const mjModel>(model));
      },
      nb::arg("model"), nb::sig("def plugin_names(model: mujoco.MjModel) -> str"),
      "Names of the plugins of a model's instances, separated by spaces.");
  module.def(
      "load_scene", &load_scene, nb::arg("file"), nb::arg("set") = nb::dict(),
      nb::sig("def load_scene(file: str | os.PathLike[str], set: collections.abc.Mapping[str, "
              "typing.Any] = {}) -> Scene"),
      "Loads a scene (MJCF, with robot files attached) or a lone robot file, as `tendril run` "
      "does.\n\n"
      ":param file: `.xml` or `.toml`\n"
      ":param set: settings by key (docs/reference/experiment_file.md), without `motion.*`: "
      "{\"option.timestep\": 0.004}\n"
      ":raises ModelError: the program's line `file: field: value: what is allowed`");
}

}  // namespace tendril::python
