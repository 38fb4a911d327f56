#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/published/experiments.hpp"
#include "bench/published/record.hpp"

namespace tendril::tables {

struct RunOptions {
  std::vector<std::string> tables = {};      ///< names; empty: all
  std::vector<std::string> methods = {};     ///< only these; empty: all
  std::optional<std::int64_t> samples = {};  ///< per row, >= 1; none: those of each table
  bool full = false;                         ///< without `samples`: the published sample sizes
  int threads = 0;                           ///< >= 0; 0: as many as the machine has
  std::filesystem::path folder = {};         ///< of the results that are kept; empty: none are
  bool fresh = false;                        ///< compute what is kept, too
  std::string program = {};                  ///< version and commit, part of the key
  const std::atomic<bool>* stop = nullptr;   ///< the run ends soon after it becomes true
  /// Called about ten times a second with what is done, 0..1.
  std::function<void(const std::string& text, double part)> on_progress = {};
};

struct TableResult {
  Table table;
  std::int64_t samples = 0;
  std::vector<Record> records = {};  ///< rows in order, methods in order in each
};

struct RunResult {
  std::vector<TableResult> tables;
  bool interrupted = false;  ///< the tables hold what was finished
  int computed = 0, restored = 0;
  int unreadable_lines = 0;  ///< of the kept results
  double unit_us = 0.0;
  int threads = 1;
  double wall_time = 0.0;  ///< [s]
};

/// Time of one 6x6 LLT factorisation and solve in double by Eigen [us]: the unit of times that
/// machines can be compared by.
[[nodiscard]] double measure_unit_us();

/// Runs the experiments, over threads: the cells of a table are cut into blocks which any thread
/// may take. Throws ModelError for unknown tables or methods and samples out of range, and
/// std::runtime_error when results cannot be kept.
[[nodiscard]] RunResult run_tables(const RunOptions& options);

}  // namespace tendril::tables
