#include "tendril/number_text.hpp"

#include <cmath>
#include <iterator>

namespace tendril {

std::optional<double> read_number(std::string_view text) noexcept {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

void append_number(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

std::string shortest_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

}  // namespace tendril
