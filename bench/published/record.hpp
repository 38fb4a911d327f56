#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "bench/published/measurement.hpp"

namespace tendril::tables {

/// Everything on which a result, except times, depends: a record with the same key is not
/// recomputed.
struct RecordKey {
  std::string table, row, method;
  std::int64_t samples = 0;
  std::uint64_t seed = 0;
  std::string program;  ///< version and commit
  [[nodiscard]] bool operator==(const RecordKey&) const = default;
  [[nodiscard]] auto operator<=>(const RecordKey&) const = default;
};

/// Result of one method on a row of table 3.5. `map` has a digit for each evaluated cell, by rows
/// of equal z from the lowest on: 0 reached by neither, 1 by both, 2 by inverse kinematics only, 3
/// by Monte-Carlo only.
struct Coverage {
  int stride = 1;  ///< of the evaluated cells, in both directions
  int columns = 0, rows = 0;
  std::string map;
  std::vector<double> times = {};  ///< of the solves that reached the cells [s]; 0: none did
  [[nodiscard]] std::int64_t count(char digit) const noexcept;
  [[nodiscard]] std::int64_t both() const noexcept { return count('1'); }
  [[nodiscard]] std::int64_t inverse_only() const noexcept { return count('2'); }
  [[nodiscard]] std::int64_t monte_carlo_only() const noexcept { return count('3'); }
};

/// The result of one method on one row; `refusal`: why there is none.
struct Record {
  RecordKey key;
  int threads = 1;       ///< of the run that computed it
  double unit_us = 0.0;  ///< one unit of time in that run [us]
  std::string refusal;
  std::variant<Measurement, Coverage> result;
};

[[nodiscard]] nlohmann::ordered_json to_json(const Record& record);
/// Throws nlohmann::json::exception or std::out_of_range for invalid text.
[[nodiscard]] Record record_from_json(const nlohmann::ordered_json& json);

}  // namespace tendril::tables
