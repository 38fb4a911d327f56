#include "simulation/drive/drive_log.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "simulation/engine/engine.hpp"
#include "simulation/rollout/recorded_model.hpp"

namespace tendril::simulation {

DriveComparison drive_by_log(RolloutReader& reader, const std::filesystem::path& file,
                             const DriveOptions& options, std::uint64_t seed,
                             const std::function<void(std::int64_t, double)>& on_progress) {
  constexpr std::int64_t kProgressRows = 100;
  reader.require_rows();
  const ModelPtr model = recorded_model(reader);
  mjModel& m = *model;
  const DataPtr data = make_data(m);
  mjData& d = *data;
  const auto set = [](std::span<const double> from, mjtNum* to) { std::ranges::copy(from, to); };
  const auto set_state = [&](const RolloutReader::Row& row) {
    d.time = row.time;
    set(row.qpos, d.qpos);
    set(row.qvel, d.qvel);
    set(row.act, d.act);
    set(row.ctrl, d.ctrl);
    set(row.plugin_state, d.plugin_state);
  };
  set_state(reader.row(0));
  DrivenRobot driven(file, m, d, options, seed);
  DriveComparison result;
  const std::int64_t rows = reader.row_count();
  for (std::int64_t i = 1; i < rows; ++i) {
    const RolloutReader::Row& row = reader.row(i);
    set(row.mocap_pos, d.mocap_pos);
    set(row.mocap_quat, d.mocap_quat);
    mj_forward(&m, &d);  // the plugin reads the sensors of the state before
    ++result.steps;
    bool is_equal = true;
    for (std::size_t k = 0; k < driven.controls().size(); ++k) {
      const auto address = static_cast<std::size_t>(driven.controls()[k]);
      const auto& [low, high] = driven.loop().driver().actuators()[k].range;
      const double recorded = std::clamp(row.ctrl[address], low, high);  // as the engine does
      const double driver = d.ctrl[address];
      is_equal &= std::bit_cast<std::uint64_t>(recorded) == std::bit_cast<std::uint64_t>(driver);
      const double range = high - low;
      const double difference = std::abs(recorded - driver) / (std::isfinite(range) ? range : 1.0);
      if (difference <= result.largest) continue;
      result.largest = difference;
      result.actuator = driven.loop().driver().actuators()[k].name;
    }
    if (is_equal)
      ++result.equal_steps;
    else if (result.first_step < 0)
      result.first_step = row.step;
    set_state(row);
    if (on_progress && i % kProgressRows == 0) on_progress(i, row.time);
  }
  result.counts = driven.loop().counts();
  return result;
}

}  // namespace tendril::simulation
