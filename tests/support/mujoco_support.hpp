#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tendril::test {

struct ModelDeleter {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DataDeleter {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
using ModelPtr = std::unique_ptr<mjModel, ModelDeleter>;
using DataPtr = std::unique_ptr<mjData, DataDeleter>;

/// The engine's warnings, kept instead of printed. From `load_tendril` on.
class EngineWarnings {
 public:
  static std::vector<std::string> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(list(), {});
  }
  static void collect() { mju_user_warning = &add; }

 private:
  static void add(const char* text) {
    const std::lock_guard lock(mutex());
    list().emplace_back(text);
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<std::string>& list() {
    static std::vector<std::string> all;
    return all;
  }
};

#ifdef TENDRIL_PLUGIN_FILE
/// Loads libtendril.so as any MuJoCo program does; once per process.
inline void load_tendril() {
  [[maybe_unused]] static const bool loaded = [] {
    EngineWarnings::collect();
    mj_loadPluginLibrary(TENDRIL_PLUGIN_FILE);
    return true;
  }();
}
#endif

using Files = std::map<std::string, std::string>;

/// Compiles a scene given as text, with the files that it refers to. Null on failure, with the
/// engine's message in `error`.
inline ModelPtr try_load_scene(const std::string& xml, const Files& files, std::string& error) {
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  for (const auto& [name, text] : files)
    mj_addBufferVFS(&vfs, name.c_str(), text.data(), static_cast<int>(text.size()));
  std::array<char, 4000> message{};
  mjSpec* spec = mj_parseXMLString(xml.c_str(), &vfs, message.data(), message.size());
  error = message.data();
  ModelPtr model;
  if (spec) {
    model.reset(mj_compile(spec, &vfs));
    error = model ? "" : mjs_getError(spec);
    mj_deleteSpec(spec);
  }
  mj_deleteVFS(&vfs);
  return model;
}

inline ModelPtr load_scene_text(const std::string& xml, const Files& files) {
  std::string error;
  ModelPtr model = try_load_scene(xml, files, error);
  INFO(error);
  REQUIRE(model);
  return model;
}

inline DataPtr make_data(const ModelPtr& model) {
  DataPtr data(mj_makeData(model.get()));
  REQUIRE(data);
  return data;
}

inline void step(const ModelPtr& model, const DataPtr& data, int steps) {
  for (int i = 0; i < steps; ++i) mj_step(model.get(), data.get());
}

/// Everything that the future depends on, as it lies in memory.
inline std::vector<mjtNum> full_state(const ModelPtr& model, const DataPtr& data) {
  std::vector<mjtNum> state(
      static_cast<std::size_t>(mj_stateSize(model.get(), mjSTATE_INTEGRATION)));
  mj_getState(model.get(), data.get(), state.data(), mjSTATE_INTEGRATION);
  return state;
}

inline bool same_bits(const std::vector<mjtNum>& a, const std::vector<mjtNum>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(mjtNum)) == 0;
}

/// Values of a sensor by name.
inline std::vector<double> sensor(const ModelPtr& model, const DataPtr& data,
                                  const std::string& name) {
  const int id = mj_name2id(model.get(), mjOBJ_SENSOR, name.c_str());
  INFO("sensor " << name);
  REQUIRE(id >= 0);
  const mjtNum* first = data->sensordata + model->sensor_adr[id];
  return {first, first + model->sensor_dim[id]};
}

}  // namespace tendril::test
