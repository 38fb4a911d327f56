#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/model/key_info.hpp"

namespace tendril {

/// What readers ask of one key of a file.
struct KeyRecord {
  KeyInfo info;
  std::string default_text;  ///< as in a file, or "required"
  std::string allowed;       ///< "(0, 2 pi]", "`true`, `false`"
};

/// Records the keys that readers of files refuse or read, while it exists. Documents are generated
/// from it, so that defaults and ranges in them are those of the readers. One at a time in a
/// thread; readers without a log do nothing of it.
class KeyLog {
 public:
  struct Table {
    std::string name;  ///< "section" of [[section]]; empty: the head of the file
    std::vector<KeyRecord> keys;
  };

  /// @param file_name  of the only files whose keys are recorded
  explicit KeyLog(std::string file_name);
  ~KeyLog();
  KeyLog(const KeyLog&) = delete;
  KeyLog& operator=(const KeyLog&) = delete;

  /// The log of this thread for a file; null without one.
  [[nodiscard]] static KeyLog* of(std::string_view file_name) noexcept;

  /// Keys of a table, in their order.
  void know(std::string_view object, KeyRows rows);
  /// Default and range of a key; the first of each counts. Keys without a row are left out.
  void note(std::string_view object, std::string_view key, std::string_view default_text,
            std::string_view allowed);

  /// The table of this name; throws std::out_of_range.
  [[nodiscard]] const Table& table(std::string_view name) const;

 private:
  [[nodiscard]] Table& table_of(std::string_view object);

  std::string file_name_;
  std::vector<Table> tables_;
};

}  // namespace tendril
