#include "apps/tendril/export_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/files/csv_table.hpp"
#include "apps/tendril/python_script.hpp"
#include "simulation/rollout/recover_recording.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr const char* kPosition[] = {"x", "y", "z"};
constexpr const char* kQuaternion[] = {"qw", "qx", "qy", "qz"};
constexpr const char* kVelocity[] = {"vx", "vy", "vz"};
constexpr const char* kTurning[] = {"wx", "wy", "wz"};

/// Columns of one dataset, named "<dataset>.<number>" where the tables do not name them.
class ColumnNames {
 public:
  ColumnNames(std::string dataset, int count) : dataset_(std::move(dataset)) {
    for (int i = 0; i < count; ++i) names_.push_back(fmt::format("{}.{}", dataset_, i));
  }

  /// Names the columns from `address` on "<dataset>.<element>" or, if there are several,
  /// "<dataset>.<element>.<part>"; those outside the dataset are ignored.
  void name(const Json& element, std::int64_t address, std::span<const std::string> parts) {
    const std::string own = element.value("name", "");
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::int64_t column = address + static_cast<std::int64_t>(k);
      if (own.empty() || column < 0 || column >= static_cast<std::int64_t>(names_.size())) continue;
      names_[static_cast<std::size_t>(column)] =
          dataset_ + "." + own + (parts[k].empty() ? "" : "." + parts[k]);
    }
  }

  [[nodiscard]] const Names& names() const { return names_; }

 private:
  std::string dataset_;
  Names names_;
};

template <class... Lists>
Names joined(const Lists&... lists) {
  Names all;
  (all.insert(all.end(), std::begin(lists), std::end(lists)), ...);
  return all;
}

Names numbered(std::int64_t count) {
  if (count == 1) return {""};
  Names parts;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 1000); ++i)
    parts.push_back(std::to_string(i));
  return parts;
}

/// A table of the recording; empty if it has none, or a damaged one.
Json table(const RolloutReader& reader, const char* name) {
  const auto found = reader.attributes().find(name);
  Json list = found == reader.attributes().end() ? Json::array()
                                                 : Json::parse(found->second, nullptr, false);
  Json rows = Json::array();
  for (Json& row : list)
    if (row.is_object()) rows.push_back(std::move(row));
  return rows;
}

/// A dataset of the layout, its values in a row, and the names of its columns.
struct Columns {
  const char* dataset;
  std::vector<double> RolloutReader::Row::*values;
  Names names;
};

std::vector<Columns> columns_of(const RolloutReader& reader) {
  const RolloutLayout& layout = reader.layout();
  ColumnNames qpos("qpos", layout.nq);
  ColumnNames qvel("qvel", layout.nv);
  ColumnNames ctrl("ctrl", layout.nu);
  ColumnNames sensordata("sensordata", layout.nsensordata);
  Names mocap_pos;
  Names mocap_quat;
  try {
    for (const Json& joint : table(reader, "joints")) {
      const std::string type = joint.value("type", "");
      const bool is_free = type == "free";
      const bool is_ball = type == "ball";
      qpos.name(joint, joint.value("qpos_address", -1),
                is_free   ? joined(kPosition, kQuaternion)
                : is_ball ? joined(kQuaternion)
                          : Names{""});
      qvel.name(joint, joint.value("dof_address", -1),
                is_free   ? joined(kVelocity, kTurning)
                : is_ball ? joined(kTurning)
                          : Names{""});
    }
    for (const Json& actuator : table(reader, "actuators"))
      ctrl.name(actuator, actuator.value("address", -1), numbered(actuator.value("dimension", 1)));
    for (const Json& sensor : table(reader, "sensors"))
      sensordata.name(sensor, sensor.value("address", -1), numbered(sensor.value("dimension", 1)));
  } catch (const Json::exception&) {
    // A table with values of other types: its columns keep their numbers.
  }
  for (int i = 0; i < layout.nmocap; ++i) {
    for (const char* part : kPosition) mocap_pos.push_back(fmt::format("mocap_pos.{}.{}", i, part));
    for (const char* part : kQuaternion)
      mocap_quat.push_back(fmt::format("mocap_quat.{}.{}", i, part));
  }
  using Row = RolloutReader::Row;
  return {{"qpos", &Row::qpos, qpos.names()},
          {"qvel", &Row::qvel, qvel.names()},
          {"ctrl", &Row::ctrl, ctrl.names()},
          {"act", &Row::act, ColumnNames("act", layout.na).names()},
          {"sensordata", &Row::sensordata, sensordata.names()},
          {"plugin_state", &Row::plugin_state,
           ColumnNames("plugin_state", layout.npluginstate).names()},
          {"mocap_pos", &Row::mocap_pos, mocap_pos},
          {"mocap_quat", &Row::mocap_quat, mocap_quat}};
}

/// In quotes where CSV needs them.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

void write_csv(RolloutReader& reader, const std::filesystem::path& out) {
  const std::vector<Columns> all = columns_of(reader);
  CsvWriter csv(out.string());
  for (const char* name : {"step", "time", "step_time_us", "contacts"}) csv.field(name);
  for (const Columns& columns : all)
    for (const std::string& name : columns.names) csv.field(csv_text(name));
  csv.end_row();
  for (std::int64_t i = 0; i < reader.row_count(); ++i) {
    const RolloutReader::Row& row = reader.row(i);
    csv.field(static_cast<long>(row.step));
    csv.field(row.time);
    csv.field(row.step_time_us);
    csv.field(static_cast<long>(row.contacts.size()));
    for (const Columns& columns : all)
      for (const double value : row.*columns.values) csv.field(value);
    csv.end_row();
  }
  csv.finish();
}

void write_npz(RolloutReader& reader, const std::filesystem::path& file,
               const std::filesystem::path& out) {
  // What Python's own HDF5 does with damage is not known, so it gets whole files only.
  if (const Verification found = verify_recording(reader); !found.whole())
    throw RolloutDamageError(found.reason);
  Json names;
  for (const Columns& columns : columns_of(reader)) names[columns.dataset] = columns.names;
  const std::string input = Json{{"rows", reader.row_count()}, {"names", names}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
  const std::optional<std::string> problem = run_script(
      "apps/report/export_npz.py",
      {std::filesystem::absolute(file).string(), std::filesystem::absolute(out).string()}, input);
  if (problem)
    throw OutputError(fmt::format("{}: could not be written: {}", out.string(), *problem));
}

}  // namespace

std::int64_t export_recording(const std::filesystem::path& file, const std::filesystem::path& out) {
  const std::string extension = out.extension().string();
  if (extension != ".csv" && extension != ".npz")
    throw ModelError(
        fmt::format("{}: extension: \"{}\": must be .csv or .npz", out.string(), extension));
  refuse_same_file(file, out);
  RolloutReader reader(file);
  reader.require_rows();
  if (extension == ".csv")
    write_csv(reader, out);
  else
    write_npz(reader, file, out);
  return reader.row_count();
}

}  // namespace tendril::simulation
