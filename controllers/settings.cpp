#include "controllers/settings.hpp"

#include <charconv>
#include <cmath>
#include <sstream>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view text, const std::string& allowed) {
  throw ModelError(std::string(name) + " = " + std::string(text) + ": must be " + allowed);
}

std::string describe(const Range& range) {
  std::ostringstream out;
  if (std::isinf(range.low) && std::isinf(range.high)) {
    out << "a finite number";
  } else if (std::isinf(range.high)) {
    out << (range.open_low ? "> " : ">= ") << range.low;
  } else {
    out << "in " << (range.open_low ? '(' : '[') << range.low << ", " << range.high << ']';
  }
  return out.str();
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool parse(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

std::string_view Settings::text(std::string_view name) const noexcept {
  for (const auto& [key, value] : values_) {
    if (key == name) return trimmed(value);
  }
  return {};
}

double Settings::number(std::string_view name, double default_value, const Range& range) const {
  const std::string_view given = text(name);
  if (given.empty()) return default_value;
  double value = 0.0;
  const bool in_range = parse(given, value) && value <= range.high &&
                        (range.open_low ? value > range.low : value >= range.low);
  if (!in_range) refuse(name, given, describe(range));
  return value;
}

bool Settings::boolean(std::string_view name, bool default_value) const {
  const std::string_view given = text(name);
  if (given.empty()) return default_value;
  if (given == "true") return true;
  if (given == "false") return false;
  refuse(name, given, "true or false");
}

std::vector<double> Settings::numbers(std::string_view name) const {
  std::vector<double> values;
  std::string_view rest = text(name);
  while (!rest.empty()) {
    const auto end = rest.find_first_of(" \t\r\n");
    const std::string_view word = rest.substr(0, end);
    double value = 0.0;
    if (!parse(word, value)) refuse(name, word, "finite numbers separated by spaces");
    values.push_back(value);
    rest = end == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(end));
  }
  return values;
}

int Settings::choice(std::string_view name, std::span<const char* const> choices,
                     int default_choice) const {
  const std::string_view given = text(name);
  if (given.empty()) return default_choice;
  std::string allowed = "one of";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (given == choices[i]) return static_cast<int>(i);
    allowed += std::string(i ? ", " : " ") + choices[i];
  }
  refuse(name, given, allowed);
}

}  // namespace tendril
