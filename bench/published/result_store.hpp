#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "bench/published/record.hpp"

namespace tendril::tables {

/// Finished results in a file of JSON lines, so that an interrupted run can be continued. A line is
/// written atomically; an invalid line (the writer was killed) is ignored and recomputed. Of two
/// records with the same key the later one is used.
class ResultStore {
 public:
  /// Reads `folder`/results.jsonl if it exists; creates the folder otherwise. Throws
  /// std::runtime_error naming the file on failure.
  explicit ResultStore(const std::filesystem::path& folder);

  [[nodiscard]] const Record* find(const RecordKey& key) const;

  /// Throws std::runtime_error naming the file.
  void append(const Record& record);

  [[nodiscard]] int unreadable_lines() const noexcept { return unreadable_lines_; }
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

 private:
  std::filesystem::path file_;
  std::map<RecordKey, Record> records_;
  int unreadable_lines_ = 0;
  bool ends_inside_line_ = false;
};

}  // namespace tendril::tables
