#include "simulation/rollout/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "simulation/engine/engine_log.hpp"
#include "simulation/rollout/drive_log.hpp"
#include "simulation/rollout/recorded_model.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/physical_faults.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model/fault_file.hpp"

namespace tendril::simulation {
namespace {

constexpr std::int64_t kProgressRows = 256;  // between two calls of on_progress

std::string attribute(const RolloutReader& reader, const std::string& name) {
  const auto found = reader.attributes().find(name);
  return found == reader.attributes().end() ? "unknown" : found->second;
}

std::optional<std::size_t> first_differing_bits(std::span<const double> a,
                                                std::span<const double> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) return std::nullopt;
  std::size_t i = 0;
  while (std::memcmp(&a[i], &b[i], sizeof(double)) == 0) ++i;
  return i;
}

// Model and data that replay a recording.
class Replayer {
 public:
  Replayer(ModelPtr model, std::span<const Fault> faults)
      : model_(std::move(model)),
        faults_(faults, *model_),
        data_(make_data(*model_)),
        integration_(static_cast<std::size_t>(mj_stateSize(model_.get(), mjSTATE_INTEGRATION))) {}

  // Returns the error text of the engine.
  [[nodiscard]] std::string start(const RolloutReader::Row& row) {
    return guarded([&] {
      mj_setState(model_.get(), data_.get(), row.integration_state.data(), mjSTATE_INTEGRATION);
    });
  }

  [[nodiscard]] std::string step(const RolloutReader::Row& row) {
    faults_.apply(*model_, *data_);  // sees the controls of the step before, like that of the run
    std::copy(row.mocap_pos.begin(), row.mocap_pos.end(), data_->mocap_pos);
    std::copy(row.mocap_quat.begin(), row.mocap_quat.end(), data_->mocap_quat);
    std::copy(row.ctrl.begin(), row.ctrl.end(), data_->ctrl);
    return guarded([&] { mj_step(model_.get(), data_.get()); });
  }

  [[nodiscard]] std::optional<ReplayDifference> compare(const RolloutReader::Row& row) {
    const mjModel& m = *model_;
    const mjData& d = *data_;
    const auto view = [](const mjtNum* values, mjtSize count) {
      return std::span<const double>(values, static_cast<std::size_t>(count));
    };
    if (!row.integration_state.empty())
      mj_getState(&m, &d, integration_.data(), mjSTATE_INTEGRATION);
    const struct {
      const char* name;
      std::span<const double> recorded, replayed;
    } fields[] = {{"time", {&row.time, 1}, {&d.time, 1}},
                  {"qpos", row.qpos, view(d.qpos, m.nq)},
                  {"qvel", row.qvel, view(d.qvel, m.nv)},
                  {"act", row.act, view(d.act, m.na)},
                  {"ctrl", row.ctrl, view(d.ctrl, m.nu)},
                  {"plugin_state", row.plugin_state, view(d.plugin_state, m.npluginstate)},
                  {"sensordata", row.sensordata, view(d.sensordata, m.nsensordata)},
                  {"integration", row.integration_state, integration_}};
    for (const auto& field : fields) {
      if (const auto i = first_differing_bits(field.recorded, field.replayed)) {
        return ReplayDifference{.step = row.step,
                                .field = field.name,
                                .index = static_cast<std::int64_t>(*i),
                                .recorded = field.recorded[*i],
                                .replayed = field.replayed[*i],
                                .reason = {}};
      }
    }
    return std::nullopt;
  }

 private:
  ModelPtr model_;
  PhysicalFaults faults_;
  DataPtr data_;
  std::vector<double> integration_;
};

ReplayDifference engine_failure(std::int64_t step, std::string reason) {
  return {.step = step, .field = "engine", .reason = std::move(reason)};
}

/// Of the log of a robot the driver makes the steps again.
ReplayResult replay_drive(RolloutReader& reader, ReplayResult result,
                          const OnReplayProgress& on_progress) {
  const DriveComparison found = repeat_drive(reader, on_progress);
  result.compared_steps = found.steps;
  if (found.first_step < 0) return result;
  result.compared_steps = found.first_step - reader.row(0).step;
  result.first_difference = {.step = found.first_step,
                             .field = "ctrl",
                             .index = static_cast<std::int64_t>(found.first_index),
                             .recorded = found.first_recorded,
                             .replayed = found.first_command,
                             .reason = {}};
  return result;
}

}  // namespace

ReplayResult replay(RolloutReader& reader, const OnReplayProgress& on_progress) {
  ReplayResult result;
  result.rows = reader.row_count();
  result.recorded_mujoco = attribute(reader, "mujoco_version");
  result.replaying_mujoco = mj_versionString();
  result.recorded_tendril = attribute(reader, "tendril_version");
  result.replaying_tendril = version();
  if (is_drive_log(reader)) return replay_drive(reader, std::move(result), on_progress);
  if (const auto engine = reader.attributes().find("stepped_by");
      engine != reader.attributes().end())
    throw RolloutFormatError(
        fmt::format("was stepped by {}: replay needs steps of MuJoCo", engine->second));
  if (const auto driver = reader.attributes().find("driven_by");
      driver != reader.attributes().end())
    throw RolloutFormatError(
        fmt::format("was driven by the controller of {}: tendril drive with --link log: gives that "
                    "the readings again",
                    driver->second));
  reader.require_rows();
  if (reader.row(0).integration_state.empty())
    throw RolloutFormatError("row 0: has no integration state to start from");

  ModelPtr model = recorded_model(reader);
  const auto found = reader.attributes().find("faults");
  const std::vector<Fault> faults = found == reader.attributes().end()
                                        ? std::vector<Fault>()
                                        : parse_faults(found->second, "faults");
  Replayer replayer(std::move(model), faults);
  if (std::string reason = replayer.start(reader.row(0)); !reason.empty()) {
    result.first_difference = engine_failure(0, std::move(reason));
    return result;
  }
  std::int64_t step = reader.row(0).step;
  for (std::int64_t i = 1; i < result.rows; ++i) {
    const RolloutReader::Row& row = reader.row(i);
    if (row.step != ++step)
      throw RolloutFormatError(
          fmt::format("row {}: step {}, must be {}: replay needs every step", i, row.step, step));
    if (std::string reason = replayer.step(row); !reason.empty()) {
      result.first_difference = engine_failure(step, std::move(reason));
      return result;
    }
    result.first_difference = replayer.compare(row);
    if (result.first_difference) return result;
    ++result.compared_steps;
    if (on_progress && i % kProgressRows == 0) on_progress(i, row.time);
  }
  return result;
}

}  // namespace tendril::simulation
