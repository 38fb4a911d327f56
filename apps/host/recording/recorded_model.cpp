#include "apps/host/recording/recorded_model.hpp"

#include <fmt/format.h>
#include <mujoco/mjxmacro.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "apps/host/engine/engine_log.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

// What precedes the sizes in a binary model.
struct BinaryHeader {
  std::int32_t magic = 0, number_size = 0, size_count = 0, version = 0, array_count = 0;
};
constexpr std::int32_t kMagic = 54321;
constexpr mjtSize kLargestSize = mjtSize{1} << 48;  // small enough for the products below
#define X(name) +1
constexpr std::size_t kSizeCount = 0 MJMODEL_SIZES;
#undef X
#define X(type, name, nr, nc) +1
constexpr int kArrayCount = 0 MJMODEL_POINTERS;
#undef X

// Slot number of each name. Throws ModelError at the first that is not registered.
std::vector<int> slots_of(const std::vector<std::string>& names) {
  std::vector<int> slots;
  for (const std::string& name : names) {
    int slot = -1;
    if (mjp_getPlugin(name.c_str(), &slot) == nullptr) {
      throw ModelError(fmt::format(
          "recording: plugin = {}: not loaded: give its library with --plugin FILE.so", name));
    }
    slots.push_back(slot);
  }
  return slots;
}

// Replaces the slots of the plugin instances in a binary model, which consists of header, sizes,
// options, flags, and the arrays in the order of MJMODEL_POINTERS. Returns why that is impossible,
// or "".
std::string bind_plugins(std::span<std::byte> mjb, const std::vector<int>& slots) {
  BinaryHeader header;
  mjtSize values[kSizeCount];
  std::size_t at = sizeof(header) + sizeof(values) + sizeof(mjOption) + sizeof(mjVisual) +
                   sizeof(mjStatistic) + sizeof(mjModel::flg_gravcomp) +
                   sizeof(mjModel::flg_surfacevel) + sizeof(mjModel::flg_adhesion);
  if (mjb.size() < at) return "it is too short";
  std::memcpy(&header, mjb.data(), sizeof(header));
  std::memcpy(values, mjb.data() + sizeof(header), sizeof(values));
  if (header.magic != kMagic) return "it does not begin as a binary model";
  if (header.version != mj_version())
    return fmt::format("it is of version {}, must be {}", header.version, mj_version());
  if (header.number_size != sizeof(mjtNum) || header.size_count != kSizeCount ||
      header.array_count != kArrayCount)
    return "its header has unknown sizes";

  for (const mjtSize value : values)
    if (value < -1 || value > kLargestSize) return "its sizes are out of range";
  mjModel sizes{};
  const mjtSize* next = values;
#define X(name) sizes.name = *next++;
  MJMODEL_SIZES
#undef X

  std::size_t plugin = 0;  // where the array stands
  bool fits = true;
  const auto skip = [&](mjtSize rows, mjtSize columns, std::size_t element) {
    const std::size_t rest = mjb.size() - at;
    fits = fits && rows >= 0 && columns >= 0 &&
           (rows == 0 ||
            static_cast<std::size_t>(columns) <= rest / element / static_cast<std::size_t>(rows));
    if (fits) at += static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * element;
  };
#undef MJ_M
#define MJ_M(n) sizes.n
#define X(type, name, nr, nc)                           \
  if (std::string_view(#name) == "plugin") plugin = at; \
  skip(sizes.nr, static_cast<mjtSize>(nc), sizeof(type));
  MJMODEL_POINTERS
#undef X
#undef MJ_M
#define MJ_M(n) n
  if (!fits || at != mjb.size()) return "its sizes do not fit its length";
  if (static_cast<std::size_t>(sizes.nplugin) != slots.size())
    return fmt::format("it has {} plugin instances, the attribute plugins names {}", sizes.nplugin,
                       slots.size());
  if (!slots.empty()) std::memcpy(mjb.data() + plugin, slots.data(), std::span(slots).size_bytes());
  return {};
}

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

}  // namespace

ModelPtr recorded_model(const RolloutReader& reader) {
  load_engine();
  const auto attribute = [&](const std::string& name, const std::string& missing) {
    const auto found = reader.attributes().find(name);
    return found == reader.attributes().end() ? missing : found->second;
  };
  std::istringstream words(attribute("plugins", ""));
  const std::vector<std::string> names(std::istream_iterator<std::string>(words), {});
  const std::vector<int> slots = slots_of(names);

  std::vector<std::byte> mjb = reader.model_mjb();
  std::string reason = bind_plugins(mjb, slots);
  mjModel* loaded = nullptr;
  static_cast<void>(take_engine_warnings());
  if (reason.empty()) {
    reason =
        guarded([&] { loaded = mj_loadModelBuffer(mjb.data(), static_cast<mjtSize>(mjb.size())); });
  }
  ModelPtr model(loaded);
  if (!model) {
    for (const std::string& warning : take_engine_warnings()) (reason += ' ') += warning;
    throw RolloutFormatError(
        fmt::format("model_mjb: does not load (recorded with MuJoCo {}, this is {}): {}",
                    attribute("mujoco_version", "unknown"), mj_versionString(), one_line(reason)));
  }
  check_layout(*model, reader.layout());
  return model;
}

}  // namespace tendril::host
