#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tendril {

/// Returns the number that the whole text is, as C++ writes it, in any locale: without spaces,
/// without a plus. Nothing if it is none, does not fit, or is not finite.
[[nodiscard]] std::optional<double> read_number(std::string_view text) noexcept;

/// The same for an integer.
template <class Integer>
[[nodiscard]] std::optional<Integer> read_integer(std::string_view text) noexcept {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Appends the shortest text from which read_number makes the same number.
void append_number(std::string& text, double value);

/// Returns the text that append_number appends.
[[nodiscard]] std::string shortest_text(double value);

}  // namespace tendril
