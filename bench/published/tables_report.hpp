#pragma once

#include <string>

#include "bench/published/run_tables.hpp"

namespace tendril::tables {

/// Where and how the tables were made.
struct Circumstances {
  std::string command = {};    ///< command line
  std::string processor = {};  ///< CPU model
  unsigned cores = 0;
  std::string compiler = {};
  std::string program = {};  ///< version and commit
  std::string date = {};     ///< ISO
};

/// The tables for a terminal: a line for each method of a row, measured beside published.
[[nodiscard]] std::string tables_text(const RunResult& run);

/// The same as a page: with the circumstances, how to read the columns, and the matrices of those
/// tables that have them.
[[nodiscard]] std::string tables_markdown(const RunResult& run, const Circumstances& circumstances);

/// Everything as JSON: one element of "rows" for each record, with published numbers; "pooled"
/// lines of tables that are printed pooled. Times in us. What is not there (no success, no failure)
/// is null.
[[nodiscard]] std::string tables_json(const RunResult& run, const Circumstances& circumstances);

}  // namespace tendril::tables
