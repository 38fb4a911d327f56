// Recordings, as every command reads them.

#include <algorithm>
#include <cstdint>

#include "tendril/recording/rollout_file.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/readers.hpp"

namespace tendril::fuzz {
namespace {

constexpr std::int64_t kRows = 300;  // read at the beginning; more than a block

void check_row(RolloutReader& reader, std::int64_t index) {
  const RolloutLayout& layout = reader.layout();
  const RolloutReader::Row& row = reader.row(index);
  const auto has = [](const auto& values, int count) {
    return values.size() == static_cast<std::size_t>(count);
  };
  require(has(row.qpos, layout.nq) && has(row.qvel, layout.nv) && has(row.ctrl, layout.nu) &&
              has(row.act, layout.na) && has(row.sensordata, layout.nsensordata) &&
              has(row.plugin_state, layout.npluginstate) && has(row.mocap_pos, 3 * layout.nmocap) &&
              has(row.mocap_quat, 4 * layout.nmocap),
          "a row has the sizes of the layout");
  require(row.integration_state.empty() || has(row.integration_state, layout.nintegration),
          "a full state has the size of the layout");
}

}  // namespace

void recording(std::string_view input) {
  static InputFile file;
  file.write(input);
  read_or_refuse<RolloutError>([&] {
    RolloutReader reader(file.path());
    const std::int64_t rows = reader.row_count();
    read_or_refuse<RolloutError>([&] { static_cast<void>(reader.model_mjb()); });
    for (std::int64_t i = 0; i < std::min(rows, kRows); ++i) check_row(reader, i);
    if (rows > kRows) check_row(reader, rows - 1);
  });
}

}  // namespace tendril::fuzz
