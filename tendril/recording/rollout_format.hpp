#pragma once

// Read first: rollout_file.hpp. The layout in words is docs/reference/recording_file.md.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::format {

inline constexpr const char* kGroup = "/rollout_0";
inline constexpr const char* kName = "tendril rollout";
inline constexpr std::int64_t kVersion = 2;
inline constexpr const char* kTexts = "texts";  ///< group of the texts, below kGroup
inline constexpr std::size_t kRowsPerChunk = RolloutReader::kBlockRows;
inline constexpr std::size_t kContactsPerChunk = 512;
inline constexpr std::size_t kIntegrationsPerChunk = 64;
inline constexpr std::size_t kOutcomeSize = 256;     ///< bytes of the attribute `outcome`, UTF-8
inline constexpr const char* kPartSuffix = ".part";  ///< of the file's name while it is created
inline constexpr const char* kRunning = "running";   ///< the outcome until the file is closed

/// A quantity with a fixed number of values in every row.
struct Field {
  const char* path;                ///< below kGroup
  std::vector<std::size_t> shape;  ///< of one row

  [[nodiscard]] std::size_t width() const {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
  }
};

inline constexpr std::size_t kFieldCount = 8;

inline std::array<Field, kFieldCount> fields(const RolloutLayout& layout) {
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  return {{{"qpos", {size(layout.nq)}},
           {"qvel", {size(layout.nv)}},
           {"ctrl", {size(layout.nu)}},
           {"act", {size(layout.na)}},
           {"sensordata", {size(layout.nsensordata)}},
           {"plugin_state", {size(layout.npluginstate)}},
           {"mocap/pos", {size(layout.nmocap), 3}},
           {"mocap/quat", {size(layout.nmocap), 4}}}};
}

/// A growing dataset.
struct Column {
  enum class Type { Int64, Int32, Float64 };
  std::string path;  ///< below kGroup
  Type type;
  std::vector<std::size_t> shape;  ///< of one row
  std::size_t chunk_rows;

  /// Numbers of a row.
  [[nodiscard]] std::size_t elements() const { return Field{"", shape}.width(); }
  [[nodiscard]] std::size_t element_size() const { return type == Type::Int32 ? 4 : 8; }
};

// Where the groups of columns begin.
inline constexpr std::size_t kFieldColumns = 3;  // after step, time and step_time_us
inline constexpr std::size_t kContactRowColumns = kFieldColumns + kFieldCount;
inline constexpr std::size_t kContactColumns = kContactRowColumns + 2;
inline constexpr std::size_t kIntegrationColumns = kContactColumns + 5;

/// All growing datasets of a recording.
inline std::vector<Column> columns(const RolloutLayout& layout) {
  using enum Column::Type;
  std::vector<Column> all{{"step", Int64, {}, kRowsPerChunk},
                          {"time", Float64, {}, kRowsPerChunk},
                          {"step_time_us", Float64, {}, kRowsPerChunk}};
  for (const Field& field : fields(layout))
    all.push_back({field.path, Float64, field.shape, kRowsPerChunk});
  all.insert(all.end(),
             {{"contact/start", Int64, {}, kRowsPerChunk},
              {"contact/count", Int32, {}, kRowsPerChunk},
              {"contact/geom1", Int32, {}, kContactsPerChunk},
              {"contact/geom2", Int32, {}, kContactsPerChunk},
              {"contact/distance", Float64, {}, kContactsPerChunk},
              {"contact/position", Float64, {3}, kContactsPerChunk},
              {"contact/force", Float64, {3}, kContactsPerChunk},
              {"integration/state", Float64, {static_cast<std::size_t>(layout.nintegration)}, 1},
              {"integration/row", Int64, {}, kIntegrationsPerChunk}});
  return all;
}

}  // namespace tendril::format
