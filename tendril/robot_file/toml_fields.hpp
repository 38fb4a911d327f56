#pragma once

// For readers of TOML files in this repository, not for users: the fields of a TOML table, read and
// checked.

#include <toml++/toml.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tendril::robot_file_detail {

/// Parses TOML text; a syntax error is a ModelError `file:line:column: reason`.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file_name);

/// The whole file; a ModelError `<file>: <reason>` when it cannot be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// What a number may be. The check is written so that NaN never passes.
struct Allowed {
  double low = 0.0;
  double high = 0.0;
  bool low_included = true;
  std::string_view text;  ///< "must be ..."

  [[nodiscard]] bool holds(double value) const noexcept {
    return (low_included ? value >= low : value > low) && value <= high;
  }
};

/// Largest number accepted anywhere; keeps overflows out of the model.
inline constexpr double kLargestNumber = 1e9;

inline constexpr Allowed kPositive{0.0, kLargestNumber, false, "must be positive, at most 1e9"};
inline constexpr Allowed kNotNegative{0.0, kLargestNumber, true, "must be in [0, 1e9]"};

/// Whether the messages name the line. Text that this library wrote itself has no lines a user
/// knows.
enum class Lines { Named, Omitted };

/// The fields of one TOML table. Every reader throws a ModelError
/// `<file>:<line>: <object>: <key> = <value>: <what is allowed>`; the top level has no object.
class Fields {
 public:
  Fields(const toml::table& table, std::string file_name, std::string object, Lines lines);

  /// Refuses a key that is not in `known`.
  void refuse_unknown(std::span<const std::string_view> known) const;

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  [[nodiscard]] double number(std::string_view key, double fallback, const Allowed& allowed) const;
  [[nodiscard]] double required_number(std::string_view key, const Allowed& allowed) const;
  [[nodiscard]] int integer(std::string_view key, int fallback, int low, int high) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key, const Allowed& each) const;
  /// The number `node`, which is the value of `key` or an element of it.
  [[nodiscard]] double element(std::string_view key, const toml::node& node,
                               const Allowed& allowed) const;
  [[nodiscard]] const toml::table& table() const noexcept { return table_; }

  /// `<file>:<line>: <object>: <key> = <value>: <reason>`
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;
  /// `<file>:<line>: <object>: <reason>`, the line of the table.
  [[noreturn]] void refuse_object(std::string_view reason) const;

 private:
  [[nodiscard]] std::string place(const toml::node& node) const;

  const toml::table& table_;
  std::string file_name_;
  std::string object_;
  Lines lines_;
};

/// The table under `key` of the top level, or an empty one; anything else is refused.
[[nodiscard]] const toml::table& sub_table(const Fields& top, std::string_view key);

/// The words joined by ", ".
[[nodiscard]] std::string joined(std::span<const std::string_view> words);

}  // namespace tendril::robot_file_detail
