#include "apps/host/recording/recorded_model.hpp"

#include <fmt/format.h>

#include <sstream>

#include "apps/host/engine/engine_log.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {

std::string plugin_names(const mjModel& model) {
  std::string names;
  for (int i = 0; i < model.nplugin; ++i) {
    const mjpPlugin* plugin = mjp_getPluginAtSlot(model.plugin[i]);
    if (i > 0) names += ' ';
    names += plugin ? plugin->name : "?";
  }
  return names;
}

ModelPtr recorded_model(const RolloutReader& reader) {
  load_engine();
  const std::vector<std::byte> mjb = reader.model_mjb();
  const auto attribute = [&](const std::string& name) {
    const auto found = reader.attributes().find(name);
    return found == reader.attributes().end() ? std::string("unknown") : found->second;
  };
  mjModel* loaded = nullptr;
  static_cast<void>(take_engine_warnings());
  std::string reason =
      guarded([&] { loaded = mj_loadModelBuffer(mjb.data(), static_cast<mjtSize>(mjb.size())); });
  ModelPtr model(loaded);
  if (!model) {
    for (const std::string& warning : take_engine_warnings()) (reason += ' ') += warning;
    throw RolloutFormatError(
        fmt::format("model_mjb: does not load (recorded with MuJoCo {}, this is {}):{}",
                    attribute("mujoco_version"), mj_versionString(), reason));
  }
  const auto recorded = reader.attributes().find("plugins");
  std::istringstream names(recorded == reader.attributes().end() ? "" : recorded->second);
  std::string name;
  for (int i = 0; i < model->nplugin && names >> name; ++i) {
    int slot = -1;
    if (mjp_getPlugin(name.c_str(), &slot) == nullptr) {
      throw ModelError(
          fmt::format("recording: plugin = {}: not loaded: give its library with --plugin", name));
    }
    model->plugin[i] = slot;
  }
  return model;
}

}  // namespace tendril::host
