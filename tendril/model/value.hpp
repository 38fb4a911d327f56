#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tendril {

/// A value of a TOML file or of a setting on the command line.
struct Value {
  using List = std::vector<Value>;
  using Table = std::map<std::string, Value, std::less<>>;
  std::variant<std::int64_t, double, bool, std::string, List, Table> data = std::int64_t{0};

  /// Reads TOML text (`0.2`, `[0, 1]`, `"two words"`, `{ file = "x" }`); bare words are a string.
  /// Throws ModelError `<text>: must be a TOML value or bare words`.
  [[nodiscard]] static Value parse(std::string_view text);

  /// TOML text that reads back to the same value, numbers to the last bit.
  [[nodiscard]] std::string text() const;

  /// Returns the numbers of a number or a list of numbers; empty for anything else and for what is
  /// not finite.
  [[nodiscard]] std::optional<std::vector<double>> numbers() const;

  /// Returns the factor of `{ scale = 1.2 }`, a value relative to the one that is there: 1.2; else
  /// nothing.
  [[nodiscard]] std::optional<double> scale() const;

  bool operator==(const Value&) const = default;
};

/// One change to a robot file before it is read: `section.2.bending_stiffness`, `section.*.links`,
/// `base.feed`, `controller.integral_gain`, `compliance`. Tables of a list count from 1. The value
/// `{ scale = 1.2 }` multiplies the number or numbers that are in the file.
struct Override {
  std::string key;
  Value value;
  std::string origin;  ///< where it is, for messages: `circle.toml:7` or `--set`; may be empty
};

}  // namespace tendril
