#include "simulation/files/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "simulation/files/output_error.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"
#include "tendril/system/interrupt.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;     // bytes
constexpr std::size_t kReadBuffer = std::size_t{1} << 16;      // bytes; grows for longer lines
constexpr std::size_t kFlushThreshold = std::size_t{1} << 16;  // bytes
constexpr std::size_t kShownText = 40;                         // bytes of a field in a message
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kSpace = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// The text in quotes for a message: one line of limited length without control characters.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownText)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return fmt::format("\"{}{}\"", shown, text.size() > kShownText ? "..." : "");
}

std::optional<double> parsed_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return read_number(text);
}

}  // namespace

// ---- reader ------------------------------------------------------------------------------------

CsvReader::CsvReader(const std::string& file, const CsvLayout& layout)
    : shown_(file == "-" ? "stdin" : file),
      descriptor_(file == "-" ? system::copy_of(system::Stream::Input)
                              : system::open_file(file, system::Opening::Read)),
      buffer_(kReadBuffer),
      present_(layout.columns.size(), false) {
  const auto status = system::status_of(descriptor_);
  if (!status)
    throw ModelError(fmt::format("{}: {}: must be a readable file", shown_, std::strerror(errno)));
  if (status->is_folder)
    throw ModelError(fmt::format("{}: is a folder: must be a readable file", shown_));
  if (status->is_regular) size_ = status->size;
  read_header(layout);
}

void CsvReader::read_header(const CsvLayout& layout) {
  std::string_view header;
  if (!next_filled_line(header))
    throw ModelError(fmt::format("{}: is empty: must begin with a line of column names: {}", shown_,
                                 layout.allowed));
  if (line_ == 1 && header.starts_with(kByteOrderMark)) header.remove_prefix(kByteOrderMark.size());
  split(header);

  std::map<std::string_view, std::ptrdiff_t> known;
  for (const std::string& name : layout.ignored) known[name] = -1;
  for (std::size_t k = 0; k < layout.columns.size(); ++k)
    known[layout.columns[k].name] = static_cast<std::ptrdiff_t>(k);
  std::set<std::string_view> seen;
  for (const std::string_view name : fields_) {
    const auto entry = known.find(name);
    if (entry == known.end())
      refuse(fmt::format("column {}: {}: is not known: the first line must name the columns {}",
                         targets_.size() + 1, quoted(name), layout.allowed));
    if (!seen.insert(name).second) refuse(fmt::format("column {}: is repeated", name));
    targets_.push_back({.column = entry->second, .name = std::string(name)});
    if (entry->second >= 0) present_[static_cast<std::size_t>(entry->second)] = true;
  }
  for (std::size_t k = 0; k < layout.columns.size(); ++k) {
    if (layout.columns[k].required && !present_[k])
      refuse(fmt::format("column {}: is missing: the columns must be {}", layout.columns[k].name,
                         layout.allowed));
  }
}

bool CsvReader::read(std::span<double> values) {
  std::string_view line;
  if (!next_filled_line(line)) return false;
  split(line);
  if (fields_.size() != targets_.size())
    throw ModelError(fmt::format("{}: row {}: has {} column{}: must have {}, as the header", shown_,
                                 line_, fields_.size(), fields_.size() == 1 ? "" : "s",
                                 targets_.size()));
  std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t k = 0; k < targets_.size(); ++k) {
    if (targets_[k].column >= 0)
      values[static_cast<std::size_t>(targets_[k].column)] = number(k, targets_[k].name);
  }
  return true;
}

void CsvReader::refuse(const std::string& what) const { throw ModelError(place() + ", " + what); }

std::string CsvReader::place() const { return fmt::format("{}: row {}", shown_, line_); }

std::optional<double> CsvReader::part() const {
  if (!size_ || *size_ == 0) return std::nullopt;
  return static_cast<double>(bytes_read_ - (end_ - begin_)) / static_cast<double>(*size_);
}

/// The next line without its line ending, LF or CRLF; valid until the next call.
std::optional<std::string_view> CsvReader::next_line() {
  for (;;) {
    const char* const first = buffer_.data() + begin_;
    const auto* newline = begin_ == end_
                              ? nullptr
                              : static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
    if (newline != nullptr || (at_end_ && begin_ < end_)) {
      const std::size_t length =
          newline != nullptr ? static_cast<std::size_t>(newline - first) : end_ - begin_;
      begin_ += length + (newline != nullptr ? 1 : 0);
      ++line_;
      std::string_view line(first, length);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    }
    if (at_end_) return std::nullopt;

    std::memmove(buffer_.data(), first, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == kLongestLine)
      throw ModelError(fmt::format("{}: row {}: is longer than {} bytes: must be a line of numbers",
                                   shown_, line_ + 1, kLongestLine));
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::ptrdiff_t count = system::read_some(descriptor_, std::span(buffer_).subspan(end_));
    if (count < 0)
      throw InputError(
          fmt::format("{}: {}: could not be read to its end", shown_, std::strerror(errno)));
    at_end_ = count == 0;
    end_ += static_cast<std::size_t>(count);
    bytes_read_ += static_cast<std::uint64_t>(count);
  }
}

/// The next line that is not blank. Blank lines are allowed at the end of the file only.
bool CsvReader::next_filled_line(std::string_view& line) {
  long blank = 0;
  while (const std::optional<std::string_view> next = next_line()) {
    if (trimmed(*next).empty()) {
      if (blank == 0) blank = line_;
      continue;
    }
    if (blank != 0)
      throw ModelError(
          fmt::format("{}: row {}: is blank: only lines at the end may be blank", shown_, blank));
    line = *next;
    return true;
  }
  return false;
}

/// Splits a line into fields_.
void CsvReader::split(std::string_view line) {
  fields_.clear();
  for (;;) {
    const std::size_t first = line.find_first_not_of(kSpace);
    if (first != std::string_view::npos && line[first] == '"') {
      line.remove_prefix(first + 1);
      std::size_t close_quote = line.find('"');
      while (close_quote != std::string_view::npos && line.substr(close_quote).starts_with("\"\""))
        close_quote = line.find('"', close_quote + 2);
      if (close_quote == std::string_view::npos)
        refuse(
            fmt::format("column {}: {}: must end with a quote", fields_.size() + 1, quoted(line)));
      fields_.push_back(trimmed(line.substr(0, close_quote)));
      line.remove_prefix(close_quote + 1);
      const std::size_t comma = line.find_first_not_of(kSpace);
      if (comma == std::string_view::npos) return;
      if (line[comma] != ',')
        refuse(fmt::format("column {}: {}: must not follow a closing quote", fields_.size(),
                           quoted(line.substr(comma))));
      line.remove_prefix(comma + 1);
      continue;
    }
    const std::size_t comma = line.find(',');
    fields_.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

double CsvReader::number(std::size_t field, const std::string& column) const {
  const std::optional<double> value = parsed_number(fields_[field]);
  if (!value)
    refuse(fmt::format("column {}: {}: must be a finite number", column, quoted(fields_[field])));
  return *value;
}

// ---- writer ------------------------------------------------------------------------------------

CsvWriter::CsvWriter(const std::string& file) {
  if (file.empty() || file == "-") {
    descriptor_ = system::copy_of(system::Stream::Output);
    if (!descriptor_.is_open()) fail(errno);
    return;
  }
  file_ = file;
  std::error_code ignored;
  const fs::file_status status = fs::status(file_, ignored);
  if (fs::is_directory(status)) fail(EISDIR);
  const bool is_replaced = !fs::exists(status) || fs::is_regular_file(status);
  if (is_replaced) {
    if (fs::exists(status)) {
      if (!system::is_writable(file_)) fail(errno);
      file_ = fs::canonical(file_);  // keeps a symbolic link
    }
    part_ = file_;
    part_ += ".part";
  }
  system::remove_at_interrupt(part_);
  descriptor_ = is_replaced ? system::open_file(part_, system::Opening::Replace)
                            : system::open_file(file_, system::Opening::Write);
  if (!descriptor_.is_open()) {
    const int error = errno;
    part_.clear();
    system::remove_at_interrupt({});
    fail(error);
  }
}

CsvWriter::~CsvWriter() {
  if (part_.empty()) return;
  std::error_code ignored;
  fs::remove(part_, ignored);
  system::remove_at_interrupt({});
}

void CsvWriter::field(std::string_view text) {
  separate();
  buffer_ += text;
}

void CsvWriter::field(double value) {
  separate();
  append_number(buffer_, value);
}

void CsvWriter::field(long value) {
  separate();
  buffer_ += std::to_string(value);
}

void CsvWriter::field(double value, int decimals) {
  separate();
  fmt::format_to(std::back_inserter(buffer_), "{:.{}f}", value, decimals);
}

void CsvWriter::separate() {
  if (row_begun_) buffer_ += ',';
  row_begun_ = true;
}

void CsvWriter::end_row() {
  buffer_ += '\n';
  row_begun_ = false;
  if (buffer_.size() >= kFlushThreshold) flush();
}

void CsvWriter::flush() {
  if (!system::write_all(descriptor_, buffer_)) fail(errno);
  buffer_.clear();
}

void CsvWriter::finish() {
  flush();
  if (!descriptor_.close()) fail(errno);
  if (part_.empty()) return;
  std::error_code error;
  fs::rename(part_, file_, error);
  if (error) fail(error.value());
  part_.clear();
  system::remove_at_interrupt({});
}

void CsvWriter::fail(int error) const {
  throw OutputError(fmt::format("{}: {}: could not be written",
                                file_.empty() ? "stdout" : file_.string(), std::strerror(error)));
}

}  // namespace tendril::simulation
