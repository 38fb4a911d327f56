// Scenes and models, as the engine reads them with the plugin.

#include <mujoco/mjplugin.h>
#include <mujoco/mjxmacro.h>
#include <mujoco/mujoco.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugin/binary_model.hpp"
#include "plugin/built_in_plugins.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

namespace fs = std::filesystem;
using simulation::DataPtr;
using simulation::ModelPtr;

constexpr int kSteps = 3;
constexpr mjtSize kLargestMemory = mjtSize{1} << 26;  // of the engine's stack [bytes]

constexpr const char* kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 2
[controller]
plugin = "tendril.reach"
target = "target"
)";
constexpr const char* kSnake = R"(kind = "snake"
joints = 4
link_length = 0.06
radius = 0.025
link_mass = 0.15
gain = 20
torque_limit = 6
[controller]
plugin = "tendril.snake"
gait = "sidewinding"
goals = [1, 0]
)";
constexpr const char* kScene = R"(<mujoco>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <attach model="arm" body="base" prefix="A_"/>
    <body name="target" mocap="true" pos="0.02 0 0.09"/>
    <body pos="0 0 0.2"><freejoint/><geom size="0.01"/></body>
  </worldbody>
</mujoco>)";

void write(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// A folder in memory with the files that scenes may name.
const fs::path& folder() {
  static const fs::path made = [] {
    register_built_in_plugins();
    const fs::path path = "/dev/shm/tendril-fuzz-" + std::to_string(getpid());
    fs::create_directory(path);
    write(path / "arm.toml", kArm);
    write(path / "snake.toml", kSnake);
    std::atexit([] { fs::remove_all(folder()); });
    return path;
  }();
  return made;
}

/// Steps a model as a run does, errors of the engine are answers.
void step(const mjModel& model) {
  const DataPtr data = simulation::make_data(model);
  for (int i = 0; i < kSteps; ++i)
    if (!simulation::guarded([&] { mj_step(&model, data.get()); }).empty()) break;
}

void read_mjcf(std::string_view input) {
  write(folder() / "scene.xml", input);
  read_or_refuse<ModelError, std::runtime_error>([&] {
    const simulation::Scene scene = simulation::load_scene(folder() / "scene.xml");
    if (scene.model->narena <= kLargestMemory) step(*scene.model);
  });
}

/// The bytes of a binary model with the plugin, and where its arrays are.
struct BinaryModel {
  struct Array {
    std::size_t begin, size, element;  // bytes
  };
  std::vector<std::byte> bytes;
  std::vector<Array> arrays;  // those that are not empty, after all that precedes them
  std::string plugins;
};

BinaryModel small_model() {
  write(folder() / "model.xml", kScene);
  const simulation::Scene scene = simulation::load_scene(folder() / "model.xml");
  const mjModel* const m = scene.model.get();
  BinaryModel binary;
  binary.bytes.resize(static_cast<std::size_t>(mj_sizeModel(m)));
  mj_saveModel(m, nullptr, binary.bytes.data(), static_cast<mjtSize>(binary.bytes.size()));
  for (int i = 0; i < m->nplugin; ++i)
    binary.plugins += std::string(mjp_getPluginAtSlot(m->plugin[i])->name) + ' ';
  std::vector<BinaryModel::Array>& arrays = binary.arrays;
  const auto add = [&](mjtSize count, std::size_t element) {
    if (count > 0) arrays.push_back({0, static_cast<std::size_t>(count) * element, element});
  };
#undef MJ_M
#define MJ_M(n) m->n
#define X(type, name, nr, nc) add(m->nr* static_cast<mjtSize>(nc), sizeof(type));
  MJMODEL_POINTERS
#undef X
#undef MJ_M
#define MJ_M(n) n
  std::size_t at = binary.bytes.size();
  for (auto array = arrays.rbegin(); array != arrays.rend(); ++array)
    array->begin = at -= array->size;
  arrays.insert(arrays.begin(), {0, at, sizeof(std::int32_t)});
  return binary;
}

/// Changes elements of a model, eight bytes of the input each: array, place, kind of value, value.
void edit(BinaryModel& model, std::string_view input) {
  struct Change {
    std::uint8_t array, kind;
    std::uint16_t offset;
    std::int32_t value;
  };
  for (Change change; input.size() >= sizeof change; input.remove_prefix(sizeof change)) {
    std::memcpy(&change, input.data(), sizeof change);
    const auto& array = model.arrays[change.array % model.arrays.size()];
    std::byte* const element =
        &model.bytes[array.begin + change.offset % (array.size / array.element) * array.element];
    const double number = change.kind % 2 == 0 ? change.value : 1.0 / change.value;
    if (array.element == sizeof number)
      std::memcpy(element, &number, sizeof number);
    else
      std::memcpy(element, &change.value, array.element);
  }
}

/// The model of a recording.
void read_model(std::string_view input) {
  static const BinaryModel original = small_model();
  BinaryModel model = original;
  edit(model, input);
  read_or_refuse<ModelError, std::runtime_error>([&] {
    if (!bind_plugins(model.bytes, model.plugins, UnknownPlugin::Refuse).empty()) return;
    mjModel* raw = nullptr;
    static_cast<void>(simulation::guarded([&] {
      raw = mj_loadModelBuffer(model.bytes.data(), static_cast<mjtSize>(model.bytes.size()));
    }));
    const ModelPtr loaded(raw);
    if (loaded && loaded->narena <= kLargestMemory) step(*loaded);
  });
}

const Target mjcf{"mjcf", ".xml", read_mjcf};
const Target model{"model", ".model", read_model};

}  // namespace
}  // namespace tendril::fuzz
