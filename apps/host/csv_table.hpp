#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "apps/host/file_descriptor.hpp"

namespace tendril::host {

/// Thrown when a file that was opened fails while it is read; the message names it. Exit code 4.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A column that is read as numbers.
struct CsvColumn {
  std::string name;
  bool required = true;
};

/// Which columns a table may have.
struct CsvLayout {
  std::vector<CsvColumn> columns;    ///< read, in the order in which rows hand them out
  std::vector<std::string> ignored;  ///< may stand in the table, are not looked at
  std::string allowed;               ///< the columns in words, for messages: "x,y,z[,zx,zy,zz]"
};

/// Reads a table of numbers from a CSV file row by row, in constant memory. Format:
/// docs/ik.md. Messages about the text are ModelErrors that name file, line and column:
/// `targets.csv: row 7, column x: "0.1o": must be a finite number`; rows count as the lines of the
/// file, from 1 for the header.
class CsvReader {
 public:
  /// Opens the file (`-`: stdin) and reads the header, which names every column once and in any
  /// order. Throws ModelError for a file that cannot be opened, an empty one, and a header with a
  /// column that is unknown or there twice, or without one that is required.
  CsvReader(const std::string& file, const CsvLayout& layout);

  /// Whether the table has the layout's column of that index.
  [[nodiscard]] bool has(std::size_t column) const { return present_[column]; }

  /// Reads the next row into `values`, one per column of the layout, 0 for those that the table
  /// does not have. False at the end of the file. Throws ModelError, and InputError when reading
  /// fails.
  [[nodiscard]] bool read(std::span<double> values);

  /// Throws ModelError "<file>: row <line of the last row>, <what>".
  [[noreturn]] void refuse(const std::string& what) const;

  /// Part of the file that has been read, 0..1; nothing where its size is not known (a pipe).
  [[nodiscard]] std::optional<double> part() const;

 private:
  void read_header(const CsvLayout& layout);
  [[nodiscard]] std::optional<std::string_view> next_line();
  [[nodiscard]] bool next_filled_line(std::string_view& line);
  void split(std::string_view line);
  [[nodiscard]] double number(std::size_t field, const std::string& column) const;

  std::string shown_;  // of the file, in messages
  FileDescriptor descriptor_;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // bytes of the buffer that are not handed out yet
  std::uint64_t bytes_read_ = 0;
  std::optional<std::uint64_t> size_;
  long line_ = 0;

  struct Target {  // where the field of a column of the file goes
    std::ptrdiff_t column = -1;
    std::string name;
  };
  std::vector<Target> targets_;
  std::vector<bool> present_;

  /// A field without the spaces and quotes round it; doubled quotes are still double.
  std::vector<std::string_view> fields_;
};

/// Writes a CSV file. Numbers have as many digits as bring the same double back when read.
///
/// A regular file is written under its name with `.part` behind it and renamed by `finish`, so that
/// a file of the desired name is always complete; without `finish` the part is removed. Stdout and
/// what else is no regular file (a pipe, a device) is written directly. Throws OutputError.
class CsvWriter {
 public:
  /// @param file  `-` or empty: stdout
  explicit CsvWriter(const std::string& file);
  ~CsvWriter();
  CsvWriter(const CsvWriter&) = delete;
  CsvWriter& operator=(const CsvWriter&) = delete;

  /// Appends a field to the row. The text must need no quotes: names and words.
  void field(std::string_view text);
  void field(double value);
  void field(long value);
  /// With that many digits after the point.
  void field(double value, int decimals);

  void end_row();

  /// Writes what is still in the buffer, so that the reader of a pipe has it.
  void flush();

  /// Ends the file and gives it its name.
  void finish();

 private:
  void separate();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;  // empty: stdout
  std::filesystem::path part_;  // empty: written directly
  FileDescriptor descriptor_;
  bool row_begun_ = false;
  std::string buffer_;
};

}  // namespace tendril::host
