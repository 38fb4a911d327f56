#include "simulation/rollout/recover_recording.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulation/files/part_file.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockRows = RolloutReader::kBlockRows;

void add(std::vector<RowRange>& ranges, std::int64_t first, std::int64_t last) {
  if (!ranges.empty() && ranges.back().last + 1 == first)
    ranges.back().last = last;
  else
    ranges.push_back({first, last});
}

/// Calls `use` with the rows of each block that can be read as a whole, and `refuse` with the first
/// and last row of each other one and the reason.
template <class Use, class Refuse>
void visit_blocks(RolloutReader& reader, const Use& use, const Refuse& refuse) {
  std::int64_t step = -1;  // of the last row
  for (std::int64_t first = 0; first < reader.row_count(); first += kBlockRows) {
    const std::int64_t last = std::min(first + kBlockRows, reader.row_count()) - 1;
    std::vector<RolloutReader::Row> rows;
    try {
      for (std::int64_t i = first; i <= last; ++i) {
        rows.push_back(reader.row(i));
        const std::int64_t before = i == first ? step : rows[rows.size() - 2].step;
        if (rows.back().step <= before)
          throw RolloutDamageError(
              fmt::format("step {} follows step {}", rows.back().step, before));
      }
    } catch (const RolloutDamageError& error) {
      refuse(first, last, error.what());
      continue;
    }
    step = rows.back().step;
    use(first, last, rows);
  }
}

RolloutAttributes typed(const std::map<std::string, std::string>& attributes) {
  RolloutAttributes result(attributes.begin(), attributes.end());
  if (const auto seed = attributes.find("seed"); seed != attributes.end())
    result["seed"] = read_integer<std::int64_t>(seed->second).value_or(0);
  if (const auto timestep = attributes.find("timestep"); timestep != attributes.end())
    result["timestep"] = read_number(timestep->second).value_or(0.0);
  return result;
}

}  // namespace

std::string to_string(const std::vector<RowRange>& ranges) {
  std::string text;
  for (const RowRange& range : ranges)
    text += fmt::format("{}{} to {}", text.empty() ? "rows " : ", ", range.first, range.last);
  return text.empty() ? "no rows" : text;
}

Verification verify_recording(RolloutReader& reader, const RowsRead& on_progress) {
  Verification result;
  result.rows = reader.row_count();
  visit_blocks(
      reader,
      [&](std::int64_t, std::int64_t last, const auto&) {
        if (on_progress) on_progress(last + 1);
      },
      [&](std::int64_t first, std::int64_t last, const std::string& reason) {
        add(result.damaged, first, last);
        if (result.reason.empty()) result.reason = reason;
      });
  try {
    static_cast<void>(reader.model_mjb());
  } catch (const RolloutDamageError& error) {
    if (result.reason.empty()) result.reason = error.what();
  }
  return result;
}

Recovery recover_recording(const fs::path& file, const fs::path& out) {
  refuse_same_file(file, out);
  RolloutReader reader(file, Damage::Tolerate);
  Recovery result;
  result.rows = reader.row_count();
  result.was_finished = reader.is_finished();
  std::vector<std::byte> model;
  try {
    model = reader.model_mjb();
  } catch (const RolloutDamageError&) {
    result.has_model = false;
  }

  PartFile part(out);
  RolloutAttributes attributes = typed(reader.attributes());
  attributes.erase("outcome");
  attributes["recovered_from"] = file.string();
  RolloutWriter writer(part.part(), reader.layout(), attributes, model);
  visit_blocks(
      reader,
      [&](std::int64_t first, std::int64_t last, const std::vector<RolloutReader::Row>& rows) {
        for (const RolloutReader::Row& row : rows) writer.append(row.view());
        add(result.kept, first, last);
        result.kept_rows += last - first + 1;
      },
      [](std::int64_t, std::int64_t, const std::string&) {});
  const auto outcome = reader.attributes().find("outcome");
  writer.close(fmt::format("recovered: {} of {} rows; {}", result.kept_rows, result.rows,
                           outcome == reader.attributes().end() ? "its outcome is lost"
                           : result.was_finished                ? outcome->second
                                                                : "it was not finished"));
  if (const std::error_code error = part.finish())
    throw RolloutError(fmt::format("{}: {}: could not be written", out.string(), error.message()));
  return result;
}

void refuse_same_file(const fs::path& file, const fs::path& out) {
  std::error_code ignored;
  if (fs::equivalent(file, out, ignored))
    throw ModelError(
        fmt::format("{}: is the recording that is read: must be another file", out.string()));
}

}  // namespace tendril::simulation
