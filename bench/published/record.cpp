#include "bench/published/record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tendril::tables {

using Json = nlohmann::ordered_json;

std::int64_t Coverage::count(char digit) const noexcept {
  return std::count(map.begin(), map.end(), digit);
}

Json to_json(const Record& record) {
  Json json = {{"table", record.key.table},   {"row", record.key.row},
               {"method", record.key.method}, {"samples", record.key.samples},
               {"seed", record.key.seed},     {"program", record.key.program},
               {"threads", record.threads},   {"unit_us", record.unit_us}};
  if (!record.refusal.empty()) {
    json["refusal"] = record.refusal;
  } else if (const auto* coverage = std::get_if<Coverage>(&record.result)) {
    json["coverage"] = {{"stride", coverage->stride},
                        {"columns", coverage->columns},
                        {"rows", coverage->rows},
                        {"map", coverage->map},
                        {"times", coverage->times}};
  } else {
    json["measurement"] = to_json(std::get<Measurement>(record.result));
  }
  return json;
}

Record record_from_json(const Json& json) {
  Record record;
  json.at("table").get_to(record.key.table);
  json.at("row").get_to(record.key.row);
  json.at("method").get_to(record.key.method);
  json.at("samples").get_to(record.key.samples);
  json.at("seed").get_to(record.key.seed);
  json.at("program").get_to(record.key.program);
  json.at("threads").get_to(record.threads);
  json.at("unit_us").get_to(record.unit_us);
  if (json.contains("coverage")) {
    const Json& from = json["coverage"];
    Coverage coverage;
    from.at("stride").get_to(coverage.stride);
    from.at("columns").get_to(coverage.columns);
    from.at("rows").get_to(coverage.rows);
    from.at("map").get_to(coverage.map);
    from.at("times").get_to(coverage.times);
    record.result = std::move(coverage);
  } else {
    record.result = measurement_from_json(json.at("measurement"));
  }
  return record;
}

}  // namespace tendril::tables
