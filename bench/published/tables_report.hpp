#pragma once

#include <string>

#include "bench/published/run_tables.hpp"

namespace tendril::tables {

/// Circumstances under which the tables were computed.
struct Circumstances {
  std::string command = {};    ///< command line
  std::string processor = {};  ///< CPU model
  unsigned cores = 0;
  std::string compiler = {};
  std::string program = {};  ///< version and commit
  std::string date = {};     ///< ISO
};

/// The tables for a terminal: one line per method of a row, with measured and published values.
[[nodiscard]] std::string tables_text(const RunResult& run);

/// The same as a Markdown page with the circumstances, an explanation of the
/// columns, and the matrices of tables that have them.
[[nodiscard]] std::string tables_markdown(const RunResult& run, const Circumstances& circumstances);

/// All results as JSON: one element of "rows" per record, with published numbers; "pooled" lines of
/// tables printed pooled. Times in us. Missing values (no success, no failure) are null.
[[nodiscard]] std::string tables_json(const RunResult& run, const Circumstances& circumstances);

}  // namespace tendril::tables
