#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "bench/published/record.hpp"

namespace tendril::tables {

/// Finished results in a file of JSON lines, so that an interrupted run goes on where it was.
/// A line is written whole and at once; one that is no record (a writer was killed) is passed over
/// and computed again. Of two records with one key the later one counts.
class ResultStore {
 public:
  /// Reads `folder`/results.jsonl if it is there; makes the folder otherwise. Throws
  /// std::runtime_error naming the file when that fails.
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
