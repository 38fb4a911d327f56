#include "simulation/rollout/recorded_model.hpp"

#include <fmt/format.h>

#include <vector>

#include "plugin/binary_model.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

// Checks that the sizes of the rows are those of the model.
void check_layout(const mjModel& model, const RolloutLayout& layout) {
  const struct {
    const char* name;
    mjtSize model;
    int recorded;
  } sizes[] = {{"qpos", model.nq, layout.nq},
               {"qvel", model.nv, layout.nv},
               {"ctrl", model.nu, layout.nu},
               {"act", model.na, layout.na},
               {"sensordata", model.nsensordata, layout.nsensordata},
               {"plugin_state", model.npluginstate, layout.npluginstate},
               {"mocap", model.nmocap, layout.nmocap},
               {"integration", mj_stateSize(&model, mjSTATE_INTEGRATION), layout.nintegration}};
  for (const auto& size : sizes) {
    if (size.model != size.recorded) {
      throw RolloutFormatError(fmt::format("{}: {} values a row, the recorded model has {}",
                                           size.name, size.recorded, size.model));
    }
  }
}

ModelPtr loaded(const RolloutReader& reader) {
  const auto attribute = [&](const std::string& name, const std::string& missing) {
    const auto found = reader.attributes().find(name);
    return found == reader.attributes().end() ? missing : found->second;
  };
  std::vector<std::byte> mjb = reader.model_mjb();
  std::string reason = bind_plugins(mjb, attribute("plugins", ""), UnknownPlugin::Refuse);
  mjModel* raw = nullptr;
  static_cast<void>(take_engine_warnings());
  if (reason.empty()) {
    reason =
        guarded([&] { raw = mj_loadModelBuffer(mjb.data(), static_cast<mjtSize>(mjb.size())); });
  }
  ModelPtr model(raw);
  if (!model) {
    for (const std::string& warning : take_engine_warnings()) (reason += ' ') += warning;
    throw RolloutFormatError(
        fmt::format("model_mjb: does not load (recorded with MuJoCo {}, this is {}): {}",
                    attribute("mujoco_version", "unknown"), mj_versionString(), one_line(reason)));
  }
  check_layout(*model, reader.layout());
  return model;
}

}  // namespace

ModelPtr recorded_model(const RolloutReader& reader) {
  load_engine();
  try {
    return loaded(reader);
  } catch (const ModelError& error) {
    throw ModelError(reader.file().string() + ": " + error.what());
  } catch (const RolloutFormatError& error) {
    throw RolloutFormatError(reader.file().string() + ": " + error.what());
  }
}

}  // namespace tendril::simulation
