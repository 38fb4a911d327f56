#include "tendril/range.hpp"

#include <cmath>
#include <numbers>
#include <sstream>
#include <string_view>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// The number as a message shows it; 6.283185307179586 is `2 pi`.
std::string shown(double value) {
  const double multiple = value / std::numbers::pi;
  std::ostringstream text;
  for (const int divisor : {1, 2, 4}) {
    const double count = multiple * divisor;
    if (count == 0.0 || count != std::round(count) || std::abs(count) > 64.0) continue;
    if (count == -1.0) text << '-';
    if (std::abs(count) != 1.0) text << count << ' ';
    text << "pi";
    if (divisor != 1) text << '/' << divisor;
    return text.str();
  }
  text << value;
  std::string digits = text.str();
  // 1e+09 as people write it: 1e9.
  if (const std::size_t exponent = digits.find('e'); exponent != std::string::npos) {
    const std::string_view written = digits;
    const std::string_view sign = written[exponent + 1] == '-' ? "-" : "";
    std::string shorter(written.substr(0, exponent + 1));
    shorter += sign;
    shorter += written.substr(written.find_first_not_of("+-0", exponent + 1));
    return shorter;
  }
  return digits;
}

}  // namespace

bool Range::contains(double value) const noexcept {
  return std::isfinite(value) && (open_low ? value > low : value >= low) &&
         (open_high ? value < high : value <= high);
}

std::string to_string(const Range& range) {
  const bool has_low = std::isfinite(range.low), has_high = std::isfinite(range.high);
  if (!has_low && !has_high) return "finite";
  if (!has_high) return (range.open_low ? "> " : ">= ") + shown(range.low);
  if (!has_low) return (range.open_high ? "< " : "<= ") + shown(range.high);
  return std::string("in ") + (range.open_low ? "(" : "[") + shown(range.low) + ", " +
         shown(range.high) + (range.open_high ? ")" : "]");
}

void require(std::string_view object, std::string_view field, double value, const Range& range,
             std::string_view unit) {
  if (!range.contains(value)) refuse(object, field, value, to_string(range), unit);
}

void refuse(std::string_view object, std::string_view field, double value, std::string_view allowed,
            std::string_view unit) {
  std::ostringstream text;
  text << object << ": " << field << " = " << value;
  if (!unit.empty()) text << ' ' << unit;
  text << ", must be " << allowed;
  throw ModelError(text.str());
}

}  // namespace tendril
