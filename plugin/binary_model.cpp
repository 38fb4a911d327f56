#include "plugin/binary_model.hpp"

#include <fmt/format.h>
#include <mujoco/mjplugin.h>
#include <mujoco/mjxmacro.h>
#include <mujoco/mujoco.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plugin/model_indices.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

// What precedes the sizes in a binary model.
struct BinaryHeader {
  std::int32_t magic = 0, number_size = 0, size_count = 0, version = 0, array_count = 0;
};
constexpr std::int32_t kMagic = 54321;
constexpr mjtSize kLargestSize = mjtSize{1} << 48;  // small enough for the products below
constexpr double kMaxDataBytes = 1 << 28;           // of the arrays of mjData
#define X(name) +1
constexpr std::size_t kSizeCount = 0 MJMODEL_SIZES;
#undef X
#define X(type, name, nr, nc) +1
constexpr int kArrayCount = 0 MJMODEL_POINTERS;
#undef X

// Number of the controller that does nothing.
int slot_of_nothing() {
  mjpPlugin nothing;
  mjp_defaultPlugin(&nothing);
  nothing.name = "tendril.nothing";
  nothing.capabilityflags = mjPLUGIN_ACTUATOR | mjPLUGIN_SENSOR | mjPLUGIN_PASSIVE;
  nothing.nstate = [](const mjModel* m, int instance) { return m->plugin_statenum[instance]; };
  nothing.nsensordata = [](const mjModel* m, int, int sensor) { return m->sensor_dim[sensor]; };
  nothing.init = [](const mjModel*, mjData*, int) { return 0; };
  nothing.compute = [](const mjModel*, mjData*, int, int) {};
  return mjp_registerPlugin(&nothing);
}

// Slot number of each name.
std::vector<int> slots_of(const std::string& names, UnknownPlugin unknown) {
  std::vector<int> slots;
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    int slot = -1;
    if (mjp_getPlugin(name.c_str(), &slot) == nullptr) {
      if (unknown == UnknownPlugin::Refuse)
        throw ModelError("recording: plugin = " + name +
                         ": not loaded: give its library with --plugin FILE.so or its file with "
                         "--python FILE.py");
      slot = slot_of_nothing();
    }
    slots.push_back(slot);
  }
  return slots;
}

// Size of the arrays of mjData, but for the arena. No array of the model vouches for some of them.
double bytes_of_data(const mjModel& sizes) {
  double bytes = 0.0;
#undef MJ_M
#define MJ_M(n) sizes.n
#define X(type, name, nr, nc) \
  bytes += static_cast<double>(sizes.nr) * static_cast<double>(nc) * sizeof(type);
  MJDATA_POINTERS
#undef X
#undef MJ_M
#define MJ_M(n) n
  return bytes;
}

// What precedes the arrays: header, sizes, options and flags.
constexpr std::size_t kFlagsBegin = sizeof(BinaryHeader) + kSizeCount * sizeof(mjtSize) +
                                    sizeof(mjOption) + sizeof(mjVisual) + sizeof(mjStatistic);
constexpr std::size_t kArraysBegin = kFlagsBegin + sizeof(mjModel::flg_gravcomp) +
                                     sizeof(mjModel::flg_surfacevel) +
                                     sizeof(mjModel::flg_adhesion);

// Reads the sizes of a binary model; returns what is wrong with them, or nothing.
std::string read_sizes(std::span<const std::byte> mjb, mjModel& sizes) {
  if (mjb.size() < kArraysBegin) return "it is too short";
  BinaryHeader header;
  mjtSize values[kSizeCount];
  std::memcpy(&header, mjb.data(), sizeof(header));
  std::memcpy(values, mjb.data() + sizeof(header), sizeof(values));
  if (header.magic != kMagic) return "it does not begin as a binary model";
  if (header.version != mj_version())
    return "it is of version " + std::to_string(header.version) + ", must be " +
           std::to_string(mj_version());
  if (header.number_size != sizeof(mjtNum) || header.size_count != kSizeCount ||
      header.array_count != kArrayCount)
    return "its header has unknown sizes";

  for (const mjtSize value : values)
    if (value < -1 || value > kLargestSize) return "its sizes are out of range";
  for (std::size_t flag = kFlagsBegin; flag < kArraysBegin; ++flag)
    if (std::to_integer<int>(mjb[flag]) > 1) return "its flags must be 0 or 1";
  const mjtSize* next = values;
#define X(name) sizes.name = *next++;
  MJMODEL_SIZES
#undef X
  if (const double bytes = bytes_of_data(sizes); bytes > kMaxDataBytes)
    return fmt::format("its data would take {:.3g} bytes, must be at most {:.3g}", bytes,
                       kMaxDataBytes);
  return {};
}

}  // namespace

std::string bind_plugins(std::span<std::byte> mjb, const std::string& names,
                         UnknownPlugin unknown) {
  const std::vector<int> slots = slots_of(names, unknown);
  mjModel sizes{};
  if (std::string problem = read_sizes(mjb, sizes); !problem.empty()) return problem;
  std::size_t at = kArraysBegin;
  std::size_t plugin = 0;  // where the array is
  std::vector<BinaryArray> arrays;
  bool fits = true;
  const auto skip = [&](std::string_view name, mjtSize rows, mjtSize columns, std::size_t element,
                        bool has_flags) {
    const std::size_t rest = mjb.size() - at;
    fits = fits && rows >= 0 && columns >= 0 &&
           (rows == 0 ||
            static_cast<std::size_t>(columns) <= rest / element / static_cast<std::size_t>(rows));
    if (!fits) return;
    const std::size_t size =
        static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * element;
    arrays.push_back({name, mjb.subspan(at, size), has_flags});
    at += size;
  };
#undef MJ_M
#define MJ_M(n) sizes.n
#define X(type, name, nr, nc)                           \
  if (std::string_view(#name) == "plugin") plugin = at; \
  skip(#name, sizes.nr, static_cast<mjtSize>(nc), sizeof(type), std::is_same_v<type, mjtBool>);
  MJMODEL_POINTERS
#undef X
#undef MJ_M
#define MJ_M(n) n
  if (!fits || at != mjb.size()) return "its sizes do not fit its length";
  if (static_cast<std::size_t>(sizes.nplugin) != slots.size())
    return "it has " + std::to_string(sizes.nplugin) +
           " plugin instances, the attribute plugins names " + std::to_string(slots.size());
  if (std::string problem = index_problem(sizes, arrays); !problem.empty()) return problem;
  if (!slots.empty()) std::memcpy(mjb.data() + plugin, slots.data(), std::span(slots).size_bytes());
  return {};
}

}  // namespace tendril
