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

#include "tendril/system/file_descriptor.hpp"

namespace tendril::simulation {

/// Thrown on a read error of an open file; the message names the file. Exit code 4.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A column of numbers.
struct CsvColumn {
  std::string name;
  bool required = true;
};

/// The columns allowed in a table.
struct CsvLayout {
  std::vector<CsvColumn> columns;    ///< in the order of the values of a row
  std::vector<std::string> ignored;  ///< allowed, but not read
  std::string allowed;  ///< text of the allowed columns for messages: "x,y,z[,zx,zy,zz]"
};

/// Reads a table of numbers from a CSV file row by row, in constant memory. Format:
/// docs/guide/ik.md. Errors in the text are ModelErrors naming file, line and column:
/// `targets.csv: row 7, column x: "0.1o": must be a finite number`; rows count as the lines of the
/// file, from 1 for the header.
class CsvReader {
 public:
  /// Opens the file (`-`: stdin) and reads the header, which names every column once, in any order.
  /// Throws ModelError for a file that cannot be opened or is empty, and for a header with an
  /// unknown or repeated column or without a required one.
  CsvReader(const std::string& file, const CsvLayout& layout);

  /// Tells whether the table has the column of the layout with this index.
  [[nodiscard]] bool has(std::size_t column) const { return present_[column]; }

  /// Reads the next row into `values`, one per column of the layout; 0 for columns that are absent.
  /// Returns false at the end of the file. Throws ModelError, and InputError on a read error.
  [[nodiscard]] bool read(std::span<double> values);

  /// "<file>: row <line of the last row>".
  [[nodiscard]] std::string place() const;

  /// Throws ModelError "<place>, <what>".
  [[noreturn]] void refuse(const std::string& what) const;

  /// Fraction of the file that has been read, 0..1; nothing if its size is unknown (a pipe).
  [[nodiscard]] std::optional<double> part() const;

 private:
  void read_header(const CsvLayout& layout);
  [[nodiscard]] std::optional<std::string_view> next_line();
  [[nodiscard]] bool next_filled_line(std::string_view& line);
  void split(std::string_view line);
  [[nodiscard]] double number(std::size_t field, const std::string& column) const;

  std::string shown_;  // of the file, in messages
  system::FileDescriptor descriptor_;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // range of unread bytes in the buffer
  std::uint64_t bytes_read_ = 0;
  std::optional<std::uint64_t> size_;
  long line_ = 0;

  struct Target {  // destination of a column of the file
    std::ptrdiff_t column = -1;
    std::string name;
  };
  std::vector<Target> targets_;
  std::vector<bool> present_;

  /// A field without surrounding spaces and quotes; doubled quotes are kept.
  std::vector<std::string_view> fields_;
};

/// Writes a CSV file. Numbers have enough digits to give the same double when read.
///
/// A regular file is written under its name with the suffix `.part` and renamed by `finish`, so
/// that a file with the final name is always complete; without `finish`, and when
/// the program is interrupted, the partial file is removed. Stdout and other files that are not
/// regular (a pipe, a device) are written directly. Throws OutputError.
class CsvWriter {
 public:
  /// @param file  `-` or empty: stdout
  explicit CsvWriter(const std::string& file);
  ~CsvWriter();
  CsvWriter(const CsvWriter&) = delete;
  CsvWriter& operator=(const CsvWriter&) = delete;

  /// Appends a field to the row. The text must not need quotes.
  void field(std::string_view text);
  void field(double value);
  void field(long value);
  /// Appends a number with this number of digits after the decimal point.
  void field(double value, int decimals);

  void end_row();

  /// Writes the buffer, for the reader of a pipe.
  void flush();

  /// Completes the file and renames it.
  void finish();

 private:
  void separate();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;  // empty: stdout
  std::filesystem::path part_;  // empty: written directly
  system::FileDescriptor descriptor_;
  bool row_begun_ = false;
  std::string buffer_;
};

}  // namespace tendril::simulation
