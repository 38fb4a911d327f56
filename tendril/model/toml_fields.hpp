#pragma once

// For readers of TOML files in this repository, not for users: the fields of a TOML table, read and
// checked.

#include <toml++/toml.h>

#include <Eigen/Core>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/model/key_info.hpp"
#include "tendril/model/value.hpp"
#include "tendril/range.hpp"

namespace tendril {

/// Parses TOML text; a syntax error is a ModelError `file:line:column: reason`, and so are more
/// than 64 levels of tables and lists.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file_name);

/// The whole file. A ModelError `<file>: <reason>` for a missing file, for one of more than 64 MiB,
/// and for a folder, device or pipe; std::runtime_error for an error while it is read.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file);

/// Puts the values of the overrides where their keys name, adding tables that are missing. What
/// they put there is checked when the fields are read. Throws ModelError for a key that leads
/// through what is no table.
void apply_overrides(toml::table& top, std::span<const Override> overrides,
                     const std::string& file_name);

[[nodiscard]] Value to_value(const toml::node& node);

/// TOML text of a node on one line.
[[nodiscard]] std::string to_text(const toml::node& node);

/// Largest number accepted anywhere in a file; keeps overflows out of the model.
inline constexpr double kLargestNumber = 1e9;
inline constexpr Range kAnyNumber{-kLargestNumber, kLargestNumber};
inline constexpr Range kPositiveNumber{0.0, kLargestNumber, true};
inline constexpr Range kNotNegativeNumber{0.0, kLargestNumber};
inline constexpr Range kMass{1e-6, kLargestNumber};

/// The fields of one TOML table. Every reader throws a ModelError
/// `<file>:<line>: <object>: <key> = <value>: <what is allowed>`; the top level has no object. What
/// an override has put there is `<origin>: <file>: <object>: ...`.
class Fields {
 public:
  using Keys = std::span<const std::string_view>;

  /// `table` must outlive the fields.
  Fields(const toml::table& table, std::string file_name, std::string object = {});

  /// Refuses a key that is not in `known`.
  void refuse_unknown(Keys known) const;
  void refuse_unknown(std::initializer_list<std::string_view> known) const {
    refuse_unknown(Keys(known.begin(), known.size()));
  }
  void refuse_unknown(KeyRows known) const;
  /// Refuses a key of these, which only the head of the file has, in a table below it: it was
  /// written after that table's header. The table `except` may have keys of these names.
  void refuse_below(std::initializer_list<std::string_view> of_head,
                    std::string_view except = "controller") const;

  [[nodiscard]] bool has(std::string_view key) const { return table_->contains(key); }
  [[nodiscard]] const toml::node* get(std::string_view key) const { return table_->get(key); }
  [[nodiscard]] const toml::table& toml() const noexcept { return *table_; }
  [[nodiscard]] const std::string& file_name() const noexcept { return file_name_; }
  [[nodiscard]] const std::string& object() const noexcept { return object_; }
  /// `file:line` of a node.
  [[nodiscard]] std::string origin(const toml::node& node) const;

  [[nodiscard]] double number(std::string_view key, double fallback, const Range& range) const;
  [[nodiscard]] std::optional<double> number(std::string_view key, const Range& range) const;
  [[nodiscard]] double required_number(std::string_view key, const Range& range) const;
  [[nodiscard]] int integer(std::string_view key, int fallback, int low, int high) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  /// @param what  "must be ...", for the message when it is missing
  [[nodiscard]] std::string required_text(std::string_view key, std::string_view what) const;
  /// One of the words; the first of them when the key is missing.
  template <class E>
  [[nodiscard]] E choice(std::string_view key,
                         std::initializer_list<std::pair<std::string_view, E>> words) const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : words) names.push_back(name);
    return (words.begin() + choice_index(key, names))->second;
  }
  /// A list, not empty; an empty one when the key is missing.
  [[nodiscard]] std::vector<double> numbers(std::string_view key, const Range& each) const;
  /// A list of exactly so many.
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view key, std::size_t count,
                                                           const Range& each) const;
  /// A list, not empty, of lists of exactly so many; an empty one when the key is missing.
  [[nodiscard]] std::vector<std::vector<double>> rows(std::string_view key, std::size_t count,
                                                      const Range& each) const;
  [[nodiscard]] std::optional<Eigen::Vector3d> vector(std::string_view key,
                                                      const Range& each = kAnyNumber) const;
  /// The number `node`, which is the value of `key` or an element of it.
  [[nodiscard]] double element(std::string_view key, const toml::node& node,
                               const Range& range) const;
  /// A list of so many numbers, which is the value of `key` or an element of it.
  [[nodiscard]] std::vector<double> elements(std::string_view key, const toml::node& node,
                                             std::size_t count, const Range& each) const;

  /// The table [key], an empty one when it is missing; anything else is refused. Its object is
  /// `<this object>: <key>`.
  [[nodiscard]] Fields table(std::string_view key) const;
  /// The table [key], which must be there, with no other keys than these.
  [[nodiscard]] Fields required_table(std::string_view key,
                                      std::initializer_list<std::string_view> known) const;
  /// The one of these keys that the table has; none or two of them are refused.
  [[nodiscard]] std::string_view one_of(std::initializer_list<std::string_view> keys) const;
  /// The tables [[key]], none when it is missing; their objects are `<key> 1`, `<key> 2`, ...
  [[nodiscard]] std::vector<Fields> tables(std::string_view key, int first = 1) const;

  /// `<file>:<line>: <object>: <key> = <value>: <reason>`
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;
  /// The same of a node that this object has under a separate key.
  [[noreturn]] void refuse(std::string_view key, const toml::node& node,
                           std::string_view reason) const;
  /// The same of a key that is not in the table.
  [[noreturn]] void missing(std::string_view key, std::string_view what) const;
  /// `<file>:<line>: <object>: <reason>`, the line of the table.
  [[noreturn]] void refuse_object(std::string_view reason) const;

  /// Records the default and the range of a key that is read without the readers above (KeyLog).
  void describe(std::string_view key, std::string_view default_text,
                std::string_view allowed = {}) const;
  void describe(std::string_view key, double fallback) const;

 private:
  [[nodiscard]] std::string place(const toml::node& node) const;
  [[nodiscard]] std::ptrdiff_t choice_index(std::string_view key,
                                            std::span<const std::string_view> names) const;

  const toml::table* table_;
  std::string file_name_;
  std::string object_;
};

/// The words joined by ", ".
[[nodiscard]] std::string joined(std::span<const std::string_view> words);

}  // namespace tendril
