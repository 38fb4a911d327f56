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
  std::optional<Table> own = {};             ///< run instead of the published tables
  std::vector<std::string> methods = {};     ///< only these; empty: all
  std::optional<std::int64_t> samples = {};  ///< per row, >= 1; none: those of each table
  bool full = false;                         ///< without `samples`: the published sample sizes
  int threads = 0;                           ///< >= 0; 0: one per core
  std::filesystem::path folder = {};         ///< of stored results; empty: results are not stored
  bool fresh = false;                        ///< recompute stored results
  std::string program = {};                  ///< version and commit, part of the key
  const std::atomic<bool>* stop = nullptr;   ///< the run ends soon after it becomes true
  /// Called about ten times per second with the fraction done, 0..1.
  std::function<void(const std::string& text, double part)> on_progress = {};
};

struct TableResult {
  Table table;
  std::int64_t samples = 0;
  std::vector<Record> records = {};  ///< rows in order, methods in order in each
};

struct RunResult {
  std::vector<TableResult> tables;
  bool interrupted = false;  ///< the tables contain the finished results
  int computed = 0, restored = 0;
  int unreadable_lines = 0;  ///< of the stored results
  double unit_us = 0.0;
  int threads = 1;
  double wall_time = 0.0;  ///< [s]
};

/// Time of one 6x6 LLT factorization and solve in double by Eigen [us]: the machine-independent
/// unit of time.
[[nodiscard]] double measure_unit_us();

/// Runs the experiments in parallel: the cells of a table are divided into blocks that any thread
/// may process. Throws ModelError for unknown tables or methods and samples out of range, and
/// std::runtime_error if results cannot be stored.
[[nodiscard]] RunResult run_tables(const RunOptions& options);

}  // namespace tendril::tables
